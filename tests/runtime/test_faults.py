"""A developer's slip is told as one: by the type of its error, at once, and never by its text."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import ChildSpec, ModelReply, ParentScope, TaskParent, ToolCall, task_turn
from isolation_kit.runtime.attempts import attempted
from isolation_kit.runtime.clock import SteppedClock
from isolation_kit.runtime.faults import PROGRAM_ERRORS
from isolation_kit.runtime.log import error_line

SECRET = "sk-7f3a9c"


class _Raising:
    """A model client that raises, with the request in its words."""

    def __init__(self, kind: type[Exception]) -> None:
        self.kind = kind
        self.asked = 0

    async def reply(self, request: Any) -> ModelReply:
        self.asked += 1
        raise self.kind(f"{SECRET} {request}")


def run(rig: Any, worker: ChildSpec, kind: type[Exception]) -> tuple[Any, Any, _Raising, SteppedClock]:
    """A task at a model client that raises `kind`: its result, the rig, the client, the clock."""
    made, model, clock = rig({}), _Raising(kind), SteppedClock()
    runtime = replace(made.runtime, model=lambda agent: model, clock=clock)
    result = asyncio.run(attempted(runtime, "parent", ParentScope("u", "s"), worker, {"request": SECRET}))
    return result, made, model, clock


@pytest.mark.parametrize("kind", [*PROGRAM_ERRORS, ModuleNotFoundError, UnboundLocalError])
def test_a_bug_of_a_model_client_is_permanent(rig: Any, worker: ChildSpec, kind: type[Exception]) -> None:
    """Asked once, waited for never, told as no busy system; the log has the type and no text."""
    result, made, model, clock = run(rig, worker, kind)
    assert (str(result.status), result.errors) == ("failed", ("program_error",))
    assert (model.asked, clock.slept) == (1, [])
    assert made.watcher.named("decided")[-1][1].error_class == "permanent"
    lines = [line for _, line in made.watcher.named("log_line")]
    assert f"failure agent=worker reason=program_error error={kind.__name__}" in lines
    assert SECRET not in repr(lines)


@pytest.mark.parametrize("kind", [OSError, RuntimeError, ValueError, KeyError])
def test_what_may_pass_by_itself_is_tried_again(rig: Any, worker: ChildSpec, kind: type[Exception]) -> None:
    """Three waits, as ever, and the type in the log all the same."""
    result, made, model, clock = run(rig, worker, kind)
    assert (result.errors, model.asked, clock.slept) == (("model_failed",), 4, [1, 3, 9])
    assert f"reason=model_failed error={kind.__name__}" in repr(made.watcher.named("log_line"))


def test_a_sync_tool_is_named_a_type_error(rig: Any, worker: ChildSpec) -> None:
    """`def tool(query)` where `async def` is meant: the model reads `tool_failed`, the log says TypeError."""
    made = rig({"parent": [ModelReply("", (ToolCall("c", "lookup", {"query": SECRET}),)), ModelReply("ok")]})
    runtime = replace(made.runtime, tool=lambda name, agent: lambda query: query)  # type: ignore[arg-type,return-value]
    asyncio.run(task_turn(runtime, TaskParent("parent", "Plan.", worker.tools), ParentScope("u", "s"), "hi"))
    assert made.watcher.named("log_line") == [
        ("parent", "failure agent=parent reason=tool_failed error=TypeError")
    ]


@given(st.text(max_size=80), st.text(max_size=80))
def test_of_an_error_at_most_the_name_of_its_type_is_shown(name: str, text: str) -> None:
    """A name that is no plain word, as only one made at run time can be, is not shown either."""
    kind = type("Error", (Exception,), {})
    kind.__name__ = name.replace("\0", "").encode("utf-8", "replace").decode()
    line = error_line("worker", "tool_failed", kind(text), text)
    assert re.fullmatch(r"failure agent=worker reason=tool_failed error=[A-Za-z_][A-Za-z0-9_]{0,59}", line)
