"""What a seeded defect is: where it sits, which oracle must kill it, and the smallest case that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from isolation_kit.finding import Direction
from isolation_kit.runtime import Parts
from isolation_kit.targets.reference import make_reference_rules, make_reference_task
from isolation_kit.trace import Channel

__all__ = ["Base", "Mutant", "leaky"]

Base = Literal["task", "rules"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One seeded defect and what the kit is expected to say of it.

    Attributes:
        number: its row in the table of seeded defects.
        target: the factory; selectable as `isolation_kit.mutants:<name>`.
        oracle: the oracle that must kill it.
        slot: the expected slot, or `field.<name>` for a pollutant.
        users, turns, secrets: the smallest case: users, turns and placeholders in it.
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
    users: int = 1
    turns: int = 1
    secrets: int = 1
    link: str = ""


def leaky(base: Base, name: str, new_parts: Callable[[], Parts]) -> Callable[..., Any]:
    """The reference target `base` with the seams that `new_parts` makes anew for each case."""
    make = make_reference_task if base == "task" else make_reference_rules
    return make(new_parts, name)
