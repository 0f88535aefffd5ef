"""Builds the report document from the outcomes of an audit, and merges the documents of shards and days."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from isolation_kit.content import FingerprintClass
from isolation_kit.errors import UsageError
from isolation_kit.fingerprints import Tally
from isolation_kit.outcome import ItemOutcome
from isolation_kit.policy import Policy
from isolation_kit.report.baseline import Baseline
from isolation_kit.report.blocks import RunBlock, Timing
from isolation_kit.report.broken import broken_is_refused
from isolation_kit.report.clean import Scrub
from isolation_kit.report.coverage import coverage_rows
from isolation_kit.report.document import SCHEMA
from isolation_kit.report.facts import Facts, canonical
from isolation_kit.report.filters import allow_lists, filter_rules, pollution_block
from isolation_kit.report.gather import gather
from isolation_kit.report.grouping import group_causes
from isolation_kit.report.restore import restore, tallies_block
from isolation_kit.report.rows import fingerprint_rows, strict_and_declared
from isolation_kit.report.scope import scope_block
from isolation_kit.report.verdicts import item_rows, report_verdict
from isolation_kit.target import Declaration

__all__ = ["build", "derive", "merge"]


def build(
    outcomes: Sequence[ItemOutcome],
    *,
    run: RunBlock,
    policy: Policy,
    classes: Sequence[FingerprintClass],
    declarations: Mapping[str, Declaration],
    baseline: Baseline | None = None,
    timing: Timing,
    refused_share: float = 0.25,
) -> dict[str, Any]:
    """The report document of one run: plain data, the same bytes for the same seed but for its times.

    Args:
        declarations: by the target names that the items use.
        baseline: leaks known before; None makes every leak new.
        refused_share: share 0..1 of an item's cases that a target may refuse before the item is inconclusive.
    """
    facts = gather(
        outcomes, run, policy, classes, declarations, baseline, timing, refused_share, Scrub(run.seed)
    )
    return derive(facts)


def merge(reports: Sequence[Mapping[str, Any]], *, names: Sequence[object] = ()) -> dict[str, Any]:
    """One report over shards or days: the stored counters are added, everything else is derived anew.

    Args:
        names: of the reports, for messages; without them they are numbered.

    Raises:
        UsageError: if there is no report to merge, if two are the same evidence, or if one was changed.
    """
    if not reports:
        raise UsageError(
            "no report to merge; give at least one report.json, for example: "
            "isolation-kit merge shard-1/report.json shard-2/report.json"
        )
    with broken_is_refused():
        _refuse_twins(reports, names)
        return derive(replace(reduce(Facts.add, map(restore, reports)), merged=True))


def _refuse_twins(reports: Sequence[Mapping[str, Any]], names: Sequence[object]) -> None:
    """The same cases counted twice would narrow every interval and prove nothing more."""
    seen: dict[str, int] = {}
    for place, report in enumerate(reports):
        first = seen.setdefault(_evidence(report), place)
        if first != place:
            one, two = (
                f"{names[at]} (number {at + 1})" if at < len(names) else f"number {at + 1}"
                for at in (first, place)
            )
            raise UsageError(
                f"two of the reports to merge are the same run: {one} and {two}; allowed: each run once, "
                "shards of one run among them, for example: isolation-kit merge shard-1/report.json "
                "shard-2/report.json; leave one of the two out"
            )


def _evidence(report: Mapping[str, Any]) -> str:
    return canonical([report["run"], report["timing"]["started"], report["tallies"]])


def derive(facts: Facts) -> dict[str, Any]:
    """Everything that a report says, from its facts."""
    totals = _totals(facts)
    rows = fingerprint_rows(facts, totals)
    items = item_rows(facts)
    coverage = coverage_rows(facts, rows)
    strict, declared = strict_and_declared(rows)
    scope = scope_block(facts, items, coverage)
    return {
        "schema": SCHEMA,
        "verdict": report_verdict(items, scope["missing_shards"]),
        "run": {**facts.runs[0], "parts": list(facts.runs)},
        "timing": facts.timing.document(Scrub(None)),
        "items": items,
        "fingerprints": rows,
        "causes": group_causes(rows),
        "coverage": coverage,
        "pollution": pollution_block(facts),
        "filters": filter_rules(facts, rows),
        "allow_lists": allow_lists(facts, rows),
        "scope": scope,
        "policy": _policy_block(facts, rows, strict, declared),
        "targets": _target_rows(facts),
        "classes": [
            {"id": name, **entry.text, "whats": sorted(entry.whats)} for name, entry in facts.classes.items()
        ],
        "tallies": tallies_block(facts),
    }


# Block numbers of two families must not meet: each family of a target gets a range of its own.
_BLOCKS = 1 << 20


def _totals(facts: Facts) -> dict[str, Tally]:
    """By target, the counters over all of its items."""
    out: dict[str, Tally] = {}
    for target in {target for target, _ in facts.items}:
        mine = sorted((item.order, key) for key, item in facts.items.items() if key[0] == target)
        tallies = [_shifted(facts.items[key].tally, place * _BLOCKS) for place, (_, key) in enumerate(mine)]
        out[target] = reduce(Tally.merge, tallies)
    return out


def _shifted(tally: Tally, offset: int) -> Tally:
    copy = Tally().merge(tally)
    copy.block_sizes = type(copy.block_sizes)(
        {(block + offset, mode): size for (block, mode), size in tally.block_sizes.items()}
    )
    for hits in copy.hits.values():
        hits.blocks = type(hits.blocks)({block + offset: count for block, count in hits.blocks.items()})
        hits.first = (hits.first[0] + offset, *hits.first[1:])
    return copy


def _policy_block(facts: Facts, rows: list[dict[str, Any]], strict: int, declared: int) -> dict[str, Any]:
    used: dict[str, int] = {}
    for row in rows:
        if row["allowed_by"]:
            used[row["allowed_by"]] = used.get(row["allowed_by"], 0) + 1
    entries = [json.loads(text) for text in sorted(facts.policy.entries)]
    return {
        "reachable": facts.policy.reachable,
        "refused_share": facts.policy.refused_share,
        "entries": [{**entry, "used": used.get(entry["label"], 0)} for entry in entries],
        "strict": {"leaks": strict},
        "declared": {"leaks": declared},
    }


def _target_rows(facts: Facts) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "root": target.root,
            "children": [{"name": child, "edge": edge} for child, edge in sorted(target.edges)],
            "tools": sorted(target.tools),
            "taps": sorted(target.taps),
            "open_noise": sorted(target.open_noise),
            "declared": [{"tool": tool, "fields": list(names)} for tool, names in sorted(target.declared)],
        }
        for name, target in facts.targets.items()
    ]
