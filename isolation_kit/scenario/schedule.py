"""In which order the users of one case run, and what befalls a turn on its way. Pure data.

A schedule interleaves users, not turns: what one user says in a row stays in a row. A step is one call of a
model; between two steps exactly one user runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Break", "Breaking", "Order", "Schedule"]


class Order(StrEnum):
    """Whose step is next.

    `free`: no gate anywhere; turns run as the case says (`concurrent`). `sequential`: one user after the
    other. `round-robin`: a step each in turn. `reversed`: everybody begins, then the last one runs to its end
    first.
    """

    FREE = "free"
    SEQUENTIAL = "sequential"
    ROUND_ROBIN = "round-robin"
    REVERSED = "reversed"


class Breaking(StrEnum):
    """What befalls a turn at one of its steps.

    `cancel`: the call was answered, but the turn is cancelled before it reads the answer. `timeout`: the call
    raises TimeoutError in the target's process (the endpoint answers 504), as a client whose time ran out
    does. `retry`: cancelled, and then the same turn is said again.
    """

    CANCEL = "cancel"
    TIMEOUT = "timeout"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Break:
    """What befalls `turn` at its `step`-th model call (from 0), counting those of `agent` alone, if named."""

    kind: Breaking
    turn: int
    step: int = 0
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the users of a case are interleaved; `only`: this user alone speaks, the others never begin."""

    order: Order = Order.FREE
    breaks: tuple[Break, ...] = ()
    only: int = -1

    @property
    def gated(self) -> bool:
        """True if turns wait for each other at their model calls."""
        return self.order is not Order.FREE

    def __str__(self) -> str:
        breaks = "".join(f", {item.kind} of turn {item.turn} at step {item.step}" for item in self.breaks)
        return f"{'alone' if self.only >= 0 else self.order}{breaks}"
