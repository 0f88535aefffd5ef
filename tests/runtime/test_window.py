"""The window: the built context fits it, fields are cut in order, nothing spills and nothing comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isolation_kit.runtime import (
    BriefError,
    ChildSpec,
    ModelReply,
    ParentScope,
    TaskBrief,
    ToolSpec,
    build_child_context,
    delegate,
)
from isolation_kit.runtime.fields import AllowList
from isolation_kit.runtime.tokens import utf8_ceiling
from isolation_kit.runtime.window import Room, fitted_brief, most_bytes

TOOL = ToolSpec("lookup", "Look it up.", fields=AllowList({"type": "object", "properties": {}}))
texts = st.builds(
    lambda atom, count: atom * count, st.sampled_from(["a", "账", "👩‍👩‍👧", '"', "\n"]), st.integers(1, 300)
)
briefs = st.builds(
    lambda goal, one, two, rule, constants: TaskBrief(
        "t_1",
        goal,
        {"one": one, "two": two, "bill_id": "U_8a3f"},
        constraints=(rule,),
        global_context=constants,
    ),
    *[texts] * 5,
)


def used(brief: TaskBrief) -> int:
    """The tokens that the context of `brief` takes."""
    room = Room(0, (TOOL,), utf8_ceiling)
    room.take(*build_child_context(brief))
    return -room.left


def free_texts(brief: TaskBrief) -> list[str]:
    """In the order in which they are cut; inputs by size, as the rule says."""
    inputs = sorted((text for name, text in brief.inputs.items() if name != "bill_id"), key=utf8_ceiling)
    return [*reversed(inputs), brief.global_context, brief.goal, *brief.constraints]


@settings(max_examples=60)
@given(briefs, st.integers(720, 4000))
def test_the_built_context_fits_or_the_child_is_refused(brief: TaskBrief, size: int) -> None:
    """What is counted is what is sent, with its JSON escapes, frames and tools; it stays valid JSON."""
    fitted = fitted_brief(brief, (TOOL,), size, utf8_ceiling)
    assert used(fitted) <= size
    system, user = build_child_context(fitted)
    assert json.loads(system.content.split("\n", 1)[1])["goal"] == fitted.goal
    assert json.loads(user.content) == fitted.inputs
    assert fitted.inputs["bill_id"] == "U_8a3f"


@settings(max_examples=60)
@given(briefs, st.integers(720, 4000))
def test_no_more_is_cut_than_must_be_and_in_order(brief: TaskBrief, size: int) -> None:
    """Before a field is touched, all that come before it are down to their last 64 tokens."""
    fitted = fitted_brief(brief, (TOOL,), size, utf8_ceiling)
    touched = [a != b for a, b in zip(free_texts(brief), free_texts(fitted), strict=True)]
    if used(brief) <= size:
        assert fitted is brief
        return
    last = max(place for place, was in enumerate(touched) if was)
    earlier = [t for name, t in fitted.inputs.items() if name != "bill_id"] if last > 1 else []
    earlier += [fitted.global_context] if last > 2 else []
    earlier += [fitted.goal] if last > 3 else []
    assert all(len(json.dumps(text, ensure_ascii=False).encode()) <= 64 for text in earlier)


@settings(max_examples=60)
@given(briefs, st.integers(720, 4000))
def test_a_retry_sends_the_cut_text(brief: TaskBrief, size: int) -> None:
    """Cut once, cut for good."""
    fitted = fitted_brief(brief, (TOOL,), size, utf8_ceiling)
    assert fitted_brief(fitted, (TOOL,), size, utf8_ceiling) is fitted


@settings(max_examples=60)
@given(briefs)
def test_constraints_are_cut_last(brief: TaskBrief) -> None:
    """A rule of safety is whole as long as anything else can give way."""
    over = used(brief) - used(replace(brief, inputs={**brief.inputs, "one": "x", "two": "x"}))
    assume(over > 200)
    fitted = fitted_brief(brief, (TOOL,), used(brief) - over // 4, utf8_ceiling)
    assert (fitted.goal, fitted.constraints) == (brief.goal, brief.constraints)
    assert fitted.global_context == brief.global_context


def test_what_cannot_fit_is_refused_without_its_text() -> None:
    """Fixed parts that are larger than the window cannot be cut away."""
    brief = TaskBrief("t_1", "SECRET " * 99, {"one": "SECRET " * 99}, acceptance=("SECRET " * 99,))
    with pytest.raises(BriefError, match="context_window_size allows 300") as caught:
        fitted_brief(brief, (TOOL,), 300, utf8_ceiling)
    assert "SECRET" not in str(caught.value)


def test_a_counter_of_ones_own_decides(rig: Callable[..., Any], worker: ChildSpec) -> None:
    """What the default would cut, a counter that knows the model leaves whole."""
    made = rig({"worker": [ModelReply("done")]})
    text = "x" * 3000
    small = replace(worker, contract=replace(worker.contract, context_window_size=1500))
    for count, whole in ((utf8_ceiling, False), (lambda part, /: len(part) // 4, True)):
        runtime = replace(made.runtime, count=count)
        asyncio.run(delegate(runtime, ParentScope("u", "s"), small, {"request": text}))
        sent = json.loads(made.scripts["worker"].requests[-1].messages[1].content)["request"]
        assert (sent == text) is whole
        assert whole or (sent.startswith("xxx") and "…[cut " in sent)


@pytest.mark.parametrize(("size", "seen"), [(2000, False), (8000, True)], ids=["full", "room"])
def test_a_reply_that_has_no_room_is_not_sent(
    rig: Callable[..., Any], worker: ChildSpec, calls: Callable[..., ModelReply], size: int, seen: bool
) -> None:
    """The model reads a reason instead, and no request is ever larger than the window."""
    made = rig({"worker": [calls(), ModelReply("done")]}, json.dumps({"note": "n" * 2000}))
    tight = replace(worker, contract=replace(worker.contract, context_window_size=size))
    result = asyncio.run(delegate(made.runtime, ParentScope("u", "s"), tight, {"request": "x"}))
    reply = made.scripts["worker"].requests[1].messages[-1].content
    assert result.status == "succeeded"
    assert (reply == '{"error":"window_full"}') is not seen
    assert ("nnn" in reply) is seen


def test_a_child_that_fills_its_window_ends(
    rig: Callable[..., Any], worker: ChildSpec, calls: Callable[..., ModelReply]
) -> None:
    """Its own words count too; a reason goes up and none of them."""
    talk = [replace(calls(n, query=f"q{n}"), text="SECRET " * 99) for n in range(9)]
    made = rig({"worker": talk})
    tight = replace(worker, contract=replace(worker.contract, context_window_size=2000))
    result = asyncio.run(delegate(made.runtime, ParentScope("u", "s"), tight, {"request": "x"}))
    assert (result.status, result.errors) == ("needs_review", ("window_full",))
    assert "SECRET" not in str(result)
    for request in made.scripts["worker"].requests:
        room = Room(2000, request.tools, utf8_ceiling)
        room.take(*request.messages)
        assert room.left >= 0


@settings(max_examples=60)
@given(briefs)
def test_no_brief_takes_more_than_its_bound(brief: TaskBrief) -> None:
    """A brief that is passed without building its context would have fitted."""
    assert used(brief) <= most_bytes(brief, (TOOL,))
