"""The states of a parent's turn: a table, and one object that walks it (article 000, 3.1 and 4.3).

The article's table has neither `timeout` nor a way out of executing but success, so a failing child would
leave its parent there for ever. Here each state but the first has a way to `error`, and a turn that is left
halfway takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self

from isolation_kit.errors import KitError
from isolation_kit.runtime.clock import Clock

__all__ = ["ENDS", "WAYS", "Machine", "State", "Visit"]


class State(StrEnum):
    """Where a turn stands."""

    IDLE = "idle"
    PARSING = "parsing"
    ROUTING = "routing"
    EXECUTING = "executing"
    AGGREGATING = "aggregating"
    DONE = "done"
    ERROR = "error"
    TIMEOUT = "timeout"


WAYS: Mapping[State, frozenset[State]] = {
    State.IDLE: frozenset({State.PARSING}),
    State.PARSING: frozenset({State.ROUTING, State.ERROR}),
    State.ROUTING: frozenset({State.EXECUTING, State.ERROR}),
    State.EXECUTING: frozenset({State.AGGREGATING, State.ERROR, State.TIMEOUT}),
    State.AGGREGATING: frozenset({State.DONE, State.ERROR}),
    State.DONE: frozenset(),
    State.ERROR: frozenset(),
    State.TIMEOUT: frozenset(),
}
ENDS = frozenset(state for state, ways in WAYS.items() if not ways)


@dataclass(frozen=True, slots=True)
class Visit:
    """A state and when it was entered, in seconds of the machine's clock."""

    state: State
    at: float


class Machine:
    """One turn: `with Machine(clock, entered) as machine` enters parsing, and no way out misses an end.

    A turn that an exception or a cancellation leaves ends in `error`.

    Args:
        entered: told each state at the moment it is entered, `idle` first.
    """

    def __init__(self, clock: Clock, entered: Callable[[State], None]) -> None:
        self._clock = clock
        self._entered = entered
        self.path: list[Visit] = []
        self._enter(State.IDLE)

    @property
    def state(self) -> State:
        """Where the turn stands now."""
        return self.path[-1].state

    def to(self, *states: State) -> None:
        """Move on, through each of `states` in turn.

        Raises:
            KitError: for a way that the table does not list; the state stays what it was.
        """
        for state in states:
            if state not in WAYS[self.state]:
                raise KitError(f"the parent's state machine has no way from {self.state} to {state}")
            self._enter(state)

    def _enter(self, state: State) -> None:
        self.path.append(Visit(state, self._clock.now()))
        self._entered(state)

    def __enter__(self) -> Self:
        self.to(State.PARSING)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.state in ENDS:
            return
        left = self.state
        self.to(State.ERROR)
        if error is None:
            raise KitError(f"a parent's turn was left in state {left}; it must end in done, error or timeout")
