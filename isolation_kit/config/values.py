"""Texts that mean a value, in `isolation.toml` and on the command line alike: durations, reports, shards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from isolation_kit.errors import UsageError

__all__ = ["KINDS", "ReportFile", "ReportKind", "duration", "report_file", "shard"]

ReportKind = Literal["json", "md", "html"]
KINDS: tuple[ReportKind, ...] = ("json", "md", "html")

_DURATION = re.compile(r"(?:([0-9]{1,4})h)?(?:([0-9]{1,5})m)?(?:([0-9]{1,6})s)?")


@dataclass(frozen=True, slots=True)
class ReportFile:
    """One report to write: its kind and where."""

    kind: ReportKind
    path: Path


def duration(text: str) -> float:
    """Seconds of `5m`, `90s`, `1h30m`.

    Raises:
        UsageError: for any other text, and for a duration of nothing.
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = 0
    if match is not None:
        hours, minutes, rest = (int(part or 0) for part in match.groups())
        seconds = hours * 3600 + minutes * 60 + rest
    if seconds <= 0:
        raise UsageError(
            f"{text[:20]!r} is no duration; allowed: whole hours, minutes and seconds with their unit, "
            "for example 5m, 90s or 1h30m"
        )
    return float(seconds)


def report_file(text: str, root: Path) -> ReportFile:
    """The report that `TYPE:PATH` asks for; a relative path is meant from `root`.

    Raises:
        UsageError: for an unknown type or an empty path.
    """
    kind, _, path = text.partition(":")
    if kind not in KINDS or not path.strip():
        raise UsageError(
            f"{text[:60]!r} names no report; allowed: TYPE:PATH with TYPE one of {', '.join(KINDS)}, "
            "for example html:build/isolation.html"
        )
    return ReportFile(kind, root / path)


def shard(text: str) -> tuple[int, int]:
    """`2/4` as (2, 4): the second of four parts.

    Raises:
        UsageError: for any other text, or a part that does not exist.
    """
    match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text.strip())
    part, parts = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= part <= parts:
        raise UsageError(
            f"{text[:20]!r} names no shard; allowed: i/n with i from 1 to n, for example 2/4 for the second "
            "of four"
        )
    return part, parts
