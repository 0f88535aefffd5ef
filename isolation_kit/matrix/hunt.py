"""Hunting one seeded defect with one oracle: the sweep, then blocks of each family in turn, to the kill."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isolation_kit.audit import BLOCK, FAMILIES, Campaign, Plan, items
from isolation_kit.content import Attack
from isolation_kit.mutants import Mutant
from isolation_kit.outcome import Item, Smallest
from isolation_kit.target import declaration_of

__all__ = ["Kill", "hunt"]


@dataclass(frozen=True, slots=True)
class Kill:
    """How one oracle killed one seeded defect.

    Attributes:
        item: the family (or the sweep) whose case showed it.
        cases, executions: how many it took, this one included, reductions left out.
        smallest: the reduced case.
        seconds: CPU time of hunt and reduction.
    """

    mutant: str
    oracle: str
    item: str
    cases: int
    executions: int
    smallest: Smallest
    seconds: float


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
        for item, blocks in _rounds(declaration.name, cases):
            outcome = campaign.run(item, blocks)
            if outcome.smallest:
                smallest = min(outcome.smallest, key=lambda case: case.size)
                return Kill(
                    mutant.name,
                    oracle,
                    item.family,
                    count + outcome.tally.n,
                    executions + outcome.tally.executions,
                    smallest,
                    time.process_time() - start,
                )
            count, executions = count + outcome.tally.n, executions + outcome.tally.executions
    return None


def _rounds(target: str, cases: int) -> Iterator[tuple[Item, Sequence[int]]]:
    """The sweep, then one block of each family after the other, so that no family waits for another's end."""
    sweep, *families = items([target], FAMILIES)
    yield sweep, ()
    for number in range(-(-cases // (BLOCK * len(families)))):
        for item in families:
            yield item, (number,)
