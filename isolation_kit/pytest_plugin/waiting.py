"""The way to the person who waits, past pytest's capture, which holds standard error while an item runs."""

from __future__ import annotations

import contextlib
from os import close, dup, isatty, write

from isolation_kit.closing import Closing
from isolation_kit.faces import PATIENCE, Progress

__all__ = ["Terminal"]


class Terminal(Closing):
    """Standard error as it is before an item is captured, on a descriptor of its own.

    Args:
        heard: False where nobody reads it, as in an xdist worker.
    """

    def __init__(self, heard: bool) -> None:
        self._descriptor = -1
        if heard:
            with contextlib.suppress(OSError):  # a process may have none
                self._descriptor = dup(2)

    @property
    def progress(self) -> Progress | None:
        """What tells of the run, or None where nobody hears it."""
        if self._descriptor < 0:
            return None
        return Progress(self._tell, 0 if isatty(self._descriptor) else PATIENCE)

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):  # closed, perhaps by the target
            write(self._descriptor, f"\n{line}\n".encode())

    def close(self) -> None:
        """Give the descriptor back."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                close(self._descriptor)
            self._descriptor = -1
