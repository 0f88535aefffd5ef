"""Which trace and task a moment belongs to, for who writes snapshots or decisions and wants no spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from itertools import count
from secrets import token_hex
from typing import NamedTuple

from isolation_kit.runtime.hooks import Ending, NoHooks
from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.observe.names import Names
from isolation_kit.runtime.observe.spans import Where
from isolation_kit.runtime.result import SubAgentResult

__all__ = ["Places", "trace_ids"]

_NOWHERE = Where()


class _Place(NamedTuple):
    where: Where
    above: _Place | None


class Places(NoHooks):
    """Follows delegations, also nested and concurrent ones; a chain of them has one trace id.

    A tracer tells the same and knows turns and calls too; this costs a tenth of it.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._new_id = trace_ids()
        self._here: ContextVar[_Place | None] = ContextVar("place", default=None)

    def where(self) -> Where:
        """Where the present moment belongs."""
        here = self._here.get()
        return _NOWHERE if here is None else here.where

    def delegation_began(self, agent: str, task_id: str, held: Sequence[Message]) -> None:
        """Go one down."""
        above = self._here.get()
        trace_id = self._new_id() if above is None else above.where.trace_id
        self._here.set(_Place(Where(trace_id, self._names.task(task_id)), above))

    def delegation_ended(self, agent: str, result: SubAgentResult) -> None:
        """Go up again; a delegation that was refused before it began did not go down."""
        here = self._here.get()
        if here is not None and here.where.task_id == self._names.task(result.task_id):
            self._here.set(here.above)

    def context_died(self, agent: str, ending: Ending) -> None:
        """Go up from a delegation that was cancelled: its result never comes."""
        here = self._here.get()
        if here is not None and ending == "cancelled":
            self._here.set(here.above)


def trace_ids() -> Callable[[], str]:
    """Trace ids: random once, then counted; asking the system for each costs more than a span."""
    first, numbers = token_hex(10), count(1)
    return lambda: f"{first}{next(numbers) % 2**48:012x}"
