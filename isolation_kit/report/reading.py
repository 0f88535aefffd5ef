"""Reads a report file as evidence: its facts are cleaned as `build` cleans them, the rest is derived anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isolation_kit.report.assemble import derive
from isolation_kit.report.broken import broken_is_refused
from isolation_kit.report.document import read
from isolation_kit.report.restore import restore

__all__ = ["load"]


def load(path: str | Path) -> dict[str, Any]:
    """Read a report file; nothing in it can hurt a terminal, whoever wrote it.

    Raises:
        UsageError: if the file is missing, is no strict JSON, does not match the schema, or was changed.
    """
    raw = read(path)
    with broken_is_refused(path):
        return derive(restore(raw))
