"""Runs the table of seeded defects: named oracles over many seeds, all the others for a look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import TypeVar

from isolation_kit.content import load_attacks
from isolation_kit.matrix.hunt import Glance, Kill, Size, glance, hunt
from isolation_kit.mutants import Mutant, all_mutants
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference import reference_rules, reference_task
from isolation_kit.targets.reference_tree import reference_tree

__all__ = ["CLEAN", "Row", "alarms", "rows"]

A = TypeVar("A")
B = TypeVar("B")

CLEAN = (reference_task, reference_rules, reference_tree)
_LOOKS = 3  # seeds of a look by all oracles


@dataclass(frozen=True, slots=True)
class Row:
    """One seeded defect in the table.

    Attributes:
        kills: by seed, what its named oracle did.
        looked: what all oracles said at a look (empty where none was asked for).
    """

    mutant: Mutant
    kills: Mapping[int, Kill | None]
    looked: tuple[Glance, ...] = ()

    @property
    def survived(self) -> tuple[int, ...]:
        """The seeds at which the named oracle did not kill it."""
        return tuple(seed for seed, kill in self.kills.items() if kill is None)

    @property
    def larger(self) -> tuple[int, ...]:
        """The seeds whose smallest case is not the expected one."""
        return tuple(s for s, k in self.kills.items() if k is not None and k.size != self.mutant.size)

    @property
    def executions(self) -> float:
        """Median executions to the first finding."""
        return median(kill.executions for kill in self.kills.values() if kill) if self.size else 0.0

    @property
    def size(self) -> Size | None:
        """Users, turns and secrets of its smallest case."""
        return min((kill.size for kill in self.kills.values() if kill), default=None)

    @property
    def seconds(self) -> float:
        """Median CPU seconds of hunt and reduction."""
        return median(kill.seconds for kill in self.kills.values() if kill) if self.size else 0.0

    def seen_by(self, oracle: str) -> bool:
        """True if an oracle said LEAK or LOSS at a look."""
        return any(oracle in look.seen for look in self.looked)

    @property
    def only(self) -> bool:
        """True if at every look its named oracle was the only one that saw it."""
        return bool(self.looked) and all(look.seen <= {self.mutant.oracle} for look in self.looked)


def rows(
    mutants: Sequence[Mutant], seeds: Sequence[int], *, cases: int = 1000, looks: int = 50, jobs: int = 1
) -> Iterator[Row]:
    """The rows of the table, in the order of `mutants`, each as soon as it and those before it are done.

    Args:
        seeds: of the hunts by the named oracles.
        cases: generated cases of a hunt at most.
        looks: also let all oracles look at so many cases for each of the first three seeds (0: none).
        jobs: processes.
    """
    names = [mutant.name for mutant in mutants]
    for mutant, (kills, looked) in zip(
        mutants, _each(partial(_row, seeds=tuple(seeds), cases=cases, looks=looks), names, jobs), strict=True
    ):
        yield Row(mutant, kills, looked)


def alarms(seeds: Sequence[int], *, cases: int = 300, jobs: int = 1) -> tuple[str, ...]:
    """What the oracles say against the clean runtime at the rates of the profile `ci`: it should be none."""
    tasks = [(number, seed) for number in range(len(CLEAN)) for seed in seeds]
    found = []
    for look in _each(partial(_clean, cases=cases), tasks, jobs):
        found += [f"{look.target}: {name} alarms" for name in sorted(look.seen)]
        found += [f"{look.target}: {doubt}" for doubt in look.doubted]
    return tuple(found)


def _each(work: Callable[[A], B], tasks: Sequence[A], jobs: int) -> Iterator[B]:
    if jobs == 1:
        yield from map(work, tasks)
        return
    # Spawned, not forked: a fork would copy the locks of whatever threads this process runs.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, tasks)


def _row(
    name: str, seeds: tuple[int, ...], cases: int, looks: int
) -> tuple[dict[int, Kill | None], tuple[Glance, ...]]:
    mutant = next(one for one in all_mutants() if one.name == name)
    attacks = load_attacks()
    kills = {seed: hunt(mutant, mutant.oracle, attacks, seed=seed, cases=cases) for seed in seeds}
    declaration = declaration_of(mutant.target)
    looked = tuple(glance(declaration, attacks, seed=seed, cases=looks) for seed in seeds[:_LOOKS] if looks)
    return kills, looked


def _clean(task: tuple[int, int], cases: int) -> Glance:
    number, seed = task
    return glance(declaration_of(CLEAN[number]), load_attacks(), seed=seed, cases=cases, profile="ci")
