"""A child's limits: loops, call chains, tool tiers, rounds, sizes; and the one way in for extra context."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import (
    ChildSpec,
    ModelReply,
    ParentScope,
    RunLimits,
    Status,
    ToolCall,
    ToolSpec,
    delegate,
    task_tool,
)
from isolation_kit.runtime.chain import Chain
from isolation_kit.runtime.context import task_inputs
from isolation_kit.runtime.loops import LoopLimits, LoopWatch
from isolation_kit.runtime.nested import ByTask

Use = Callable[..., ModelReply]
INPUTS = {
    "type": "object",
    "required": ["request"],
    "properties": {"request": {"type": "string"}, "context": {"type": "string"}},
}


def run(made: Any, spec: ChildSpec, text: str = "X", chain: Chain | None = None) -> Any:
    """One delegation with `text` as its request."""
    scope = ParentScope("u", "session-51", chain=chain or Chain())
    return asyncio.run(delegate(made.runtime, scope, spec, {"request": text}))


# -- loops ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [4, 12], ids=["declared", "default"])
def test_one_tool_is_stopped_at_its_bound(rig: Any, worker: ChildSpec, calls: Use, bound: int) -> None:
    """Ever new arguments do not go on for ever: a reason, then an end with an alarm."""
    made = rig({"worker": [calls(number, query=f"page {number}") for number in range(40)]})
    result = run(made, replace(worker, loops=LoopLimits(one_tool=bound)))
    assert (result.status, result.errors) == (Status.NEEDS_REVIEW, ("loop_detected",))
    assert len(made.watcher.named("tool_called")) == bound - 1
    assert [reason for _, reason, _ in made.watcher.named("alarm")] == ["loop_detected"]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), max_size=30))
def test_a_loop_is_equal_calls_in_a_row_or_one_tool_too_often(made: list[tuple[str, str]]) -> None:
    """The watch agrees with the definition, for any order of calls of two tools."""
    watch = LoopWatch(LoopLimits(equal_calls=3, one_tool=5))
    for end, (name, query) in enumerate(made, 1):
        equal = made[max(0, end - 3) : end] == [(name, query)] * 3
        same = [tool for tool, _ in made[max(0, end - 5) : end]] == [name] * 5
        assert watch.repeats(ToolCall("c", name, {"query": query})) is (equal or same)


@pytest.mark.parametrize("limits", [(1, 12, 3), (3, 1, 3), (3, 12, 0)], ids=["equal", "one tool", "refusals"])
def test_limits_that_make_no_sense_are_refused(limits: tuple[int, int, int]) -> None:
    """A first call is never a loop, and a loop always ends."""
    with pytest.raises(ValueError, match="for example LoopLimits"):
        LoopLimits(*limits)


# -- the call chain ------------------------------------------------------------------------------------------


@dataclass
class Back:
    """A way to a spec that is known later only: what makes a circle."""

    specs: dict[str, ChildSpec]
    name: str
    tool: ToolSpec = field(default_factory=lambda: task_tool("Hand it back."))

    async def hand_down(self, runtime: Any, layer: Any, call: ToolCall) -> str:
        return await ByTask(self.specs[self.name]).hand_down(runtime, layer, call)


def circle(worker: ChildSpec) -> ChildSpec:
    """Two agents that hand tasks to each other."""
    specs: dict[str, ChildSpec] = {}
    specs["a"] = replace(worker, name="a", children=(Back(specs, "b"),))
    specs["b"] = replace(worker, name="b", children=(Back(specs, "a"),))
    return specs["a"]


def test_the_same_task_twice_in_one_chain_stops_with_an_alarm(
    rig: Any, worker: ChildSpec, calls: Use
) -> None:
    """a(X) -> b(Y) -> a(X): the second a is never started; the alarm names chain and reason."""
    made = rig(
        {
            "a": [calls(tool="task", task="Y"), ModelReply("from a")],
            "b": [calls(tool="task", task="X"), ModelReply("from b")],
        }
    )
    assert run(made, circle(worker)).status is Status.SUCCEEDED
    assert "call_repeated" in made.scripts["b"].requests[-1].messages[-1].content
    ((agent, reason, trace_id),) = made.watcher.named("alarm")
    assert (agent, reason) == ("a", "call_repeated")
    assert trace_id == made.watcher.named("delegation_began")[0][1]
    assert len(made.watcher.named("context_born")) == 2


def test_the_same_task_to_two_siblings_is_no_repetition(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """The clean twin: a layer asks its child the same twice, one after the other."""
    spec = replace(worker, name="a", children=(ByTask(worker),))
    again = calls(tool="task", task="Y")
    made = rig({"a": [again, again, ModelReply("from a")], "worker": [ModelReply("42")]})
    assert run(made, spec).status is Status.SUCCEEDED
    assert made.watcher.named("alarm") == []
    assert len(made.watcher.named("context_born")) == 3


@given(st.integers(1, 5))
def test_a_chain_ends_at_its_depth(most: int) -> None:
    """With ever new tasks the chain's own bound holds: so many delegations below the root, and no more."""

    def digest(data: bytes) -> str:
        return data.hex()

    chain = Chain(most=most)
    for depth in range(most):
        assert chain.problem("a", {"request": str(depth)}, digest) == ""
        chain = chain.to("a", {"request": str(depth)}, f"t_{depth}", digest)
    assert chain.problem("a", {"request": "new"}, digest) == "too_deep"
    assert chain.problem("a", {"request": "0"}, digest) == "call_repeated"
    assert chain.trace_id == "t_0"


