"""What must be closed can stand in a `with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing(ABC):
    """Base of what owns threads, sockets or files: leaving its `with` closes it."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything that is owned."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
