"""Spans: durations by an injected clock, one trace id over the chain, whatever runs at once or breaks off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from isolation_kit.runtime import (
    ChildSpec,
    Message,
    ModelReply,
    ModelRequest,
    ParentScope,
    Status,
    SubAgentResult,
    delegate,
)
from isolation_kit.runtime.observe import Measure, Names, Span, Trace, Tracer


class Kept:
    """What a tracer handed on, and its clock."""

    def __init__(self, names: Names, measure: Measure) -> None:
        self.spans: list[Span] = []
        self.traces: list[Trace] = []
        self.now = 0.0
        self.ids = 0
        self.tracer = Tracer(
            names,
            measure,
            spans=(self.spans.append,),
            traces=(self.traces.append,),
            clock=lambda: self.now,
            new_id=self.new_id,
        )

    def new_id(self) -> str:
        """Ids in order."""
        self.ids += 1
        return f"{self.ids:032x}"

    def told(self) -> list[tuple[str, str, float]]:
        """Kind, status and seconds of the spans of all traces."""
        return [(span.kind, span.status, span.seconds) for trace in self.traces for span in trace.spans]


@pytest.fixture
def kept(names: Names, measure: Measure) -> Kept:
    """A tracer whose spans are kept."""
    return Kept(names, measure)


REQUEST = ModelRequest("worker", (Message("system", "1234"), Message("user", "56")))


def result(status: Status = Status.SUCCEEDED) -> SubAgentResult:
    """A result of the worker."""
    return SubAgentResult("t_0123456789abcdef", status)


def one_delegation(kept: Kept, status: Status = Status.SUCCEEDED) -> None:
    """A model call of 2 s, a tool call of 3 s, a model call of 1 s."""
    tracer = kept.tracer
    tracer.delegation_began("worker", "t_0123456789abcdef", ())
    tracer.request_built(REQUEST)
    kept.now += 2
    tracer.model_replied("worker", ModelReply("abc"))
    tracer.tool_called("worker", "lookup")
    kept.now += 3
    tracer.tool_replied("worker", "lookup", "")
    tracer.request_built(REQUEST)
    kept.now += 1
    tracer.model_replied("worker", ModelReply("ok"))
    tracer.delegation_ended("worker", result(status))


def test_spans_have_durations_and_tokens(kept: Kept) -> None:
    """A delegation sums its model calls; its first one is told apart."""
    one_delegation(kept)
    assert kept.told() == [
        ("model", "ok", 2),
        ("tool", "ok", 3),
        ("model", "ok", 1),
        ("delegation", "succeeded", 6),
    ]
    model, *_, whole = kept.traces[0].spans
    assert (whole.first_tokens, whole.tokens, whole.calls) == (6, 12, 2)
    assert (model.tokens, model.output_tokens) == (6, 3)
    assert kept.spans == [whole]


def test_a_turn_holds_its_states_and_delegations_under_one_trace_id(kept: Kept) -> None:
    """States close when the next one opens; the trace ends with the turn."""
    tracer = kept.tracer
    for state in ("idle", "parsing", "routing", "executing"):
        tracer.state_entered("parent", state)
        kept.now += 1
    one_delegation(kept)
    assert kept.traces == []
    for state in ("aggregating", "done"):
        tracer.state_entered("parent", state)
    (trace,) = kept.traces
    names = [span.name for span in trace.spans if span.kind == "state"]
    assert names == ["parsing", "routing", "executing", "aggregating"]
    assert (trace.spans[-1].kind, trace.spans[-1].seconds, trace.failed) == ("turn", 10, False)
    assert (kept.ids, tracer.unmatched) == (1, 0)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.SUCCEEDED])
def test_every_other_status_makes_a_failed_trace(kept: Kept, status: Status) -> None:
    """A child that needs review is worth its whole trace too."""
    one_delegation(kept, status)
    assert kept.traces[0].failed


def test_a_delegation_that_was_cancelled_is_closed(kept: Kept) -> None:
    """What was open in it is lost, and the next delegation has a trace of its own."""
    kept.tracer.delegation_began("worker", "", ())
    kept.tracer.request_built(REQUEST)
    kept.tracer.context_died("worker", "cancelled")
    assert kept.told() == [("model", "lost", 0), ("delegation", "cancelled", 0)]
    one_delegation(kept)
    assert [trace.failed for trace in kept.traces] == [True, False]


def test_a_turn_that_broke_off_does_not_hold_the_next_one(kept: Kept) -> None:
    """An exception left a turn and a model call open: the next turn begins anew."""
    kept.tracer.state_entered("parent", "idle")
    kept.tracer.request_built(replace(REQUEST, agent="parent"))
    kept.tracer.state_entered("parent", "idle")
    kept.tracer.state_entered("parent", "done")
    assert [trace.failed for trace in kept.traces] == [True, False]


def test_a_nested_child_hangs_under_its_layer(kept: Kept) -> None:
    """Its tokens are its own, and its end leads back to the layer."""
    kept.tracer.delegation_began("parent", "t_0123456789abcdef", ())
    one_delegation(kept)
    kept.tracer.delegation_ended("parent", result())
    (trace,) = kept.traces
    inner, outer = [span for span in trace.spans if span.kind == "delegation"]
    assert (inner.above, outer.above, outer.tokens) == (outer.number, -1, 0)


def test_an_end_without_a_beginning_is_counted(kept: Kept) -> None:
    """A hook that was called out of place is no reason to break a run, and no secret either."""
    kept.tracer.state_entered("parent", "done")
    kept.tracer.delegation_began("worker", "", ())
    kept.tracer.tool_replied("worker", "lookup", "")
    assert (kept.tracer.unmatched, kept.spans) == (2, [])


def test_a_call_outside_of_turn_and_delegation_has_no_trace(kept: Kept) -> None:
    """There is nothing that it belongs to; the metrics count it all the same."""
    kept.tracer.request_built(REQUEST)
    kept.tracer.model_replied("worker", ModelReply("ok"))
    assert (kept.tracer.unmatched, kept.traces) == (0, [])


def test_a_child_that_was_refused_is_a_failed_trace(kept: Kept) -> None:
    """It never began; it shows all the same."""
    kept.tracer.delegation_ended("worker", SubAgentResult("", Status.REFUSED))
    assert [(span.kind, span.status) for span in kept.spans] == [("delegation", "refused")]
    assert kept.tracer.unmatched == 0


def test_a_refused_child_does_not_end_a_layer_of_the_same_name(kept: Kept) -> None:
    """The layer goes on; the refusal hangs under it."""
    kept.tracer.delegation_began("worker", "t_0123456789abcdef", ())
    kept.tracer.delegation_ended("worker", SubAgentResult("", Status.REFUSED))
    kept.now += 1
    kept.tracer.delegation_ended("worker", result())
    assert kept.told() == [("delegation", "refused", 0), ("delegation", "succeeded", 1)]


def test_a_launcher_that_raised_closes_its_delegation(kept: Kept) -> None:
    """Its result has no task id: the agent is all that is known."""
    kept.tracer.delegation_began("worker", "t_0123456789abcdef", ())
    kept.tracer.delegation_ended("worker", SubAgentResult("", Status.FAILED))
    assert kept.told() == [("delegation", "failed", 0)]


def test_concurrent_delegations_do_not_mix(
    kept: Kept, rig: Any, worker: ChildSpec, calls: Callable[..., ModelReply]
) -> None:
    """Twenty at once: twenty traces of four spans, each of one task."""
    made = rig({"worker": [calls(), ModelReply("done")]})

    class Slow:
        async def reply(self, request: ModelRequest) -> ModelReply:
            await asyncio.sleep(0)
            return calls() if len(request.messages) == 2 else ModelReply("done")

    runtime = replace(made.runtime, hooks=kept.tracer, model=lambda agent: Slow())

    async def all_at_once() -> None:
        scope = ParentScope("u", "s")
        tasks = (delegate(runtime, scope, worker, {"request": str(number)}) for number in range(20))
        await asyncio.gather(*tasks)

    asyncio.run(all_at_once())
    assert [len(trace.spans) for trace in kept.traces] == [4] * 20
    assert all(len({span.task_id for span in trace.spans}) == 1 for trace in kept.traces)
    assert len({trace.spans[0].task_id for trace in kept.traces}) == 20
    assert kept.tracer.unmatched == 0


def test_a_long_trace_is_cut_and_keeps_its_failure(kept: Kept) -> None:
    """2,000 spans are kept; a failure beyond them still makes a failed trace."""
    kept.tracer.delegation_began("worker", "t_0123456789abcdef", ())
    for _ in range(2100):
        kept.tracer.tool_called("worker", "lookup")
        kept.tracer.tool_replied("worker", "lookup", "")
    kept.tracer.tool_called("worker", "lookup")
    kept.tracer.tool_replied("worker", "lookup", "tool_failed")
    kept.tracer.delegation_ended("worker", result())
    (trace,) = kept.traces
    assert (len(trace.spans), trace.cut, trace.failed) == (2000, 102, True)
