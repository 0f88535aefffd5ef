"""What the puppets are told to do: turns, the acts of a script, temperaments and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = [
    "ACTS",
    "ACT_NAMES",
    "Act",
    "Answer",
    "Delegate",
    "Limits",
    "Say",
    "Temperament",
    "TurnPlan",
    "UseTool",
]


class Temperament(StrEnum):
    """How much of its own context a puppet copies into what it says."""

    QUIET = "quiet"
    PARROT = "parrot"


@dataclass(frozen=True, slots=True)
class Say:
    """Text beside the next act (reasoning, a plan); at a child it is scratch work."""

    text: str


@dataclass(frozen=True, slots=True)
class UseTool:
    """Call the `tool`-th tool (modulo the offered ones) with `query`; the stage answers with `reply`."""

    tool: int
    query: str
    reply: str


@dataclass(frozen=True, slots=True)
class Delegate:
    """Hand `task` to the `child`-th declared child (modulo the declared ones); `acts` is that child's script.

    `required` says whether the task's tokens must arrive and the child's answer must come back (LOSS if not):
    true but where the case overflows a limit on purpose.
    """

    child: int
    task: str
    acts: tuple[Act, ...] = ()
    constants: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """The final text of the role."""

    text: str


Act = Say | UseTool | Delegate | Answer
ACTS: Mapping[str, type[Any]] = {"say": Say, "tool": UseTool, "delegate": Delegate, "answer": Answer}
ACT_NAMES = {kind: name for name, kind in ACTS.items()}


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """One user turn: who speaks in which session about whom, the text, and what the root agent then does."""

    user: int
    text: str
    acts: tuple[Act, ...] = ()
    session: str = "s"
    subject: int = -1

    @property
    def delegations(self) -> tuple[Delegate, ...]:
        """The delegations of this turn in order."""
        return tuple(act for act in self.acts if isinstance(act, Delegate))


@dataclass(frozen=True, slots=True)
class Limits:
    """Scaled limits that a target may honour, in characters, rounds and milliseconds."""

    window: int = 4000
    tool_output: int = 2000
    rounds: int = 30
    timeout_ms: int = 5000
