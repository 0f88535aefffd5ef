"""Reads the facts back from a report document: what `merge` adds up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from isolation_kit.finding import Fingerprint, Verdict
from isolation_kit.fingerprints import Tally
from isolation_kit.report.blocks import Timing
from isolation_kit.report.facts import ClassFacts, Facts, ItemFacts, PolicyFacts, TargetFacts, canonical

__all__ = ["restore", "tallies_block"]

Document = Mapping[str, Any]


def tallies_block(facts: Facts) -> dict[str, Any]:
    """The stored counters by item id."""
    return {
        item_id(*key): json.loads(item.tally.to_json())
        for key, item in sorted(facts.items.items(), key=lambda pair: (pair[1].order, pair[0]))
    }


def item_id(target: str, family: str) -> str:
    """`family[target]`, as pytest names the item."""
    return f"{family}[{target}]"


def restore(report: Document) -> Facts:
    """The facts of a report that `load` accepted or `build` returned."""
    return Facts(
        runs=tuple(report["run"]["parts"]),
        timing=Timing(**report["timing"]),
        items={(row["target"], row["family"]): _item(row, report["tallies"]) for row in report["items"]},
        targets={row["name"]: _target(row) for row in report["targets"]},
        classes={row["id"]: _class(row) for row in report["classes"]},
        policy=_policy(report["policy"]),
        smallest={_leak(row): row["smallest"] for row in report["fingerprints"] if row["smallest"]},
        known=frozenset(row["id"] for row in report["fingerprints"] if row["status"] == "known"),
    )


def _item(row: Document, tallies: Document) -> ItemFacts:
    return ItemFacts(
        order=row["order"],
        requested=row["requested"],
        tally=Tally.from_json(json.dumps(tallies[row["id"]])),
        cut=frozenset(row["cuts"]),
        errors=frozenset(row["errors"]),
        notes=frozenset(row["notes"]),
        not_tapped=frozenset(row["not_tapped"]),
        unreached=frozenset((entry["child"], entry["reason"]) for entry in row["unreached"]),
    )


def _target(row: Document) -> TargetFacts:
    return TargetFacts(
        root=row["root"],
        edges=frozenset((entry["name"], entry["edge"]) for entry in row["children"]),
        tools=frozenset(row["tools"]),
        taps=frozenset(row["taps"]),
        open_noise=frozenset(row["open_noise"]),
        declared=frozenset((entry["tool"], tuple(entry["fields"])) for entry in row["declared"]),
    )


def _class(row: Document) -> ClassFacts:
    text = {name: value for name, value in row.items() if name not in ("id", "whats")}
    return ClassFacts(text, frozenset(row["whats"]))


def _policy(block: Document) -> PolicyFacts:
    entries = [{name: value for name, value in entry.items() if name != "used"} for entry in block["entries"]]
    return PolicyFacts(frozenset(map(canonical, entries)), block["reachable"], block["refused_share"])


def _leak(row: Document) -> tuple[Fingerprint, Verdict]:
    names = ("target", "edge", "what", "channel", "direction")
    return Fingerprint(*(row[name] for name in names)), Verdict(row["kind"])
