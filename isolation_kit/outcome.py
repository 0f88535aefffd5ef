"""What an audit hands to its faces: items with their counters, reductions, and where cases are stored."""

from __future__ import annotations

from dataclasses import dataclass, field

from isolation_kit.finding import Fingerprint, Mode, Verdict
from isolation_kit.fingerprints import Tally
from isolation_kit.scenario import Scenario

__all__ = ["Item", "ItemOutcome", "Line", "Smallest"]


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """One item of a run: a family (or the sweep) on one target. `order` is its place in the configuration."""

    order: int
    target: str
    family: str

    @property
    def name(self) -> str:
        """`family[target]`, the pytest item's name."""
        return f"{self.family}[{self.target}]"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a case as a conversation a person can read; canaries stand as `‹slot/user/turn›`."""

    who: str
    text: str


@dataclass(frozen=True, slots=True)
class Smallest:
    """The smallest case of one leak, and how it was reached.

    `pair` holds the two cases that a comparing oracle told apart: what differs in them makes the difference.
    `path` is where in the recipient's view it was seen, where the oracle knows; it names no value.
    """

    fingerprint: Fingerprint
    kind: Verdict
    mode: Mode
    oracle: str
    scenario: Scenario
    reduced: bool
    executions: int
    conversation: tuple[Line, ...] = ()
    pair: tuple[Scenario, ...] = ()
    path: str = ""

    @property
    def size(self) -> tuple[int, int, int]:
        """Users, turns and secrets (places) of the case."""
        users = len({turn.user for turn in self.scenario.turns})
        return users, len(self.scenario.turns), len(self.scenario.places())


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """All that one item found.

    Attributes:
        cut: why fewer cases ran than were asked for ("" if all ran, "exhausted" for a small space).
        unreached: children that the sweep did not reach, with the reason.
        error: the first error of the target or of the kit.
        failed: the case that ended in it, where it was one.
    """

    item: Item
    requested: int
    tally: Tally
    smallest: tuple[Smallest, ...] = ()
    cut: str = ""
    unreached: tuple[tuple[str, str], ...] = ()
    not_tapped: tuple[str, ...] = ()
    error: str = ""
    failed: Scenario | None = None
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    notes: tuple[str, ...] = field(default_factory=tuple)
