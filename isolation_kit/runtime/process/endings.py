"""How a child that sends no result says why it ended: its exit status, a number of a closed list."""

from __future__ import annotations

import os

from isolation_kit.runtime.faults import PROGRAM_ERRORS

__all__ = ["CRASHED", "OUT_OF_MEMORY", "broken_by", "bug_of", "ran_out_of_memory"]

CRASHED = 70
OUT_OF_MEMORY = 71
_BROKEN = 72  # and the place of the error's type in PROGRAM_ERRORS


def broken_by(error: BaseException) -> int:
    """The exit code of a child that `error` ended: a bug of its code tells its kind, all else is a crash."""
    places = [place for place, kind in enumerate(PROGRAM_ERRORS) if isinstance(error, kind)]
    return _BROKEN + places[0] if places else CRASHED


def bug_of(status: int) -> Exception | None:
    """The kind of bug that ended a child with this wait status, without its words; None if it was none."""
    place = os.WEXITSTATUS(status) - _BROKEN if os.WIFEXITED(status) else -1
    return PROGRAM_ERRORS[place]() if 0 <= place < len(PROGRAM_ERRORS) else None


def ran_out_of_memory(status: int) -> bool:
    """True if a child with this wait status ended itself for want of memory."""
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == OUT_OF_MEMORY
