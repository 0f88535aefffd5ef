"""The report's tables as pandas data frames, and as CSV whose cells cannot be formulas. Needs `[report]`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from isolation_kit.errors import UsageError

__all__ = ["TABLES", "frame", "to_csv"]

TABLES = ("fingerprints", "items", "coverage", "pollution")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")


def frame(report: Mapping[str, Any], table: str = "fingerprints") -> pd.DataFrame:
    """One table of the report, one row an entry; shares are 0..1.

    Raises:
        UsageError: for an unknown table.
    """
    makers = {"fingerprints": _fingerprints, "items": _items, "coverage": _coverage, "pollution": _pollution}
    if table not in makers:
        raise UsageError(f"unknown table {table!r}; allowed: {', '.join(TABLES)}; for example 'fingerprints'")
    columns, rows = makers[table](report)
    return pd.DataFrame.from_records(rows, columns=list(columns))


def to_csv(report: Mapping[str, Any], path: str | Path, table: str = "fingerprints") -> None:
    """Write one table as UTF-8 CSV; a text cell that a spreadsheet would run starts with an apostrophe."""
    data = frame(report, table)
    for name in data.columns:
        data[name] = [_inert(value) for value in data[name]]
    data.to_csv(path, index=False, encoding="utf-8", lineterminator="\n")


def _inert(value: Any) -> Any:
    # Spreadsheets skip leading spaces and look at full-width signs too.
    if isinstance(value, str) and value.lstrip().startswith((*_FORMULA, "＝", "＋", "－", "＠")):
        return "'" + value
    return value


Table = tuple[tuple[str, ...], list[tuple[Any, ...]]]


def _fingerprints(report: Mapping[str, Any]) -> Table:
    plain = (
        "id",
        "target",
        "edge",
        "what",
        "channel",
        "direction",
        "kind",
        "state",
        "counts",
        "status",
        "class",
    )
    parts = ("count", "n", "share", "low", "high")
    modes = ("structural", "exposure")
    columns = (*plain, *(f"{mode}_{part}" for mode in modes for part in parts), "allowed_by", "source_tools")
    rows = [
        (
            *(row[name] for name in plain),
            *(row[mode][part] for mode in modes for part in parts),
            row["allowed_by"],
            ", ".join(row["source_tools"]),
        )
        for row in report["fingerprints"]
    ]
    return columns, rows


def _items(report: Mapping[str, Any]) -> Table:
    plain = (
        "id",
        "target",
        "family",
        "verdict",
        "cases",
        "requested",
        "refused",
        "executions",
        "cut",
        "error",
    )
    return plain, [tuple(row[name] for name in plain) for row in report["items"]]


def _coverage(report: Mapping[str, Any]) -> Table:
    plain = ("target", "child", "slot", "channel", "state")
    return plain, [tuple(row[name] for name in plain) for row in report["coverage"]]


def _pollution(report: Mapping[str, Any]) -> Table:
    plain = ("field", "class", "count")
    return plain, [tuple(row[name] for name in plain) for row in report["pollution"]["by_field"]]
