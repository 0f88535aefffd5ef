"""A delegation: a fresh context, its own tools, limits, and only the result afterwards."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
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
    ParentScope,
    RunLimits,
    Status,
    delegate,
)
from isolation_kit.runtime.result import summarise

Use = Callable[..., ModelReply]
SECRET = "history-7f3a"


def scope() -> ParentScope:
    """A parent that knows a secret."""
    return ParentScope("u", "s", [Message("user", SECRET)], {"x-tenant": SECRET})


def run(made: Any, spec: ChildSpec, text: str = "find it") -> Any:
    """One delegation with `text` as its request."""
    return asyncio.run(delegate(made.runtime, scope(), spec, {"request": text}))


def test_a_child_sees_its_brief_and_nothing_of_its_parent(rig: Any, worker: ChildSpec) -> None:
    """Request, headers and tools hold no word of the parent's scope."""
    made = rig({"worker": [ModelReply("42")]})
    result = run(made, worker)
    (request,) = made.scripts["worker"].requests
    assert SECRET not in repr(request)
    assert "find it" in request.messages[1].content
    assert (result.status, result.key_outputs) == (Status.SUCCEEDED, {"answer": "42"})


def test_the_same_holds_no_longer_for_a_leaky_twin(rig: Any, worker: ChildSpec) -> None:
    """The check above can fail: a context that takes the history is seen."""
    leaky = replace(CLEAN, child_context=lambda brief, parent: tuple(parent.history))
    made = rig({"worker": [ModelReply("42")]}, parts=leaky)
    run(made, worker)
    assert SECRET in repr(made.scripts["worker"].requests)


