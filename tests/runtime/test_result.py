"""What goes up is short and closed: status, declared outputs, three sentences, references, reason codes."""

from __future__ import annotations

import asyncio
import json
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
from isolation_kit.runtime.text import encodable

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


TYPED = AllowList({"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}}})
SAID = {"answer": "x", "amount": 5, "debug": "SECRET"}
WHOLE = json.dumps(SAID)
BROKEN = (
    f"{WHOLE}{WHOLE}",
    f"{WHOLE} and so on",
    f"{WHOLE[:-1]},}}",
    f'{{"a": NaN, {WHOLE[1:]}',
    f'{{"answer": "y", {WHOLE[1:]}',
    WHOLE.replace('"', "'"),
    f"[{WHOLE}]",
    f"```json\n{WHOLE[:-1]}\n```",
    f"Here it is:\n```json\n{WHOLE}\n```\nDone.",
)


@pytest.mark.parametrize("outputs", [TYPED, AllowList(ANSWER)], ids=["typed", "answer"])
@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "~~~\n{}\n~~~\n", "\ufeff{}", " \n{}"])
def test_json_is_filtered_whatever_stands_around_it(outputs: AllowList, around: str) -> None:
    """A fence or a byte order mark makes no prose of it: the declared part goes up, the rest is reported."""
    result, dropped = result_of("t_1", around.replace("{}", WHOLE), outputs, 900, DIGEST)
    assert result.status is Status.SUCCEEDED
    assert result.key_outputs == {name: SAID[name] for name in outputs.names}
    assert "debug" in [item.path for item in dropped]
    assert "SECRET" not in repr(result)


@pytest.mark.parametrize("outputs", [TYPED, AllowList(ANSWER)], ids=["typed", "answer"])
@pytest.mark.parametrize("text", BROKEN)
def test_broken_json_is_no_prose(outputs: AllowList, text: str) -> None:
    """What ought to be JSON, or carries some, is refused with a code and not a word of it."""
    result, _ = result_of("t_1", text, outputs, 900, DIGEST)
    assert (result.status is Status.SUCCEEDED, result.errors) == (False, ("output_refused",))
    assert (result.summary, result.key_outputs) == ("", {})


@given(st.text(max_size=60))
def test_prose_goes_up_only_where_a_text_is_declared(text: str) -> None:
    """Of a child with typed outputs no word of its own arrives, nor does a summary."""
    result, _ = result_of("t_1", f"it said {text}", TYPED, 900, DIGEST)
    assert (result.summary, result.key_outputs) == ("", {})
    assert result.errors == (("output_refused",) if encodable(text) else ("not_utf8",))


@given(st.text('abc é張。.[]{}:"1', max_size=60))
def test_plain_prose_is_an_answer(text: str) -> None:
    """The clean twin: with the default outputs, words arrive as they were said."""
    said = f"it said {text}"
    assert result_of("t_1", said, AllowList(ANSWER), 900, DIGEST)[0].key_outputs == {"answer": said}


@pytest.mark.parametrize(
    ("spec_outputs", "changes", "errors"),
    [
        (ANSWER, {"key_outputs": {"answer": "x" * 201}}, ("result_refused",)),
        (ANSWER, {"key_outputs": {"answer": "x" * 200}}, ()),
        (TYPED.schema, {"key_outputs": {}}, ("result_refused",)),
        (TYPED.schema, {"key_outputs": {"amount": 1}}, ()),
        (TYPED.schema, {"key_outputs": {}, "status": "timeout", "errors": ["timeout"]}, ("timeout",)),
        (ANSWER, {"errors": ["timeout"] * 100}, ("result_refused",)),
        (ANSWER, {"artifacts": ["artifact_0123456789abcdef"] * 100}, ("result_refused",)),
    ],
    ids=["too long", "fits", "required missing", "required there", "failed", "errors", "references"],
)
def test_the_parent_bounds_what_comes_up(
    rig: Any, worker: ChildSpec, spec_outputs: Any, changes: dict[str, Any], errors: tuple[str, ...]
) -> None:
    """Whoever packed the result: a success holds what is required, and no list or text is without end."""
    parts = replace(CLEAN, pack_result=lambda result, memory: {**wire(**changes), "task_id": result.task_id})
    made = rig({"worker": [ModelReply("42")]}, parts=parts, limits=RunLimits(tool_output=200))
    assert run(made, replace(worker, outputs=spec_outputs)).errors == errors


def test_a_summary_of_what_no_text_was_declared_for_is_dropped(rig: Any, worker: ChildSpec) -> None:
    """It would be a free text beside typed outputs; the report names it."""
    packed = {"status": "succeeded", "key_outputs": {"amount": 1}, "summary": "SECRET"}
    parts = replace(CLEAN, pack_result=lambda result, memory: {**packed, "task_id": result.task_id})
    made = rig({"worker": [ModelReply("42")]}, parts=parts)
    result = run(made, replace(worker, outputs=TYPED.schema))
    assert (result.key_outputs, result.summary) == ({"amount": 1}, "")
    assert "'summary'" in repr(made.watcher.named("pollution"))


def test_an_object_beyond_all_limits_is_not_parsed() -> None:
    """Parsing it would hold up every agent of the process for seconds."""
    text = "{" + ",".join(f'"k{number}":0' for number in range(20_000)) + "}"
    result, dropped = result_of("t_1", text, OUTPUTS, 100, DIGEST)
    assert (result.errors, dropped) == (("too_large",), ())
