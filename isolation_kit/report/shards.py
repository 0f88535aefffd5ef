"""Which shards of a run a report holds, and which are missing from a merge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from isolation_kit.report.facts import Facts
from isolation_kit.report.words import listed

__all__ = ["missing_shards", "missing_words", "shard_of", "shard_sentences"]


def shard_of(text: str) -> tuple[int, int] | None:
    """`2/4` as (2, 4), or None for a whole run (or a text that names no shard)."""
    match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text, re.ASCII)
    part, parts = (int(match[1]), int(match[2])) if match else (0, 0)
    return (part, parts) if 1 <= part <= parts and parts > 1 else None


def missing_shards(facts: Facts) -> list[dict[str, Any]]:
    """By seed and number of shards, the shards that a merge lacks; nothing is missing from one plain run."""
    if not facts.merged and len(facts.runs) < 2:
        return []
    held: dict[tuple[int, int], set[int]] = {}
    for run in facts.runs:
        shard = shard_of(run["shard"])
        if shard is not None:
            held.setdefault((run["seed"], shard[1]), set()).add(shard[0])
    return [
        {"seed": seed, "of": parts, "missing": [part for part in range(1, parts + 1) if part not in found]}
        for (seed, parts), found in sorted(held.items())
        if len(found) < parts
    ]


def missing_words(entry: Mapping[str, Any]) -> str:
    """One entry of `missing_shards` as a sentence."""
    names = listed([f"{part}/{entry['of']}" for part in entry["missing"]], 8)
    some = "Shard" if len(entry["missing"]) == 1 else "Shards"
    verb = "is" if len(entry["missing"]) == 1 else "are"
    sweep = "; only the first shard runs the sweep" if 1 in entry["missing"] else ""
    return f"{some} {names} of seed {entry['seed']} {verb} missing from this merge{sweep}."


def shard_sentences(facts: Facts) -> list[str]:
    """What a report of a part of a run says of it."""
    missing = missing_shards(facts)
    if missing or len(facts.runs) != 1 or shard_of(facts.runs[0]["shard"]) is None:
        return [missing_words(entry) for entry in missing]
    return [f"This is shard {facts.runs[0]['shard']} of a run: merge it with the others."]
