"""The planning context: the goal, the newest replies, and one compact line for each finished subtask."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import (
    CLEAN,
    ChildSpec,
    Message,
    ModelReply,
    ModelRequest,
    ParentScope,
    Status,
    SubAgentResult,
    TaskParent,
    ToolCall,
    task_tool,
    task_turn,
)
from isolation_kit.runtime.failures import reported
from isolation_kit.runtime.planning import (
    GOAL_LIMIT,
    LINE_LIMIT,
    TASK_LIMIT,
    Subtask,
    done_line,
    planning_context,
)
from isolation_kit.runtime.text import canonical
from isolation_kit.strictjson import loads

# A turn is a text and rounds of calls; a call is the length of a task's answer, or None for a basic tool.
calls = st.one_of(st.none(), st.integers(0, 3000))
turns = st.tuples(st.integers(1, 1500), st.lists(st.lists(calls, min_size=1, max_size=3), max_size=4))
conversations = st.lists(turns, min_size=1, max_size=3)


def history_of(conversation: Sequence[Any], answered: bool) -> tuple[list[Message], list[Subtask]]:
    """What a parent would have recorded; the last turn is still open unless `answered`."""
    history = [Message("system", "Plan.")]
    done: list[Subtask] = []
    for number, (length, rounds) in enumerate(conversation):
        history.append(Message("user", f"goal {number} " + "g" * length))
        for planned in rounds:
            made = tuple(
                ToolCall(f"c{place}", "lookup" if size is None else "task", {"task": "t" * (size or 0)})
                for place, size in enumerate(planned)
            )
            history.append(Message("assistant", "plan", made))
            for call, size in zip(made, planned, strict=True):
                result = SubAgentResult("", Status.SUCCEEDED, {"answer": "d" * (size or 0)})
                text = "looked up" if size is None else canonical(reported(result))
                if size is not None:
                    line = Message("tool", done_line(len(done) + 1, reported(result)), call_id=call.id)
                    done.append(Subtask(len(history), line))
                history.append(Message("tool", text, call_id=call.id))
        if number < len(conversation) - 1 or answered:
            history.append(Message("assistant", "answer"))
    return history, done


@given(conversations, st.booleans())
def test_the_view_is_the_history_with_finished_subtasks_in_short(spoken: Any, answered: bool) -> None:
    """Message for message, calls and replies paired as they were; only finished subtasks differ."""
    history, done = history_of(spoken, answered)
    before = list(history)
    view = planning_context(history, done)
    finished = {subtask.at for subtask in done}
    assert history == before
    for at, (shown, kept) in enumerate(zip(view, history, strict=False)):
        assert (shown.role, shown.call_id) == (kept.role, kept.call_id)
        assert [call.id for call in shown.calls] == [call.id for call in kept.calls]
        assert shown.content == kept.content or at in finished


@given(conversations)
def test_the_newest_replies_stand_whole_and_older_ones_in_a_line(spoken: Any) -> None:
    """A model reads each result once; from then on it has its line."""
    history, done = history_of(spoken, answered=False)
    view = planning_context(history, done)
    newest = max(at for at, message in enumerate(history) if message.role != "tool")
    for subtask in done:
        shown = view[subtask.at].content
        assert shown == (history if subtask.at > newest else {subtask.at: subtask.reply})[subtask.at].content
    older = [
        call
        for at, message in enumerate(view[:newest])
        for place, call in enumerate(message.calls, start=1)
        if at + place in {subtask.at for subtask in done}
    ]
    assert all(len(str(call.arguments["task"])) <= TASK_LIMIT for call in older)


@given(conversations)
def test_the_goal_is_stated_again_after_a_finished_subtask(spoken: Any) -> None:
    """At the end, where a model looks; whole where the turn begins."""
    history, done = history_of(spoken, answered=False)
    view = planning_context(history, done)
    began = max(at for at, message in enumerate(history) if message.role == "user")
    assert view[began] == history[began]
    if any(subtask.at > began for subtask in done):
        assert len(view) == len(history) + 1
        assert view[-1].role == "user"
        assert f"goal {len(spoken) - 1} " in view[-1].content
        assert len(view[-1].content) <= GOAL_LIMIT + 60
    else:
        assert len(view) == len(history)


values = st.recursive(
    st.one_of(st.text(max_size=400), st.integers(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6), st.dictionaries(st.text(max_size=30), inner, max_size=6)
    ),
    max_leaves=30,
)


@given(
    st.dictionaries(st.text(max_size=30), values, max_size=12),
    st.text(max_size=300),
    st.lists(st.just("artifact_0123456789abcdef"), max_size=40).map(tuple),
    st.sampled_from(list(Status)),
)
def test_a_line_is_short_and_says_how_it_went(
    outputs: Any, summary: str, artifacts: tuple[str, ...], status: Status
) -> None:
    """Valid JSON within its limit, whatever the child's outputs."""
    line = done_line(3, reported(SubAgentResult("t", status, outputs, summary, artifacts, ("timeout",))))
    assert len(line) <= LINE_LIMIT
    said: Any = loads(line)
    assert (said["done"], said["status"]) == (3, status)


