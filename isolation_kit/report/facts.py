"""What a report is made of: facts that add up in any order. Everything else in a report is derived."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Any

from isolation_kit.finding import Fingerprint, Verdict
from isolation_kit.fingerprints import Tally
from isolation_kit.report.blocks import Timing

__all__ = [
    "ClassFacts",
    "Facts",
    "ItemFacts",
    "ItemKey",
    "LeakKey",
    "PolicyFacts",
    "TargetFacts",
    "canonical",
]

ItemKey = tuple[str, str]
LeakKey = tuple[Fingerprint, Verdict]
Pairs = frozenset[tuple[str, str]]


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: the order of things that have no order of their own."""
    return dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """One item (target x family): what was asked for, and why it is less than that."""

    order: int
    requested: int
    tally: Tally = field(default_factory=Tally)
    cut: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()  # files of the cases that ended in them
    notes: frozenset[str] = frozenset()
    not_tapped: frozenset[str] = frozenset()
    unreached: Pairs = frozenset()

    def add(self, other: ItemFacts) -> ItemFacts:
        """The same item of two runs."""
        return ItemFacts(
            min(self.order, other.order),
            self.requested + other.requested,
            self.tally.merge(other.tally),
            self.cut | other.cut,
            self.errors | other.errors,
            self.failed | other.failed,
            self.notes | other.notes,
            self.not_tapped | other.not_tapped,
            self.unreached | other.unreached,
        )


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """What a target declares of itself, as far as a report shows it."""

    root: str
    edges: Pairs = frozenset()
    tools: frozenset[str] = frozenset()
    taps: frozenset[str] = frozenset()
    open_noise: frozenset[str] = frozenset()
    declared: frozenset[tuple[str, tuple[str, ...]]] = frozenset()

    def add(self, other: TargetFacts) -> TargetFacts:
        """The same target of two runs, which may have changed between them."""
        return TargetFacts(
            min(self.root, other.root),
            self.edges | other.edges,
            self.tools | other.tools,
            self.taps | other.taps,
            self.open_noise & other.open_noise,
            self.declared | other.declared,
        )


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """A pollutant class as text, and the slots and fields of this report that belong to it."""

    text: Mapping[str, Any]
    whats: frozenset[str] = frozenset()

    def add(self, other: ClassFacts) -> ClassFacts:
        """The same class of two runs."""
        return ClassFacts(min(self.text, other.text, key=canonical), self.whats | other.whats)


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """The declared exceptions, as canonical JSON, and the two thresholds; the stricter one wins a merge."""

    entries: frozenset[str] = frozenset()
    reachable: str = "report"
    refused_share: float = 0.25

    def add(self, other: PolicyFacts) -> PolicyFacts:
        """The policies of two runs."""
        return PolicyFacts(
            self.entries | other.entries,
            min(self.reachable, other.reachable),  # "deny" sorts before "report"
            min(self.refused_share, other.refused_share),
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts of a report. `add` is associative and commutative, hence so is merging reports."""

    runs: tuple[Mapping[str, Any], ...] = ()
    timing: Timing = field(default_factory=Timing)
    items: Mapping[ItemKey, ItemFacts] = field(default_factory=dict)
    targets: Mapping[str, TargetFacts] = field(default_factory=dict)
    classes: Mapping[str, ClassFacts] = field(default_factory=dict)
    policy: PolicyFacts = field(default_factory=PolicyFacts)
    smallest: Mapping[LeakKey, Mapping[str, Any]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    merged: bool = False

    @property
    def loaded(self) -> bool:
        """True if all of it comes from load runs: a service was used as it is, and no puppet spoke."""
        return bool(self.runs) and all(run.get("kind") == "load" for run in self.runs)

    def add(self, other: Facts) -> Facts:
        """The facts of two runs, shards or days."""
        return Facts(
            runs=tuple(sorted((*self.runs, *other.runs), key=canonical)),
            timing=self.timing.add(other.timing),
            items=_sum(self.items, other.items),
            targets=_sum(self.targets, other.targets),
            classes=_sum(self.classes, other.classes),
            policy=self.policy.add(other.policy),
            smallest=smaller([*self.smallest.items(), *other.smallest.items()]),
            known=self.known | other.known,
            merged=self.merged or other.merged,
        )


def smaller(cases: Iterable[tuple[LeakKey, Mapping[str, Any]]]) -> dict[LeakKey, Mapping[str, Any]]:
    """The smallest case of each leak: the fewest users, turns and secrets.

    A structural one goes before an exposure, one that can be replayed before one that cannot, and a token
    that is seen before runs that were compared, which convince less.
    """
    best: dict[LeakKey, Mapping[str, Any]] = {}
    for key, case in cases:
        if key not in best or _size(key, case) < _size(key, best[key]):
            best[key] = case
    return best


def _size(key: LeakKey, case: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        case["mode"] != "structural",
        key[0].direction == "after" and not case["reduced"],
        case["pair"],
        *(case[name] for name in ("users", "turns", "secrets")),
        canonical(case),
    )


def _sum(one: Mapping[Any, Any], two: Mapping[Any, Any]) -> dict[Any, Any]:
    out = dict(one)
    for key, value in two.items():
        out[key] = out[key].add(value) if key in out else value
    return {key: out[key] for key in sorted(out)}
