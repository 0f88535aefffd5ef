"""What goes up is short and closed: status, declared outputs, three sentences, references, reason codes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolation_kit.runtime import (
    CLEAN,
    AllowList,
    ChildSpec,
    Message,
    ModelReply,
    ParentScope,
    RunLimits,
    Status,
    SubAgentResult,
    delegate,
    keyed_digest,
)
from isolation_kit.runtime.result import ANSWER, Reason, envelope, result_of, summarise

Use = Callable[..., ModelReply]
DIGEST = keyed_digest(b"k")
ENVELOPE = AllowList(envelope(ANSWER))
OUTPUTS = AllowList({"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}})


def run(made: Any, spec: ChildSpec) -> Any:
    """One delegation."""
    return asyncio.run(delegate(made.runtime, ParentScope("u", "s"), spec, {"request": "find it"}))


def wire(**changes: Any) -> dict[str, Any]:
    """A result's JSON values with `changes`."""
    return {**SubAgentResult("t_1", Status.SUCCEEDED, {"answer": "a"}).to_dict(), **changes}


@given(st.text(max_size=30))
def test_a_childs_own_words_are_no_error(text: str) -> None:
    """An error outside the enumeration breaks the contract; each code inside it does not."""
    assert (ENVELOPE.problem(wire(errors=[text])) == "") is (text in set(Reason))
    assert all(ENVELOPE.problem(wire(errors=[str(reason)])) == "" for reason in Reason)


@given(st.text(max_size=30))
def test_a_childs_own_words_are_no_reference(text: str) -> None:
    """An artifact is a reference or nothing."""
    assert ENVELOPE.problem(wire(artifacts=[text])) != ""
    assert ENVELOPE.problem(wire(artifacts=["artifact_0123456789abcdef"])) == ""


def _last_messages(field: str) -> Callable[[SubAgentResult, list[Message]], Mapping[str, Any]]:
    """Article 003, 4.2: the runner's last five messages go up with the failure."""

    def packed(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        last = [message.content for message in memory[-5:]]
        return {**result.to_dict(), field: last}

    return packed


def _debug_info(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
    """Article 003, 4.4: the last action and the tool results go up with the failure."""
    return {**result.to_dict(), "agent_debug_info": {"tool_results": memory[-1].content}}


@pytest.mark.parametrize(
    ("pack", "errors"),
    [
        (CLEAN.pack_result, ("round_limit",)),
        (_last_messages("messages"), ("round_limit",)),
        (_debug_info, ("round_limit",)),
        (_last_messages("errors"), ("result_refused",)),
        (_last_messages("artifacts"), ("result_refused",)),
    ],
    ids=["clean", "messages", "agent_debug_info", "in errors", "in artifacts"],
)
def test_the_error_path_sends_up_a_reason_only(
    rig: Any, worker: ChildSpec, calls: Use, pack: Any, errors: tuple[str, ...]
) -> None:
    """The articles' own ways of sending scratch work up with a failure all end at the bridge."""
    replies = [calls(number, query=f"q{number}") for number in range(9)]
    parts = replace(CLEAN, pack_result=pack)
    made = rig({"worker": replies}, '{"note": "raw reply"}', parts, RunLimits(rounds=4))
    result = run(made, worker)
    assert result.errors == errors
    assert "raw reply" not in repr(result)
    assert "thinking" not in repr(result)
    undeclared = pack not in (CLEAN.pack_result,) and errors == ("round_limit",)
    assert bool(made.watcher.named("pollution")) is undeclared


@pytest.mark.parametrize(
    "changes",
    [{"summary": "word " * 100}, {"task_id": "t_of_another"}, {"status": "splendid"}],
    ids=["long summary", "another's task", "status"],
)
def test_a_result_outside_its_contract_is_refused(
    rig: Any, worker: ChildSpec, changes: dict[str, Any]
) -> None:
    """Summary discipline and identity are checked at the parent's end, whoever packed the result."""
    parts = replace(CLEAN, pack_result=lambda result, memory: {**result.to_dict(), **changes})
    assert run(rig({"worker": [ModelReply("42")]}, parts=parts), worker).errors == ("result_refused",)


@settings(deadline=None)
@given(st.text(max_size=900))
def test_a_summary_is_at_most_200_characters_and_three_sentences(text: str) -> None:
    """Of any text; and summing up again changes nothing that is short already."""
    short = summarise(text)
    assert len(short) <= 200
    assert len(re.findall("[。！？]+", short)) <= 3
    assert summarise(short) == short or len(text) > 200


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("One. Two! Three? Four.", "One. Two! Three?"),
        ("一。二！三？四。", "一。二！三？"),
        ("It is 3.14, 2.71 and 1.41 in all.", "It is 3.14, 2.71 and 1.41 in all."),
        ("See a.example.org/x.html", "See a.example.org/x.html"),
        ('He said "no." Then "yes." Then left. Bye.', 'He said "no." Then "yes." Then left.'),
    ],
    ids=["latin", "chinese", "numbers", "address", "quotes"],
)
def test_a_summary_ends_with_a_sentence(text: str, short: str) -> None:
    """A point between digits or letters ends none."""
    assert summarise(text) == short


def test_outputs_that_break_their_schema_need_review() -> None:
    """None of them goes up."""
    result, _ = result_of("t_1", '{"debug": 1}', OUTPUTS, 100, DIGEST)
    assert (result.status, result.errors) == (Status.NEEDS_REVIEW, ("output_refused",))
    assert not result.key_outputs


def test_a_failure_without_outputs_keeps_to_the_contract() -> None:
    """Required outputs are required of a success: else a timeout would read as a broken result."""
    failed = SubAgentResult("t_1", Status.TIMEOUT, errors=(Reason.TIMEOUT,)).to_dict()
    assert AllowList(envelope(OUTPUTS.schema)).problem(failed) == ""


def test_an_object_that_is_too_large_stays_below_where_nothing_is_shelved() -> None:
    """It cannot be cut rightly, so a reason goes up."""
    result, _ = result_of("t_1", f'{{"answer": "{"x" * 500}"}}', OUTPUTS, 100, DIGEST)
    assert (result.status, result.errors, dict(result.key_outputs)) == (
        Status.NEEDS_REVIEW,
        ("too_large",),
        {},
    )
