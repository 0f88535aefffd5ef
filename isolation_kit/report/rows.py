"""The fingerprint table: one row for each leak of each target, with its shares, and what it counts as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isolation_kit.finding import Fingerprint, Mode, Verdict
from isolation_kit.fingerprints import Hits, Tally
from isolation_kit.intervals import effective_interval
from isolation_kit.report.facts import Facts
from isolation_kit.trace import Channel

__all__ = [
    "SEVERITIES",
    "child_of",
    "counted",
    "fingerprint_rows",
    "recipient",
    "strict_and_declared",
    "worst_family",
]

SEVERITIES: Mapping[str, int] = {"critical": 4, "high": 3, "medium": 2, "low": 1}

_AT_THE_ROOT = frozenset(map(str, (Channel.PARENT_REQUEST, Channel.FINAL_OUTPUT, Channel.STREAM)))


def child_of(edge: str) -> str:
    """The lower end of an edge: `parent>child` gives the child, a plain name gives itself."""
    return edge.rpartition(">")[2]


def recipient(row: Mapping[str, Any], roots: Mapping[str, str]) -> str:
    """The agent at which a fingerprint was seen, or where it was missed. `roots`: target to its root.

    An edge names whose work it is about: a child's work that comes up is seen above the child.
    """
    parent, _, child = row["edge"].rpartition(">")
    if row["channel"] not in _AT_THE_ROOT:
        return str(child)
    if row["kind"] == Verdict.LOSS and row["channel"] == Channel.PARENT_REQUEST:
        return str(parent or child)  # what a child owes, it owes to the one that called it
    return roots.get(row["target"]) or str(parent or child)


def counted(mode: Mode, hits: Hits, reachable: str) -> bool:
    """True if these hits decide verdicts: confirmed, not allowed, structural (or exposures denied)."""
    decides = mode is Mode.STRUCTURAL or reachable == "deny"
    return decides and hits.tiers["confirmed"] > 0 and not hits.allowed_by


def fingerprint_rows(facts: Facts, totals: Mapping[str, Tally]) -> list[dict[str, Any]]:
    """All fingerprints, the most urgent first."""
    class_of = {what: name for name, entry in facts.classes.items() for what in entry.whats}
    rows = [
        _row(facts, fingerprint, kind, totals[target], class_of.get(fingerprint.what, ""))
        for target in sorted(totals)
        for fingerprint, kind in sorted({(key[0], key[1]) for key in totals[target].hits})
    ]
    return sorted(rows, key=lambda row: _urgency(row, facts))


def strict_and_declared(rows: list[dict[str, Any]]) -> tuple[int, int]:
    """How many leaks there are without and with the policy's exceptions (structural and confirmed)."""
    strict = [row for row in rows if row["kind"] == Verdict.LEAK and row["structural"]["count"]]
    return len(strict), len([row for row in strict if not row["allowed_by"]])


def worst_family(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The family whose cases surely show it most often, of the mode that counts; families are not averaged.

    The few hand-laid cases of the sweep speak only where no generated case shows it.
    """
    mode = "structural" if row["structural"]["count"] or not row["exposure"]["count"] else "exposure"
    parts = [part for part in row["families"] if part["mode"] == mode] or row["families"]
    worst: Mapping[str, Any] = max(
        parts, key=lambda part: (part["family"] != "sweep", part["low"], part["count"])
    )
    return worst


def _urgency(row: Mapping[str, Any], facts: Facts) -> tuple[Any, ...]:
    """What counts first; then how bad times how often, by the lower bound of the share."""
    severity = facts.classes[row["class"]].text["severity"] if row["class"] else "medium"
    states = ("leak", "loss", "exposure", "suspect", "allowed")
    return (
        not row["counts"],
        states.index(row["state"]),
        row["status"] != "new",
        -SEVERITIES[severity] * worst_family(row)["low"],
        *(row[name] for name in ("target", "edge", "what", "channel", "direction", "kind")),
    )


def _row(facts: Facts, fingerprint: Fingerprint, kind: Verdict, total: Tally, name: str) -> dict[str, Any]:
    modes = {mode: total.hits.get((fingerprint, kind, mode), Hits()) for mode in Mode}
    both = modes[Mode.STRUCTURAL].merge(modes[Mode.EXPOSURE])
    counts = any(counted(mode, hits, facts.policy.reachable) for mode, hits in modes.items())
    shares = {str(mode): _share(total, hits, mode, both) for mode, hits in modes.items()}
    return {
        "id": fingerprint.id,
        "target": fingerprint.target,
        "edge": fingerprint.edge,
        "what": fingerprint.what,
        "channel": fingerprint.channel,
        "direction": fingerprint.direction,
        "kind": str(kind),
        "state": _state(kind, shares, both),
        "counts": counts,
        **shares,
        "families": _families(facts, fingerprint, kind),
        "oracles": _plain(both.oracles),
        "forms": _plain(both.forms),
        "source_tools": _plain(both.source_tools),
        "tiers": _plain(both.tiers),
        "allowed_by": both.allowed_by,
        "class": name,
        "first": _first(facts, fingerprint, kind),
        "smallest": facts.smallest.get((fingerprint, kind)),
        "status": "known" if fingerprint.id in facts.known else "new",
    }


def _state(kind: Verdict, shares: Mapping[str, Mapping[str, Any]], both: Hits) -> str:
    if both.allowed_by:
        return "allowed"
    if shares["structural"]["count"]:
        return "loss" if kind is Verdict.LOSS else "leak"
    return "exposure" if shares["exposure"]["count"] else "suspect"


def _share(total: Tally, hits: Hits, mode: Mode, both: Hits) -> dict[str, Any]:
    """Confirmed cases over the cases in which an oracle that found it concluded, with the 95 % interval."""
    n = max((total.able[oracle, str(mode)] for oracle in both.oracles), default=0)
    count = min(hits.tiers["confirmed"], n) if n else hits.tiers["confirmed"]
    blocks = [
        (hits.blocks[block], size)
        for (block, kind), size in sorted(total.block_sizes.items())
        if kind == str(mode)
    ]
    low, high = effective_interval(count, n, blocks)
    return {
        "count": count,
        "n": n,
        "share": round(count / n, 6) if n else 0.0,
        "low": round(low, 6),
        "high": round(high, 6),
    }


def _families(facts: Facts, fingerprint: Fingerprint, kind: Verdict) -> list[dict[str, Any]]:
    rows = []
    for (target, family), item in sorted(facts.items.items(), key=lambda pair: (pair[1].order, pair[0])):
        if target != fingerprint.target:
            continue
        for mode in Mode:
            hits = item.tally.hits.get((fingerprint, kind, mode))
            if hits is not None:
                rows.append({"family": family, "mode": str(mode), **_share(item.tally, hits, mode, hits)})
    return rows


def _first(facts: Facts, fingerprint: Fingerprint, kind: Verdict) -> dict[str, Any]:
    seen = [
        (item.order, family, hits.first, hits.first_execution)
        for (target, family), item in facts.items.items()
        for mode in Mode
        if target == fingerprint.target
        and (hits := item.tally.hits.get((fingerprint, kind, mode))) is not None
    ]
    _, family, (block, index, case), execution = min(seen)
    return {"family": family, "block": block, "index": index, "case": case, "execution": execution}


def _plain(counter: Mapping[str, int]) -> dict[str, int]:
    return {name: counter[name] for name in sorted(counter)}
