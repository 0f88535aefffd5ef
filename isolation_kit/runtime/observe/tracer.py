"""The tracer makes spans of the runtime's hooks.

A turn holds states, model calls, tool calls and delegations; a delegation holds model calls, tool calls and
the delegations of its child. What a moment belongs to is kept in a context variable, so concurrent turns and
nested children need no argument for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar

from isolation_kit.runtime.hooks import Decision, Ending, NoHooks
from isolation_kit.runtime.messages import Message, ModelReply, ModelRequest
from isolation_kit.runtime.observe.names import Names
from isolation_kit.runtime.observe.spans import (
    Around,
    OpenTrace,
    Span,
    SpanKind,
    Trace,
    Where,
    trace_ids,
)
from isolation_kit.runtime.observe.terms import Measure, message_text
from isolation_kit.runtime.result import Status, SubAgentResult

__all__ = ["Tracer"]

_GOOD = frozenset({"ok", "succeeded", "done"})
_CLOSES_TURN = frozenset({"done", "error", "timeout"})
_NOWHERE = Where()


class Tracer(NoHooks):
    """Makes spans of the runtime's hooks and hands them on when they close.

    A model or tool call outside of any turn or delegation belongs to no trace.

    Args:
        spans: called with each closed turn, state and delegation.
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
        new_id: Callable[[], str] | None = None,
    ) -> None:
        self._names = names
        self._measure = measure
        self._on_span = spans
        self._on_trace = traces
        self._clock = clock
        self._new_id = new_id or trace_ids()
        self._here: ContextVar[Around | None] = ContextVar("here", default=None)
        self.unmatched = 0

    def where(self) -> Where:
        """Where the present moment belongs."""
        here = self._here.get()
        return _NOWHERE if here is None else here.where

    def state_entered(self, agent: str, state: str) -> None:
        """Open or close a turn, and the states in it."""
        if state == "idle":
            broken = self._found("turn", agent)
            if broken is not None:
                self._close(broken, "lost")  # its last turn raised
            self._open("turn", agent)
            return
        turn = self._found("turn", agent)
        if turn is None:
            self.unmatched += 1
            return
        self._end_state(turn)
        if state in _CLOSES_TURN:
            self._close(turn, state)
        else:
            turn.state = (self._names.shown(state), turn.trace.opened, self._clock())
            turn.trace.opened += 1

    def decided(self, agent: str, decision: Decision) -> None:
        """Excuse a turn in which no rule fitted: users say much that no rule is for, and nothing broke."""
        if decision.reason == "no_rule" and decision.kind == "route":
            turn = self._found("turn", agent)
            if turn is not None:
                turn.excused = True

    def delegation_began(self, agent: str, task_id: str, held: Sequence[Message]) -> None:
        """Open a delegation."""
        self._open("delegation", agent, self._names.task(task_id))

    def delegation_ended(self, agent: str, result: SubAgentResult) -> None:
        """Close a delegation; one that was refused before it began has no length."""
        found = self._found("delegation", agent)
        if found is None or found.where.task_id != result.task_id:
            found = self._begun(found, agent, result)
        self._close(found, str(result.status))

    def context_died(self, agent: str, ending: Ending) -> None:
        """Close a delegation that was cancelled: its result never comes."""
        if ending == "cancelled":
            self._close(self._found("delegation", agent), "cancelled")

    def request_built(self, request: ModelRequest) -> None:
        """Open a model call and count what goes in."""
        here = self._here.get()
        if here is None:
            return
        tokens = self._tokens(request.messages, here)
        if not here.first_tokens:
            here.first_tokens = tokens
        here.tokens += tokens
        here.calls += 1
        self._begin_call(here, "model", "", tokens)

    def model_replied(self, agent: str, reply: ModelReply | None) -> None:
        """Close a model call."""
        if reply is None:
            self._end_call("model", "model_failed")
        else:
            self._end_call("model", "ok", self._measure.tokens(reply.text))

    def tool_called(self, agent: str, tool: str) -> None:
        """Open a tool call."""
        here = self._here.get()
        if here is not None:
            self._begin_call(here, "tool", self._names.shown(tool), 0)

    def tool_replied(self, agent: str, tool: str, reason: str) -> None:
        """Close a tool call."""
        self._end_call("tool", reason or "ok")

    def _tokens(self, messages: tuple[Message, ...], here: Around) -> int:
        """The tokens of a request: those of the last one, and of the messages that were added since."""
        known, total, tokens = len(here.seen), here.seen_tokens, self._measure.tokens
        if messages[:known] != here.seen:
            known = total = 0
        for message in messages[known:]:
            total += tokens(message_text(message) if message.calls else message.content)
        here.seen = messages
        here.seen_tokens = total
        return total

    def _begin_call(self, here: Around, kind: SpanKind, name: str, tokens: int) -> None:
        if here.call is not None:  # an agent does one thing at a time: its last one raised
            self._close_call(here, here.call, "lost", 0)
        trace = here.trace
        here.call = (kind, name, trace.opened, self._clock(), tokens)
        trace.opened += 1

    def _end_call(self, kind: SpanKind, status: str, output_tokens: int = 0) -> None:
        here = self._here.get()
        if here is None:
            return
        call = here.call
        if call is None or call[0] != kind:
            self.unmatched += 1
            return
        self._close_call(here, call, status if status == "ok" else self._names.shown(status), output_tokens)

    def _close_call(
        self, here: Around, call: tuple[SpanKind, str, int, float, int], status: str, output_tokens: int
    ) -> None:
        """Keep the values of a span; most traces are never looked at, so no span is made of them here."""
        kind, name, number, start, tokens = call
        here.call = None
        took = self._clock() - start
        place = (kind, here.agent, name, number, here.number)
        values = (*place, start, took, status, here.where.task_id, 0, tokens, output_tokens)
        here.trace.keep(values, status == "ok")

    def _end_state(self, turn: Around) -> None:
        if turn.state is None:
            return
        name, number, start = turn.state
        turn.state = None
        span = Span("state", turn.agent, name, number, turn.number, start, self._clock() - start, "ok")
        turn.trace.keep(span, True)
        for told in self._on_span:
            told(span)

    def _open(self, kind: SpanKind, agent: str, task_id: str = "") -> Around:
        above = self._here.get()
        trace = OpenTrace(self._new_id()) if above is None else above.trace
        where = Where(trace.trace_id, task_id)
        around = Around(kind, self._names.shown(agent), trace.opened, self._clock(), trace, above, where)
        self._here.set(around)
        trace.opened += 1
        return around

    def _found(self, kind: SpanKind, agent: str) -> Around | None:
        """The innermost open one of this kind and agent; a turn is not looked for out of a delegation."""
        shown = self._names.shown(agent)
        around = self._here.get()
        while around is not None and (around.kind != kind or around.agent != shown):
            if kind == "turn" and around.kind == "delegation":
                return None
            around = around.above
        return around

    def _begun(self, found: Around | None, agent: str, result: SubAgentResult) -> Around:
        """The delegation of a result whose task is not the open one's: opened now, if it never began."""
        task_id = self._names.task(result.task_id)
        # A launcher that raised leaves no task id behind; a refusal must not end a layer of the same name.
        broke_off = not task_id and result.status is not Status.REFUSED
        if found is not None and (found.where.task_id == task_id or broke_off):
            return found
        return self._open("delegation", agent, task_id)

    def _close(self, found: Around | None, status: str) -> None:
        if found is None:
            self.unmatched += 1
            return
        here = self._here.get()
        while here is not None and here is not found:
            self._closed(here, "lost")
            here = here.above
        self._here.set(found.above)
        self._closed(found, self._names.shown(status))

    def _closed(self, around: Around, status: str) -> None:
        if around.call is not None:
            self._close_call(around, around.call, "lost", 0)
        if around.state is not None:
            self._end_state(around)
        trace = around.trace
        span = Span(
            around.kind,
            around.agent,
            "",
            around.number,
            around.above.number if around.above is not None else -1,
            around.start,
            self._clock() - around.start,
            status,
            around.where.task_id,
            around.first_tokens,
            around.tokens,
            0,
            around.calls,
        )
        trace.keep(span, status in _GOOD or (around.excused and status == "error"))
        for told in self._on_span:
            told(span)
        if around.above is None and self._on_trace:
            whole = Trace(trace.trace_id, tuple(trace.closed), trace.failed, span.seconds, trace.cut)
            for told_trace in self._on_trace:
                told_trace(whole)
