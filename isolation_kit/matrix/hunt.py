"""Hunting one seeded defect: with one oracle to the kill, or with all of them for a short look."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isolation_kit.audit import BLOCK, FAMILIES, Campaign, Plan, items
from isolation_kit.content import Attack
from isolation_kit.finding import Verdict
from isolation_kit.mutants import Mutant
from isolation_kit.oracles import all_oracles
from isolation_kit.outcome import Item
from isolation_kit.target import Declaration, declaration_of

__all__ = ["Glance", "Kill", "glance", "hunt"]

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Kill:
    """How one oracle killed one seeded defect.

    Attributes:
        item: the family (or the sweep) whose case showed it.
        cases, executions: how many it took, this one included, reductions left out.
        size, reduced: users, turns and secrets of the smallest case, and whether it was searched to its end.
        case: the smallest case as stored.
        seconds: CPU time of hunt and reduction.
    """

    mutant: str
    oracle: str
    item: str
    cases: int
    executions: int
    size: Size
    reduced: bool
    case: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Glance:
    """What all oracles said of some cases of one target.

    Attributes:
        seen: the oracles with a LEAK or LOSS.
        doubted: "oracle: reason" of every ERROR and INCONCLUSIVE.
    """

    target: str
    cases: int
    seen: frozenset[str]
    doubted: tuple[str, ...] = ()


def hunt(
    mutant: Mutant, oracle: str, attacks: Sequence[Attack], *, seed: int = 7, cases: int = 1000
) -> Kill | None:
    """Let `oracle` alone judge every case until it says what the table expects of the defect, or None.

    Args:
        cases: generated cases of all families together, beside the sweep.
    """
    start = time.process_time()
    declaration = declaration_of(mutant.target)
    plan = Plan(
        seed=seed,
        cases=cases,
        attacks=tuple(attacks),
        oracles=frozenset({oracle}),
        until=mutant.shown_by,
    )
    count = executions = 0
    with Campaign(declaration, plan) as campaign:
        for item, blocks in _rounds(declaration, cases):
            outcome = campaign.run(item, blocks)
            count, executions = count + outcome.tally.n, executions + outcome.tally.executions
            if outcome.smallest:
                best = min(outcome.smallest, key=lambda case: case.size)
                return Kill(
                    mutant.name,
                    oracle,
                    item.family,
                    count,
                    executions,
                    best.size,
                    best.reduced,
                    best.scenario.to_json(),
                    time.process_time() - start,
                )
    return None


def glance(
    declaration: Declaration,
    attacks: Sequence[Attack],
    *,
    seed: int = 7,
    cases: int = 50,
    profile: str = "",
) -> Glance:
    """Let all oracles judge the sweep and `cases` generated cases of all families together.

    Args:
        profile: at the rates of this profile; "": every oracle judges every case.
    """
    names = frozenset() if profile else frozenset(oracle.name for oracle in all_oracles())
    plan = Plan(
        seed=seed,
        cases=-(-cases // len(FAMILIES)),
        attacks=tuple(attacks),
        profile=profile or "deep",
        oracles=names,
        reduce=False,
    )
    seen: set[str] = set()
    doubted: set[str] = set()
    count = 0
    with Campaign(declaration, plan) as campaign:
        for item in items([declaration.name], FAMILIES):
            tally = campaign.run(item).tally
            count += tally.n
            seen |= {name for (name, verdict) in tally.oracles if verdict in (Verdict.LEAK, Verdict.LOSS)}
            unsure = {name for (name, verdict) in tally.oracles if verdict in _UNSURE}
            doubted |= {f"{name}: {reason}" for (name, reason, _) in tally.reasons if name in unsure}
    return Glance(declaration.name, count, frozenset(seen), tuple(sorted(doubted)))


_UNSURE = (Verdict.ERROR, Verdict.INCONCLUSIVE)


def _rounds(declaration: Declaration, cases: int) -> Iterator[tuple[Item, Sequence[int]]]:
    """The sweep, then one block of each family in turn, so that no family waits for another's end."""
    sweep, *families = items([declaration.name], FAMILIES)
    yield sweep, ()
    for number in range(-(-cases // (BLOCK * len(families)))):
        for item in families:
            yield item, (number,)