def test_a_tree_that_is_too_deep_stops_with_an_alarm(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """The reason reaches the layer that asked; the child is never born."""
    tasks = [calls(number, tool="task", task=f"task {number}") for number in range(3)]
    scripts = {"a": [tasks[0], tasks[2], ModelReply("a")], "b": [tasks[1], ModelReply("b")]}
    made = rig(scripts)
    run(made, circle(worker), chain=Chain(most=2))
    assert {reason for _, reason, _ in made.watcher.named("alarm")} == {"too_deep"}
    assert "session-51" not in repr(made.watcher.named("alarm"))


# -- tiers and sizes -----------------------------------------------------------------------------------------


def test_the_articles_limits_are_the_defaults() -> None:
    """30 rounds, 50,000 characters of a tool's output, a tree of depth 4."""
    limits = RunLimits()
    assert (limits.rounds, limits.tool_output, Chain().most) == (30, 50_000, 3)


def test_tool_output_is_cut(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """A long reply reaches the model as at most the limit, marked, and still as JSON."""
    long = f'{{"note": "{"x" * 6_000}"}}'
    made = rig({"worker": [calls(), ModelReply("done")]}, long, limits=RunLimits(tool_output=2000))
    run(made, worker)
    content = made.scripts["worker"].requests[-1].messages[-1].content
    assert len(content) <= 2000
    assert "[cut " in content


def test_a_spec_that_smuggles_task_into_its_basic_tools_is_refused(rig: Any, worker: ChildSpec) -> None:
    """Only a declared layer has the tool; a basic tool of that name starts no child."""
    tool = replace(worker.tools[0], name="task")
    contract = replace(worker.contract, allowed_fields={"task": worker.contract.allowed_fields["lookup"]})
    made = rig({"worker": [ModelReply("x")]})
    assert run(made, replace(worker, tools=(tool,), contract=contract)).errors == ("brief_refused",)
    assert made.scripts["worker"].requests == []


def test_asking_for_task_again_and_again_ends_a_child(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """Each attempt is told, and the third equal one begins the end."""
    made = rig({"worker": [calls(tool="task", task="more")]})
    assert run(made, worker).errors == ("loop_detected",)
    reasons = [reason for _, reason, _ in made.watcher.named("alarm")]
    assert reasons == ["forbidden_tool", "forbidden_tool", "loop_detected"]


def test_a_layer_with_two_children_tells_them_by_their_tools(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """Each tool leads to its own child, and `task`, which this layer does not have, stays forbidden."""
    other = replace(worker, name="other")
    spec = replace(worker, name="a", children=(ByTask(worker, "ask"), ByTask(other, "check")))
    asked = [
        calls(1, tool="check", task="1"),
        calls(2, tool="task", task="2"),
        calls(3, tool="ask", task="3"),
    ]
    scripts = {"a": [*asked, ModelReply("a")], "worker": [ModelReply("w")], "other": [ModelReply("o")]}
    made = rig(scripts)
    run(made, spec)
    assert [args[0] for args in made.watcher.named("context_born")] == ["a", "other", "worker"]
    assert [reason for _, reason, _ in made.watcher.named("alarm")] == ["forbidden_tool"]


def test_two_tools_of_one_name_are_refused(worker: ChildSpec) -> None:
    """A call of such a name could be a lookup or a delegation."""
    with pytest.raises(ValueError, match="two tools of one name"):
        replace(worker, children=(ByTask(worker, "lookup"),))


# -- the single door -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", ["only 2024", {"year": 2024}], ids=["text", "object"])
def test_extra_context_is_an_input_of_the_brief(
    rig: Any, worker: ChildSpec, calls: Use, context: Any
) -> None:
    """Two messages as ever, and what was added stands in the second, beside the task."""
    leaf = replace(worker, inputs=INPUTS)
    made = rig(
        {
            "a": [calls(tool="task", task="sum up", context=context), ModelReply("a")],
            "worker": [ModelReply("42")],
        }
    )
    run(made, replace(worker, name="a", children=(ByTask(leaf),)))
    first = made.scripts["worker"].requests[0]
    assert [message.role for message in first.messages] == ["system", "user"]
    assert "2024" in first.messages[1].content
    assert "2024" not in first.messages[0].content


def test_extra_context_that_is_not_declared_stays_out(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """The bridge drops and reports it, as any undeclared field."""
    made = rig(
        {
            "a": [calls(tool="task", task="sum up", context="only 2024"), ModelReply("a")],
            "worker": [ModelReply("42")],
        }
    )
    run(made, replace(worker, name="a", children=(ByTask(worker),)))
    assert "2024" not in repr(made.scripts["worker"].requests)
    assert [args[2].path for args in made.watcher.named("pollution")] == ["brief.inputs.context"]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"task": 3}, {"task": "x", "context": {"n": float("nan")}}, {"task": "x", "context": {1, 2}}],
    ids=["none", "number", "nan", "set"],
)
def test_a_call_that_is_no_task_is_none(arguments: dict[str, object]) -> None:
    """Its model gets a reason, and no child starts."""
    assert task_inputs(arguments, "task") is None


# -- bad models ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "scratch-51",
        ModelReply(None),  # type: ignore[arg-type]
        ModelReply("scratch-51", (ToolCall("c", "lookup", {"query": float("nan")}),)),
        ModelReply("scratch-51", (ToolCall("c", "lookup", {"query": {1, 2}}),)),
        ModelReply("scratch-51", (ToolCall("c", "lookup", ["scratch-51"]),)),  # type: ignore[arg-type]
    ],
    ids=["none", "text", "no text", "nan", "set", "list"],
)
def test_a_reply_that_is_none_is_the_models_failure(rig: Any, worker: ChildSpec, reply: Any) -> None:
    """The parent gets a reason: no exception, whose text and frames would hold the child's work."""
    made = rig({"worker": [reply]})
    result = run(made, worker)
    assert (result.status, result.errors) == (Status.FAILED, ("model_failed",))
    assert "scratch-51" not in repr(result)
    assert made.watcher.named("context_died") == [("worker", "ended")]
