"""Append-only files of JSON lines: one write a line, mode 0600, a torn last line is tolerated."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from isolation_kit.errors import UsageError
from isolation_kit.strictjson import loads

__all__ = ["LineFile", "Write", "read_lines"]

Write = Callable[[str], None]
Record = TypeVar("Record")


class LineFile:
    """Writes lines to a file that only its owner can read.

    Watching must not change a run: a line that could not be written (full disk) is counted in `lost`, and
    the run goes on.
    """

    def __init__(self, path: Path, *, new: bool = False) -> None:
        """Open `path`; with `new` it must not exist yet.

        Raises:
            OSError: if it cannot be opened, exists against `new`, or is a symbolic link.
        """
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | (os.O_EXCL if new else 0)
        self._file = os.open(path, flags, 0o600)
        # The mode above holds for a new file only: an old one may be open to others.
        os.fchmod(self._file, 0o600)
        _drop_torn_line(self._file)
        self.lost = 0

    def __call__(self, line: str) -> None:
        """Append one line. A line goes out in one write, so a kill tears the last one at most."""
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        try:
            written = os.write(self._file, data)
            if written != len(data):
                self.lost += 1
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
        except OSError:
            self.lost += 1

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_lines(path: Path, make: Callable[[dict[str, Any]], Record]) -> tuple[Record, ...]:
    """What `make` makes of the objects of a file of JSON lines, without a torn last line.

    Raises:
        UsageError: if another line is no such record; the message names its number.
    """
    return tuple(
        _record(line, make, f"line {number} of {path.name}")
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1)
    )


def _record(line: bytes, make: Callable[[dict[str, Any]], Record], place: str) -> Record:
    try:
        value = loads(line)
        if not isinstance(value, dict):
            raise TypeError(type(value).__name__)
        return make(value)
    except (LookupError, TypeError, ValueError) as error:  # StrictJSONError is a ValueError
        raise UsageError(
            f"{place} is no record of this log ({type(error).__name__}); give a file that an observer of this "
            "kind wrote"
        ) from None


def _drop_torn_line(file: int) -> None:
    """Cut off what a killed writer left behind the last newline, so that the next line stands on its own."""
    size = end = os.fstat(file).st_size
    while end and os.pread(file, 1, end - 1) != b"\n":
        end -= 1
    if end != size:
        os.ftruncate(file, end)
