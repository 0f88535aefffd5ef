"""Counts leaks as fingerprints: associative counters over cases, blocks, shards and days.

A case counts once per fingerprint. `n` is the number of cases in which an oracle able to see it concluded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any

from isolation_kit.finding import Finding, Fingerprint, Judgement, Mode, Verdict, first_error, worst
from isolation_kit.intervals import effective_interval, wilson

__all__ = ["CaseOutcome", "Hits", "Tally", "effective_interval", "wilson"]


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What came out of one case: its place in the item, its judgements, and the target's own counters."""

    block: int
    index: int
    digest: str
    mode: Mode
    judgements: tuple[Judgement, ...]
    executions: int = 1
    refused: bool = False
    pollution: tuple[tuple[str, str], ...] = ()
    task_responses: int = 0
    planted: frozenset[str] = frozenset()
    channels: frozenset[tuple[str, str]] = frozenset()
    said: str = ""

    @property
    def error(self) -> str:
        """Why the case ended in an error, with the text of what the target raised; "" if it did not."""
        reason = first_error(self.judgements)
        return f"{reason}: {self.said}" if reason and self.said else reason

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings of all oracles."""
        return tuple(finding for judgement in self.judgements for finding in judgement.findings)

    @property
    def verdict(self) -> Verdict:
        """The first of LEAK, LOSS, ERROR, INCONCLUSIVE, PASS over the oracles that applied."""
        return worst(judgement.verdict for judgement in self.judgements if judgement.applicable)


@dataclass(slots=True)
class Hits:
    """All that is counted of one fingerprint in one mode."""

    blocks: Counter[int] = field(default_factory=Counter)
    oracles: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    source_tools: Counter[str] = field(default_factory=Counter)
    tiers: Counter[str] = field(default_factory=Counter)
    allowed_by: str = ""
    first: tuple[int, int, str] = (1 << 30, 0, "")
    first_execution: int = 0

    @property
    def count(self) -> int:
        """The number of cases that show it."""
        return sum(self.blocks.values())

    def add(self, findings: list[Finding], where: tuple[int, int, str], execution: int) -> None:
        """Count one case that shows this fingerprint."""
        self.allowed_by = _allowed(
            [*([self.allowed_by] if self.blocks else []), *(finding.allowed_by for finding in findings)]
        )
        self.blocks[where[0]] += 1
        for name in sorted({finding.oracle for finding in findings}):
            self.oracles[name] += 1
        for name in sorted({finding.form for finding in findings}):
            self.forms[name] += 1
        for name in sorted({finding.source_tool for finding in findings if finding.source_tool}):
            self.source_tools[name] += 1
        for name in sorted({finding.tier for finding in findings}):
            self.tiers[name] += 1
        if where < self.first:
            self.first, self.first_execution = where, execution

    def merge(self, other: Hits) -> Hits:
        """The sum of both; associative and commutative."""
        first = min((self.first, self.first_execution), (other.first, other.first_execution))
        return Hits(
            self.blocks + other.blocks,
            self.oracles + other.oracles,
            self.forms + other.forms,
            self.source_tools + other.source_tools,
            self.tiers + other.tiers,
            _allowed([hits.allowed_by for hits in (self, other) if hits.blocks]),
            *first,
        )


def _allowed(labels: list[str]) -> str:
    """The entry that allows all of them; one that nothing allows makes the sum a leak."""
    return max(labels) if labels and all(labels) else ""


Key = tuple[Fingerprint, Verdict, Mode]


@dataclass(slots=True)
class Tally:
    """The counters of one item (target x family)."""

    cases: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    oracles: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    hits: dict[Key, Hits] = field(default_factory=dict)
    able: Counter[tuple[str, str]] = field(default_factory=Counter)
    planted: Counter[str] = field(default_factory=Counter)
    channels: Counter[tuple[str, str]] = field(default_factory=Counter)
    pollution: Counter[tuple[str, str]] = field(default_factory=Counter)
    task_responses: int = 0
    refused: int = 0
    executions: int = 0
    block_sizes: Counter[tuple[int, str]] = field(default_factory=Counter)

    def add(self, outcome: CaseOutcome) -> None:
        """Count one case."""
        mode = str(outcome.mode)
        self.cases[mode] += 1
        self.block_sizes[outcome.block, mode] += 1
        self.verdicts[outcome.verdict] += 1
        self.executions += outcome.executions
        self.refused += outcome.refused
        self.task_responses += outcome.task_responses
        self.planted.update(outcome.planted)
        self.channels.update(outcome.channels)
        self.pollution.update(outcome.pollution)
        for judgement in outcome.judgements:
            status = str(judgement.verdict) if judgement.applicable else "not applicable"
            self.oracles[judgement.oracle, status] += 1
            if judgement.reason:
                self.reasons[judgement.oracle, judgement.reason, status] += 1
            if judgement.applicable and judgement.verdict not in (Verdict.ERROR, Verdict.INCONCLUSIVE):
                self.able[judgement.oracle, mode] += 1
        where = (outcome.block, outcome.index, outcome.digest)
        for key, findings in _grouped(outcome.findings).items():
            self.hits.setdefault(key, Hits()).add(findings, where, self.executions)

    def merge(self, other: Tally) -> Tally:
        """The sum of both: shards, workers and days add up in any order."""
        hits = {
            key: self.hits.get(key, Hits()).merge(other.hits.get(key, Hits()))
            for key in sorted({*self.hits, *other.hits})
        }
        return Tally(
            self.cases + other.cases,
            self.verdicts + other.verdicts,
            self.oracles + other.oracles,
            self.reasons + other.reasons,
            hits,
            self.able + other.able,
            self.planted + other.planted,
            self.channels + other.channels,
            self.pollution + other.pollution,
            self.task_responses + other.task_responses,
            self.refused + other.refused,
            self.executions + other.executions,
            self.block_sizes + other.block_sizes,
        )

    @property
    def n(self) -> int:
        """All cases."""
        return sum(self.cases.values())

    def n_able(self, key: Key) -> int:
        """In how many cases of the key's mode one of the oracles that found it concluded."""
        hits = self.hits[key]
        return max((self.able[oracle, str(key[2])] for oracle in hits.oracles), default=0)

    def interval(self, key: Key) -> tuple[float, float]:
        """The 95 % interval of the key's share, on an effective n."""
        hits, mode = self.hits[key], str(key[2])
        blocks = [
            (hits.blocks[block], size)
            for (block, kind), size in sorted(self.block_sizes.items())
            if kind == mode
        ]
        return effective_interval(hits.count, self.n_able(key), blocks)

    def to_json(self) -> str:
        """Canonical JSON: counters as sorted lists of [key, count]."""
        return dumps(_dump(self), ensure_ascii=True, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Tally:
        """Read what `to_json` wrote."""
        return _load(loads(text))


def _grouped(findings: Iterable[Finding]) -> dict[Key, list[Finding]]:
    groups: dict[Key, list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.fingerprint, finding.kind, finding.mode), []).append(finding)
    return groups


