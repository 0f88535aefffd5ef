"""Groups fingerprints by cause: the same datum on the same channel over many edges is one defect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["group_causes"]


def group_causes(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each (what, channel, kind), in the order of the rows."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["what"], row["channel"], row["kind"]), []).append(row)
    return [
        {
            "what": what,
            "channel": channel,
            "kind": kind,
            "class": members[0]["class"],
            "counts": any(row["counts"] for row in members),
            "forms": sorted({form for row in members for form in row["forms"]}),
            "edges": sorted({f"{row['target']}: {row['edge']}" for row in members}),
            "fingerprints": [row["id"] for row in members],
        }
        for (what, channel, kind), members in groups.items()
    ]
