"""What a seeded defect is: where it sits, which oracle must kill it, and the smallest case that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from isolation_kit.finding import Direction, Finding, Verdict
from isolation_kit.runtime import Parts
from isolation_kit.scenario import Scenario
from isolation_kit.targets.reference import make_reference_rules, make_reference_task
from isolation_kit.trace import Channel

__all__ = ["Base", "Mutant", "leaky"]

Base = Literal["task", "rules"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One seeded defect and what the kit is expected to say of it.

    Attributes:
        number: its row in the table of seeded defects; 100 and more: modelled on the public report of that
            number less 100.
        target: the factory; selectable as `isolation_kit.mutants:<name>`.
        oracle: the oracle that must kill it.
        slot: the expected slot, or `field.<name>` for a pollutant.
        smallest: the smallest case that shows it; the reduction must come down to its size.
        kind: LEAK, or LOSS where something that must arrive does not.
        alone: no other oracle sees it.
        link: the public report or article that it is modelled on.
    """

    number: int
    name: str
    summary: str
    base: Base
    target: Callable[..., Any]
    oracle: str
    slot: str
    channel: Channel
    direction: Direction
    smallest: Scenario
    kind: Verdict = Verdict.LEAK
    alone: bool = False
    link: str = ""

    @property
    def size(self) -> tuple[int, int, int]:
        """Users, turns and secrets (places) of the smallest case."""
        return len(self.smallest.users), len(self.smallest.turns), len(self.smallest.places())

    def shown_by(self, finding: Finding) -> bool:
        """True if a finding says what the table expects of this defect, whichever oracle found it."""
        seen = (finding.fingerprint.what, finding.fingerprint.channel, finding.fingerprint.direction)
        return finding.counts and (*seen, finding.kind) == (
            self.slot,
            self.channel,
            self.direction,
            self.kind,
        )


def leaky(base: Base, name: str, new_parts: Callable[[], Parts]) -> Callable[..., Any]:
    """The reference target `base` with the seams that `new_parts` makes anew for each case."""
    make = make_reference_task if base == "task" else make_reference_rules
    return make(new_parts, name)
