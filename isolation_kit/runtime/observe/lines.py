"""Append-only files of JSON lines: mode 0600, written in blocks, a torn last line is tolerated."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from isolation_kit.errors import UsageError
from isolation_kit.strictjson import loads

__all__ = ["LineFile", "Write", "read_lines"]

Write = Callable[[str], None]
_GATHERED = 65_536
Record = TypeVar("Record")


class LineFile:
    """Writes lines to a file that only its owner can read.

    Lines are gathered to 64 kB or until `flush`: a kill costs what was not written yet, and a write for each
    line would cost more than the line. Watching must not change a run: lines that could not be written (full
    disk) are counted in `lost`, and the run goes on.
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
        self._waiting: list[str] = []
        self._size = 0
        self.lost = 0

    def __call__(self, line: str) -> None:
        """Append one line."""
        self._waiting.append(line)
        self._size += len(line)
        if self._size > _GATHERED:
            self.flush()

    def flush(self) -> None:
        """Write what waits, in one write: all of its lines, or none."""
        if not self._waiting:
            return
        lines, self._waiting, self._size = self._waiting, [], 0
        data = ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")
        try:
            written = os.write(self._file, data)
            if written != len(data):
                self.lost += len(lines)
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
        except OSError:
            self.lost += len(lines)

    def close(self) -> None:
        """Write what waits and close the file; a second call does nothing."""
        if self._file >= 0:
            self.flush()
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
            f"{place} is no record of this log ({type(error).__name__}); give a file that an observer of "
            "this kind wrote"
        ) from None


def _drop_torn_line(file: int) -> None:
    """Cut off what a killed writer left behind the last newline, so that the next line stands on its own."""
    size = end = os.fstat(file).st_size
    while end and os.pread(file, 1, end - 1) != b"\n":
        end -= 1
    if end != size:
        os.ftruncate(file, end)
