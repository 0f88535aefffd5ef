"""One run at a time in one output folder: two would mix their findings."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import IO

from isolation_kit.closing import Closing
from isolation_kit.errors import UsageError

__all__ = ["Lock"]


class Lock(Closing):
    """A lock on a file, held by this process; it ends with the process, however that ends.

    A record lock, not `flock`: a child that the target forked and left behind must not keep it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def take(self) -> None:
        """Lock, or do nothing where the platform has no such lock.

        Raises:
            UsageError: if another process holds it.
            OSError: if the file cannot be opened.
        """
        if self._file is not None:
            return
        try:
            fcntl = importlib.import_module("fcntl")
        except ModuleNotFoundError:
            return
        file = self._path.open("ab")
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            file.close()
            raise UsageError(
                f"another run writes to {self._path.parent.name} at this moment; wait for its end, or give "
                'this one a folder of its own: [report] output = "build/isolation" in a second isolation.toml'
            ) from None
        except OSError:  # a file system without locks
            file.close()
            return
        self._file = file

    def close(self) -> None:
        """Unlock."""
        if self._file is not None:
            self._file.close()
            self._file = None
