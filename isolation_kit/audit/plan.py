"""What an audit is to run: the plan, and the items that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from isolation_kit.content import Attack
from isolation_kit.finding import Finding
from isolation_kit.generate import FAMILIES as GENERATORS
from isolation_kit.generate import SWEEP
from isolation_kit.oracles import Oracle, all_oracles
from isolation_kit.outcome import Item
from isolation_kit.policy import Policy

__all__ = ["BLOCK", "DEFAULT_FAMILIES", "FAMILIES", "Plan", "blocks", "items"]

FAMILIES: tuple[str, ...] = tuple(GENERATORS)
DEFAULT_FAMILIES = (
    "noise-injection",
    "cross-user",
    "boundary-overflow",
)  # what article 000 section 4.7 tests
BLOCK = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run.

    Attributes:
        cases: generated cases per item.
        skins: what canaries wear in all but every n-th generated case, in turn.
        profile: "quick", "ci" or "deep": how often each oracle judges.
        case_timeout: seconds for one case.
        deadline: a `time.monotonic()` value after which no further block starts.
        shard: (i, n): this process runs every n-th block, beginning with the i-th.
        untested: child to reason, declared as not tested on purpose.
        oracles: only these judge, and every case (none named: all, at their rates).
        reduce: look for the smallest case of each finding.
        until: the item ends with the first case that has such a finding, and only such are reduced.
    """

    seed: int = 7
    cases: int = 1000
    families: tuple[str, ...] = DEFAULT_FAMILIES
    skins: tuple[str, ...] = ()
    profile: str = "quick"
    policy: Policy = field(default_factory=Policy)
    attacks: tuple[Attack, ...] = ()
    case_timeout: float = 20.0
    deadline: float | None = None
    shard: tuple[int, int] = (1, 1)
    untested: Mapping[str, str] = field(default_factory=dict)
    oracles: frozenset[str] = frozenset()
    reduce: bool = True
    until: Callable[[Finding], bool] | None = None

    def judges(self, index: int | None = None) -> tuple[Oracle, ...]:
        """The oracles for the case with this running number; None: for a case of the sweep."""
        if self.oracles:
            return tuple(oracle for oracle in all_oracles() if oracle.name in self.oracles)
        if index is None:
            return all_oracles()
        return tuple(oracle for oracle in all_oracles() if oracle.samples(self.profile, index))


def items(targets: Sequence[str], families: Sequence[str], shard: int = 1) -> tuple[Item, ...]:
    """The items of a run in order: per target the sweep first (first shard only), then families."""
    names = [(target, family) for target in targets for family in (SWEEP, *families)]
    every = tuple(Item(order, target, family) for order, (target, family) in enumerate(names))
    return tuple(item for item in every if shard == 1 or item.family != SWEEP)


def blocks(cases: int, shard: tuple[int, int] = (1, 1)) -> range:
    """The numbers of the blocks of `BLOCK` cases that a shard runs."""
    return range(shard[0] - 1, -(-cases // BLOCK), shard[1])