def test_each_child_starts_anew(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """The second child's first request is as long as the first one's."""
    made = rig({"worker": [calls(), ModelReply("a"), calls(), ModelReply("b")]})
    run(made, worker, "first-task")
    run(made, worker, "two")
    lengths = [len(request.messages) for request in made.scripts["worker"].requests]
    assert lengths == [2, 4, 2, 4]
    assert "first-task" not in repr(made.scripts["worker"].requests[2:])


def test_scratch_work_and_tool_replies_stay_below(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """What the child says beside its calls, and what tools answer, is in no result."""
    made = rig({"worker": [calls(), ModelReply("done")]}, '{"note": "raw reply"}')
    result = run(made, worker)
    assert "raw reply" in repr(made.scripts["worker"].requests[-1])
    assert "raw reply" not in repr(result)
    assert "thinking" not in repr(result)


def test_a_child_is_offered_its_basic_tools_only(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """There is no way to spawn; asking for one anyway gets a reason, and the attempt is told."""
    made = rig({"worker": [calls(tool="task", task="more"), ModelReply("done")]})
    run(made, worker)
    first, second = made.scripts["worker"].requests
    assert [tool.name for tool in first.tools] == ["lookup"]
    assert second.messages[-1].content == '{"error":"forbidden_tool"}'
    ((agent, reason, trace_id),) = made.watcher.named("alarm")
    assert (agent, reason) == ("worker", "forbidden_tool")
    assert trace_id.startswith("t_")


def test_the_round_limit_ends_a_child_without_its_messages(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """At the limit a reason goes up, no scratch work (article 003 sends the last messages)."""
    replies = [calls(number, query=f"q{number}") for number in range(9)]
    made = rig({"worker": replies}, limits=RunLimits(rounds=4))
    result = run(made, worker)
    assert (result.status, result.errors) == (Status.NEEDS_REVIEW, ("round_limit",))
    assert not result.key_outputs
    assert len(made.scripts["worker"].requests) == 4


def test_the_third_equal_call_is_refused_and_a_stubborn_child_ends(
    rig: Any, worker: ChildSpec, calls: Use
) -> None:
    """Two calls are made, then there is a reason, and then an end."""
    made = rig({"worker": [calls()]})
    result = run(made, worker)
    assert (result.status, result.errors) == (Status.NEEDS_REVIEW, ("loop_detected",))
    assert len(made.watcher.named("tool_called")) == 2


def test_calls_with_other_arguments_are_no_loop(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """The clean twin: six pages read with one tool."""
    replies = [*(calls(number, query=f"page {number}") for number in range(6)), ModelReply("read")]
    made = rig({"worker": replies})
    assert run(made, worker).status is Status.SUCCEEDED
    assert len(made.watcher.named("tool_called")) == 6


def test_a_child_past_its_time_is_told_apart(rig: Any, worker: ChildSpec) -> None:
    """A model that never answers gives `timeout`, and the child's death is told."""

    class Hanging:
        async def reply(self, request: Any) -> ModelReply:
            await asyncio.Event().wait()
            raise AssertionError("never reached")

    made = rig({}, limits=RunLimits(timeout_ms=20))
    made = replace(made, runtime=replace(made.runtime, model=lambda agent: Hanging()))
    assert run(made, worker).status is Status.TIMEOUT
    assert made.watcher.named("context_died") == [("worker", "ended")]


def test_a_cancelled_child_is_told_and_the_cancellation_passes(rig: Any, worker: ChildSpec) -> None:
    """Cancelling is no failure of the child."""

    class Hanging:
        async def reply(self, request: Any) -> ModelReply:
            await asyncio.Event().wait()
            raise AssertionError("never reached")

    made = rig({})
    made = replace(made, runtime=replace(made.runtime, model=lambda agent: Hanging()))

    async def scene() -> None:
        task = asyncio.create_task(delegate(made.runtime, scope(), worker, {"request": "x"}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scene())
    assert made.watcher.named("context_died") == [("worker", "cancelled")]


def test_a_failing_model_sends_up_a_reason(
    rig: Any, worker: ChildSpec, caplog: pytest.LogCaptureFixture
) -> None:
    """The exception's text is in neither result nor log."""

    class Failing:
        async def reply(self, request: Any) -> ModelReply:
            raise ConnectionError(f"key {SECRET}")

    made = rig({})
    made = replace(made, runtime=replace(made.runtime, model=lambda agent: Failing()))
    result = run(made, worker)
    assert (result.status, result.errors) == (Status.FAILED, ("model_failed",))
    assert SECRET not in caplog.text + repr(result)


@pytest.mark.parametrize("text", ["\ud83d", "a\udc00b"], ids=["lead", "trail"])
def test_text_that_cannot_be_encoded_starts_no_child(rig: Any, worker: ChildSpec, text: str) -> None:
    """The brief is refused and no model is called."""
    made = rig({"worker": [ModelReply("x")]})
    assert run(made, worker, text).status is Status.REFUSED
    assert len(made.watcher.named("refused")) == 1
    assert made.scripts["worker"].requests == []


def test_an_input_that_breaks_the_contract_starts_no_child(rig: Any, worker: ChildSpec) -> None:
    """The child's side checks what comes down, too."""
    made = rig({"worker": [ModelReply("x")]})
    result = asyncio.run(delegate(made.runtime, scope(), worker, {"other": "x"}))
    assert (result.status, result.errors) == (Status.REFUSED, ("request_refused",))
    assert made.scripts["worker"].requests == []


def test_an_answer_in_json_keeps_its_declared_fields(rig: Any, worker: ChildSpec) -> None:
    """A structured answer goes through the allow-list; the rest is reported."""
    made = rig({"worker": [ModelReply('{"answer": "42", "debug": "raw"}')]})
    assert run(made, worker).key_outputs == {"answer": "42"}
    assert [args[2].path for args in made.watcher.named("pollution")] == ["debug"]


def test_a_result_that_breaks_the_contract_is_refused(rig: Any, worker: ChildSpec) -> None:
    """The parent gets a reason and nothing of what came up."""
    broken = replace(CLEAN, pack_result=lambda result, memory: {"status": "splendid", "task_id": SECRET})
    made = rig({"worker": [ModelReply("42")]}, parts=broken)
    result = run(made, worker)
    assert (result.status, result.errors) == (Status.FAILED, ("result_refused",))
    assert SECRET not in repr(result)
    assert made.watcher.named("result_up") == []


def test_an_answer_that_cannot_be_encoded_is_a_failure(rig: Any, worker: ChildSpec) -> None:
    """A lone surrogate in the child's last words gives a reason."""
    made = rig({"worker": [ModelReply("a\ud83d")]})
    assert run(made, worker).errors == ("not_utf8",)


def test_the_hooks_tell_a_life_in_order(rig: Any, worker: ChildSpec, calls: Use) -> None:
    """Crossing down, birth, requests with their log lines and replies, tools, death, crossing up, result."""
    made = rig({"worker": [calls(), ModelReply("done")]})
    run(made, worker)
    assert [name for name, _ in made.watcher.calls] == [
        "delegation_began",
        "context_crossed",
        "context_born",
        "request_built",
        "log_line",
        "model_replied",
        "tool_called",
        "tool_replied",
        "request_built",
        "log_line",
        "model_replied",
        "context_died",
        "context_crossed",
        "result_up",
        "delegation_ended",
    ]


def test_logs_hold_sizes_and_digests_only(
    rig: Any, worker: ChildSpec, caplog: pytest.LogCaptureFixture
) -> None:
    """A line per request, with none of its words."""
    made = rig({"worker": [ModelReply("42")]})
    with caplog.at_level(logging.INFO, logger="isolation_kit.runtime"):
        run(made, worker, "find 张伟")
    assert "digest=" in caplog.text
    assert "find" not in caplog.text
    assert "张伟" not in caplog.text


@given(st.text(max_size=900))
def test_a_summary_is_short(text: str) -> None:
    """At most 200 characters of any text."""
    assert len(summarise(text)) <= 200


def test_a_summary_has_three_sentences() -> None:
    """The fourth sentence is not part of it, in either script."""
    assert summarise("One. Two. Three. Four.") == "One. Two. Three."
    assert summarise("一。二！三？四。") == "一。二！三？"
