"""What a model or a tool raises or says ends no turn that nobody cancelled, and no program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from isolation_kit.errors import KitError
from isolation_kit.runtime import (
    ChildSpec,
    ModelReply,
    ParentScope,
    TaskParent,
    ToolCall,
    delegate,
    task_turn,
)
from isolation_kit.runtime.parent_task import MODEL_FAILED_REPLY

Act = Callable[[], Any]


class Acting:
    """A model that does as it is told instead of answering."""

    def __init__(self, act: Act) -> None:
        self.act = act

    async def reply(self, request: Any) -> Any:
        """What the act returns, awaited where it can be."""
        done = self.act()
        return await done if asyncio.iscoroutine(done) else done


async def _inner_task_cancelled() -> None:
    inner = asyncio.create_task(asyncio.sleep(9))
    await asyncio.sleep(0)
    inner.cancel()
    await inner


def _raise(error: BaseException) -> Act:
    def act() -> Any:
        raise error

    return act


GROUP = BaseExceptionGroup("SECRET", [SystemExit("SECRET"), GeneratorExit("SECRET")])
RAISING = {
    "inner task cancelled": _inner_task_cancelled,
    "exit": _raise(SystemExit("SECRET")),
    "generator exit": _raise(GeneratorExit("SECRET")),
    "group": _raise(GROUP),
}
NO_REPLIES: dict[str, Any] = {
    "text": "SECRET",
    "none": None,
    "no text": ModelReply(None),  # type: ignore[arg-type]
    "no arguments": ModelReply("", (ToolCall("c", "lookup", None),)),  # type: ignore[arg-type]
    "name": ModelReply("", (ToolCall("c", ["lookup"], {}),)),  # type: ignore[arg-type]
    "no call": ModelReply("", ("SECRET",)),  # type: ignore[arg-type]
    "set": ModelReply("", (ToolCall("c", "lookup", {"query": {1}}),)),
}
ACTS = RAISING | {name: (lambda reply=reply: reply) for name, reply in NO_REPLIES.items()}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_whatever_a_childs_model_does_is_its_failure(rig: Any, worker: ChildSpec, act: Act) -> None:
    """The parent gets the code, and the delegation ends."""
    runtime = replace(rig({}).runtime, model=lambda agent: Acting(act))
    result = asyncio.run(delegate(runtime, ParentScope("u", "s"), worker, {"request": "x"}))
    assert result.errors == ("model_failed",)


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_whatever_a_parents_model_does_gives_fixed_words(rig: Any, act: Act) -> None:
    """The user reads a sentence of the parent, the turn ends in state error."""
    made = rig({})
    runtime = replace(made.runtime, model=lambda agent: Acting(act))
    answer = asyncio.run(task_turn(runtime, TaskParent("parent", "Plan.", ()), ParentScope("u", "s"), "x"))
    assert answer == MODEL_FAILED_REPLY
    assert made.watcher.named("state_entered")[-1][1] == "error"
    assert "SECRET" not in repr(made.watcher.named("log_line"))


@pytest.mark.parametrize("act", RAISING.values(), ids=RAISING)
def test_whatever_a_tool_raises_is_its_failure(rig: Any, worker: ChildSpec, calls: Any, act: Act) -> None:
    """Its model gets a code and goes on."""

    async def tool(query: str) -> Any:
        return await Acting(act).reply(query)

    made = rig({"worker": [calls(1, query="q"), ModelReply("42")]})
    runtime = replace(made.runtime, tool=lambda name, agent: tool)
    result = asyncio.run(delegate(runtime, ParentScope("u", "s"), worker, {"request": "x"}))
    assert result.key_outputs == {"answer": "42"}
    assert [reason for *_, reason in made.watcher.named("tool_replied")] == ["tool_failed"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), KitError("a fault")], ids=["ctrl-c", "kit"])
def test_what_is_not_the_models_passes(rig: Any, worker: ChildSpec, error: BaseException) -> None:
    """Ctrl-C and a fault of the kit are nobody's failed model."""
    runtime = replace(rig({}).runtime, model=lambda agent: Acting(_raise(error)))
    with pytest.raises(type(error)):
        asyncio.run(delegate(runtime, ParentScope("u", "s"), worker, {"request": "x"}))


@pytest.mark.parametrize("parent", [False, True], ids=["child", "parent"])
def test_a_real_cancellation_still_cancels(rig: Any, worker: ChildSpec, parent: bool) -> None:
    """Of the turn itself: it passes the model and ends the task as cancelled."""
    runtime = replace(rig({}).runtime, model=lambda agent: Acting(lambda: asyncio.sleep(9)))
    scope = ParentScope("u", "s")

    async def scene() -> bool:
        turn = task_turn(runtime, TaskParent("parent", "Plan.", ()), scope, "x")
        work: Any = turn if parent else delegate(runtime, scope, worker, {"request": "x"})
        if not parent:
            turn.close()
        task = asyncio.ensure_future(work)
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(scene())