_COUNTERS = (
    *("cases", "verdicts", "oracles", "reasons", "able", "planted", "channels", "pollution"),
    "block_sizes",
)
_HIT_COUNTERS = ("blocks", "oracles", "forms", "source_tools", "tiers")


def _dump(tally: Tally) -> dict[str, Any]:
    def pairs(counter: Mapping[Any, int]) -> list[Any]:
        return sorted([list(key) if isinstance(key, tuple) else key, count] for key, count in counter.items())

    out: dict[str, Any] = {name: pairs(getattr(tally, name)) for name in _COUNTERS}
    out |= {
        "task_responses": tally.task_responses,
        "refused": tally.refused,
        "executions": tally.executions,
        "hits": [
            {
                "fingerprint": [key.target, key.edge, key.what, key.channel, key.direction],
                "kind": str(kind),
                "mode": str(mode),
                **{name: pairs(getattr(hits, name)) for name in _HIT_COUNTERS},
                "allowed_by": hits.allowed_by,
                "first": list(hits.first),
                "first_execution": hits.first_execution,
            }
            for (key, kind, mode), hits in sorted(tally.hits.items(), key=lambda item: item[0])
        ],
    }
    return out


def _load(raw: Mapping[str, Any]) -> Tally:
    def counter(value: list[Any]) -> Counter[Any]:
        return Counter({tuple(key) if isinstance(key, list) else key: count for key, count in value})

    hits = {
        (Fingerprint(*item["fingerprint"]), Verdict(item["kind"]), Mode(item["mode"])): Hits(
            **{name: counter(item[name]) for name in _HIT_COUNTERS},
            allowed_by=item["allowed_by"],
            first=(item["first"][0], item["first"][1], item["first"][2]),
            first_execution=item["first_execution"],
        )
        for item in raw["hits"]
    }
    counters = {name: counter(raw[name]) for name in _COUNTERS}
    # Reports of an earlier version keep a reason without the status that it explains.
    counters["reasons"] = Counter({(*key, "")[:3]: count for key, count in counters["reasons"].items()})
    return Tally(
        **counters,
        hits=hits,
        task_responses=raw["task_responses"],
        refused=raw["refused"],
        executions=raw["executions"],
    )
