"""Spans and traces: what took how long, under one trace id over the whole chain (article 003, 4.2 and 5.4).

A turn holds states and delegations, a delegation holds model calls, tool calls and the delegations of its
child. Where a moment belongs is kept in a context variable, so concurrent turns and nested children need no
argument for it. Spans hold names, numbers and statuses, no text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Literal

from isolation_kit.runtime.hooks import Ending, NoHooks
from isolation_kit.runtime.messages import Message, ModelReply, ModelRequest
from isolation_kit.runtime.observe.names import Names
from isolation_kit.runtime.observe.terms import Measure, message_text
from isolation_kit.runtime.result import SubAgentResult

__all__ = ["Span", "SpanKind", "Trace", "Tracer", "Where"]

SpanKind = Literal["turn", "state", "delegation", "model", "tool"]
_GOOD = frozenset({"ok", "succeeded", "done"})
_CLOSES_TURN = frozenset({"done", "error", "timeout"})
_SPANS = 2000


@dataclass(frozen=True, slots=True)
class Where:
    """Where a moment belongs; empty outside of any delegation or turn."""

    trace_id: str = ""
    task_id: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """One closed span.

    Args:
        number: from 0, in order of opening within the trace. `above` is the number of the span around it, -1
            at the root.
        agent: whose span it is; `name` is the tool or state, if it is the span of one.
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

    @property
    def good(self) -> bool:
        """True if it ended as it should."""
        return self.kind == "state" or self.status in _GOOD


@dataclass(frozen=True, slots=True)
class Trace:
    """The spans of one chain in order of closing; `failed` if any did not end as it should.

    Args:
        cut: spans that were too many to keep.
    """

    trace_id: str
    spans: tuple[Span, ...]
    failed: bool
    cut: int = 0


@dataclass(slots=True)
class _OpenTrace:
    trace_id: str
    opened: int = 0
    failed: bool = False
    spans: list[Span] = field(default_factory=list)
    cut: int = 0


@dataclass(slots=True)
class _Open:
    kind: SpanKind
    agent: str
    name: str
    number: int
    start: float
    trace: _OpenTrace
    above: _Open | None
    task_id: str
    first_tokens: int = 0
    tokens: int = 0
    output_tokens: int = 0
    calls: int = 0


class Tracer(NoHooks):
    """Makes spans of the runtime's hooks and hands them on when they close.

    Args:
        spans: called with each closed span.
        traces: called with each trace when its outermost span closes.
        clock: seconds, never going back.
        new_id: makes trace ids; 32 hexadecimal digits.
    """

    def __init__(
        self,
        names: Names,
        measure: Measure,
        *,
        spans: tuple[Callable[[Span], None], ...] = (),
        traces: tuple[Callable[[Trace], None], ...] = (),
        clock: Callable[[], float] = time.monotonic,
        new_id: Callable[[], str] = lambda: token_hex(16),
    ) -> None:
        self._names = names
        self._measure = measure
        self._on_span = spans
        self._on_trace = traces
        self._clock = clock
        self._new_id = new_id
        self._here: ContextVar[_Open | None] = ContextVar("span", default=None)
        self.unmatched = 0

    def where(self) -> Where:
        """Where the present moment belongs."""
        here = self._here.get()
        return Where(here.trace.trace_id, here.task_id) if here is not None else Where()

    def state_entered(self, agent: str, state: str) -> None:
        """Open or close a turn, and the states in it."""
        if state == "idle":
            self._open("turn", agent)
        elif state in _CLOSES_TURN:
            self._close("turn", agent, state)
        else:
            if self._around("state", agent) is not None:
                self._close("state", agent, "ok")
            self._open("state", agent, state)

    def delegation_began(self, agent: str, task_id: str, held: Sequence[Message]) -> None:
        """Open a delegation."""
        self._open("delegation", agent, task_id=self._names.task(task_id))

    def delegation_ended(self, agent: str, result: SubAgentResult) -> None:
        """Close a delegation; one that was refused before it began has no length."""
        if result.task_id == "" and self._around("delegation", agent) is None:
            self._open("delegation", agent)
        self._close("delegation", agent, str(result.status))

    def context_died(self, agent: str, ending: Ending) -> None:
        """Close a delegation that was cancelled: its result never comes."""
        if ending == "cancelled":
            self._close("delegation", agent, "cancelled")

    def request_built(self, request: ModelRequest) -> None:
        """Open a model call and count what goes in."""
        tokens = sum([self._measure.tokens(message_text(message)) for message in request.messages])
        delegation = self._around("delegation", request.agent)
        self._open("model", request.agent).tokens = tokens
        if delegation is not None:
            delegation.first_tokens = delegation.first_tokens or tokens
            delegation.tokens += tokens
            delegation.calls += 1

    def model_replied(self, agent: str, reply: ModelReply | None) -> None:
        """Close a model call."""
        here = self._around("model", agent)
        if here is not None and reply is not None:
            here.output_tokens = self._measure.tokens(reply.text)
        self._close("model", agent, "ok" if reply is not None else "model_failed")

    def tool_called(self, agent: str, tool: str) -> None:
        """Open a tool call."""
        self._open("tool", agent, tool)

    def tool_replied(self, agent: str, tool: str, reason: str) -> None:
        """Close a tool call."""
        self._close("tool", agent, reason or "ok")

    def _open(self, kind: SpanKind, agent: str, name: str = "", task_id: str = "") -> _Open:
        if kind != "delegation" and self._around(kind, agent) is not None:
            self._close(kind, agent, "lost")  # an agent does one thing at a time: its last one raised
        above = self._here.get()
        trace = above.trace if above is not None else _OpenTrace(self._new_id())
        span = _Open(
            kind,
            self._names.shown(agent),
            self._names.shown(name),
            trace.opened,
            self._clock(),
            trace,
            above,
            task_id or (above.task_id if above is not None else ""),
        )
        trace.opened += 1
        self._here.set(span)
        return span

    def _around(self, kind: SpanKind, agent: str) -> _Open | None:
        """The innermost open span of this kind and agent, not looking out of the present delegation."""
        shown = self._names.shown(agent)
        span = self._here.get()
        while span is not None and (span.kind, span.agent) != (kind, shown):
            if span.kind == "delegation" != kind:
                return None
            span = span.above
        return span

    def _close(self, kind: SpanKind, agent: str, status: str) -> None:
        span = self._around(kind, agent)
        if span is None:
            self.unmatched += 1
            return
        here = self._here.get()
        while here is not None and here is not span:
            self._closed(here, "ok" if here.kind == "state" else "lost")
            here = here.above
        self._here.set(span.above)
        self._closed(span, self._names.shown(status))

    def _closed(self, span: _Open, status: str) -> None:
        trace = span.trace
        above = span.above.number if span.above is not None else -1
        closed = Span(
            span.kind,
            span.agent,
            span.name,
            span.number,
            above,
            span.start,
            self._clock() - span.start,
            status,
            span.task_id,
            span.first_tokens,
            span.tokens,
            span.output_tokens,
            span.calls,
        )
        trace.failed = trace.failed or not closed.good
        if len(trace.spans) < _SPANS:
            trace.spans.append(closed)
        else:
            trace.cut += 1
        for told in self._on_span:
            told(closed)
        if span.above is None:
            whole = Trace(trace.trace_id, tuple(trace.spans), trace.failed, trace.cut)
            for told_trace in self._on_trace:
                told_trace(whole)
