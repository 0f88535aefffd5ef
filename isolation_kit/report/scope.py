"""The scope statement: what this report does not show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.report.facts import Facts, canonical
from isolation_kit.report.sampling import sampling_sentence
from isolation_kit.report.shards import missing_shards, shard_sentences

__all__ = ["scope_block"]


_OF_AUDIT = (
    "Models were replaced by scripted puppets: the report says what the code lets through, not what "
    "a live model would do with it.",
    "A share is a share of generated cases, not of production traffic.",
    "No exposure means: not by verbatim copying, within the limits of the run.",
)
_OF_LOAD = (
    "The service ran as it is, its models too: only what came back, and what it recorded, was seen.",
    "A share is a share of this run's requests, not of production traffic.",
    "No leak means: not at this concurrency, in this time, in the forms that were searched for.",
)


def scope_block(
    facts: Facts, items: Sequence[Mapping[str, Any]], coverage: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Channels not tapped, children not reached, what is untested and stubbed, and the same in sentences."""
    not_tapped = sorted(
        {(target, name) for (target, _), item in facts.items.items() for name in item.not_tapped}
    )
    unreached = sorted({(key[0], *pair) for key, item in facts.items.items() for pair in item.unreached})
    untested = Counter(row["target"] for row in coverage if row["state"] == "untested")
    tools = sorted({(name, tool) for name, target in facts.targets.items() for tool in target.tools})
    return {
        "channels_not_tapped": [{"target": target, "channel": name} for target, name in not_tapped],
        "children_not_reached": [
            {"target": target, "child": child, "reason": why} for target, child, why in unreached
        ],
        "untested": {target: untested[target] for target in sorted(untested)},
        "cells": len(coverage),
        "tools_stubbed": [{"target": target, "tool": tool} for target, tool in tools],
        "missing_shards": missing_shards(facts),
        "models": "the service's own" if facts.loaded else "puppets",
        "says": [
            *(_OF_LOAD if facts.loaded else _OF_AUDIT),
            *([] if facts.loaded else sampling_sentence(items, [run["profile"] for run in facts.runs])),
            *_masked(facts),
            *([] if facts.loaded else _untested_sentence(sum(untested.values()), len(coverage))),
            *_pairs_sentence("Not tapped, so nothing is known of them", not_tapped),
            *_pairs_sentence("Children that no case reached", [pair[:2] for pair in unreached]),
            *_pairs_sentence("Tools answered from scripts", tools),
            *_same_seed(facts),
            *shard_sentences(facts),
        ],
    }


def _masked(facts: Facts) -> list[str]:
    masks = sorted({mask for run in facts.runs for mask in run["masks"]})
    if not masks:
        return []
    return [
        f"Left out of all comparing by [policy] masks: {_some(masks)}. What depends on a secret there is not "
        "seen, a token is."
    ]


def _untested_sentence(untested: int, cells: int) -> list[str]:
    if not cells:
        return ["No target was declared, so the coverage table is empty."]
    if not untested:
        return []
    return [
        f"{untested:,} of the {cells:,} cells of the coverage table are untested: no case planted that slot "
        "there, or nothing watched that channel. What your system does not have asks for nothing; what it "
        "has, you open: stage.text plants a slot, stage.record taps a channel."
    ]


def _pairs_sentence(start: str, pairs: Sequence[tuple[str, ...]]) -> list[str]:
    if not pairs:
        return []
    by_target: dict[str, list[str]] = {}
    for target, name in dict.fromkeys(pairs):
        by_target.setdefault(target, []).append(name)
    parts = [f"{_some(names)} in {target}" for target, names in by_target.items()]
    return [f"{start}: {'; '.join(parts[:5])}{'; ...' if len(parts) > 5 else ''}."]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more


def _same_seed(facts: Facts) -> list[str]:
    """A seed that was run twice gives the same cases: adding them up proves nothing more."""
    runs = Counter(canonical([run["seed"], run["shard"]]) for run in facts.runs)
    if all(count == 1 for count in runs.values()):
        return []
    return [
        "The same seed and shard were merged more than once: these are the same cases again, so the "
        "intervals are narrower than they ought to be."
    ]