def test_short_outputs_stay_whole_in_the_line() -> None:
    """What the model needs of a result is still there: identifiers, amounts, references."""
    outputs = {"bill_id": "U_8a3f", "total": 42.5, "items": ["a", "b"]}
    line = done_line(1, reported(SubAgentResult("t", Status.SUCCEEDED, outputs, "Two items.")))
    assert loads(line) == {"done": 1, "status": "succeeded", "key_outputs": outputs, "summary": "Two items."}


# -- through the parent ----------------------------------------------------------------------------------


def details_in(requests: Sequence[ModelRequest]) -> int:
    """How many results stand in whole in the last request: the newest may, and no other."""
    return sum(message.content.count("DETAIL-END") for message in requests[-1].messages)


def delegations(rig: Any, worker: ChildSpec, count: int, **seams: Any) -> list[ModelRequest]:
    """The requests of a parent that delegates `count` times in one turn, to children with long answers."""
    asks = [ModelReply("", (ToolCall(f"c{n}", "task", {"task": f"find {n}"}),)) for n in range(count)]
    long = ModelReply(f"Found. {'x' * 2000} DETAIL-END")
    made = rig({"parent": [*asks, ModelReply("ok")], "worker": [long]}, parts=replace(CLEAN, **seams))
    parent = TaskParent("parent", "Plan.", (), {"task": (task_tool("Delegate."), worker)})
    asyncio.run(task_turn(made.runtime, parent, ParentScope("u", "s"), "compare them all"))
    requests: list[ModelRequest] = made.scripts["parent"].requests
    return requests


def test_details_leave_the_planning_context(rig: Any, worker: ChildSpec) -> None:
    """After seven delegations: the goal, six lines, one whole result."""
    requests = delegations(rig, worker, 7)
    assert details_in(requests) == 1
    sizes = [sum(len(message.content) for message in request.messages) for request in requests]
    assert sizes[-1] - sizes[2] <= 5 * LINE_LIMIT
    assert [message.role for message in requests[-1].messages[:2]] == ["system", "user"]
    assert "compare them all" in requests[-1].messages[-1].content


def test_details_kept_in_the_planning_context_are_seen(rig: Any, worker: ChildSpec) -> None:
    """The leaky twin sends its whole history each time."""
    requests = delegations(rig, worker, 7, planning_context=lambda history, done: tuple(history))
    assert details_in(requests) == 7


@pytest.mark.parametrize("count", [1, 3])
def test_the_history_keeps_what_happened(rig: Any, worker: ChildSpec, count: int) -> None:
    """The view is for the model; the record is the truth, for the next turn too."""
    ask = [ModelReply("", (ToolCall(f"c{n}", "task", {"task": f"find {n}"}),)) for n in range(count)]
    made = rig({"parent": [*ask, ModelReply("ok")], "worker": [ModelReply("y" * 900)]})
    parent = TaskParent("parent", "Plan.", (), {"task": (task_tool("Delegate."), worker)})
    scope = ParentScope("u", "s")
    for text in ("one", "two"):
        asyncio.run(task_turn(made.runtime, parent, scope, text))
    assert sum("y" * 900 in message.content for message in scope.history) == count
    last = made.scripts["parent"].requests[-1].messages
    assert not any("y" * 900 in message.content for message in last)
    assert [message.content for message in last if message.role == "user"] == ["one", "two"]
