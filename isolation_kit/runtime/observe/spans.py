"""Spans and traces: what took how long, under one trace id over the whole chain (article 003, 4.2 and 5.4).

They hold names, numbers and statuses, no text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from secrets import token_hex
from typing import Any, Literal, NamedTuple

from isolation_kit.runtime.messages import Message

__all__ = ["Around", "OpenTrace", "Span", "SpanKind", "Trace", "Where", "trace_ids"]

SpanKind = Literal["turn", "state", "delegation", "model", "tool"]
_SPANS = 2000


class Where(NamedTuple):
    """Where a moment belongs; empty outside of any delegation or turn."""

    trace_id: str = ""
    task_id: str = ""


class Span(NamedTuple):
    """One closed span.

    Args:
        agent: whose span it is; `name` is the tool or state, if it is the span of one.
        number: from 0, in order of opening within the trace. `above` is the number of the span around it, -1
            at the root.
        start: seconds on the tracer's clock.
        status: `ok`, a result's status, a state, a reason code, or `lost` if nobody told its end.
        first_tokens: input tokens of the first model call of a delegation.
        tokens: input tokens of a model call, or of all model calls of a delegation, without its children's.
        calls: model calls of a delegation.
    """

    kind: SpanKind
    agent: str
    name: str
    number: int
    above: int
    start: float
    seconds: float
    status: str
    task_id: str = ""
    first_tokens: int = 0
    tokens: int = 0
    output_tokens: int = 0
    calls: int = 0


class Trace(NamedTuple):
    """One chain; `failed` if any span did not end as it should. `cut` spans were too many to keep.

    A turn in which no rule fitted ends in `error`, and did not fail: the user was told, and nothing broke.
    """

    trace_id: str
    closed: tuple[tuple[Any, ...], ...]
    failed: bool
    seconds: float
    cut: int = 0

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans in order of closing. Made when asked for: most traces are never looked at."""
        return tuple([Span(*values) for values in self.closed])


@dataclass(slots=True)
class OpenTrace:
    """A trace that has not ended."""

    trace_id: str
    opened: int = 0
    failed: bool = False
    closed: list[tuple[Any, ...]] = field(default_factory=list)
    cut: int = 0

    def keep(self, values: tuple[Any, ...], good: bool) -> None:
        """Add the values of a closed span; beyond 2,000 only whether it was good."""
        if not good:
            self.failed = True
        if len(self.closed) < _SPANS:
            self.closed.append(values)
        else:
            self.cut += 1


@dataclass(slots=True)
class Around:
    """An open turn or delegation, with the call and the state that are open in it."""

    kind: SpanKind
    agent: str
    number: int
    start: float
    trace: OpenTrace
    above: Around | None
    where: Where
    call: tuple[SpanKind, str, int, float, int] | None = None
    state: tuple[str, int, float] | None = None
    first_tokens: int = 0
    tokens: int = 0
    calls: int = 0
    seen: tuple[Message, ...] = ()
    seen_tokens: int = 0
    excused: bool = False  # its `error` is no failure


def trace_ids() -> Callable[[], str]:
    """Trace ids: random once, then counted; asking the system for each costs more than a span."""
    first, numbers = token_hex(10), count(1)
    return lambda: f"{first}{next(numbers) % 2**48:012x}"
