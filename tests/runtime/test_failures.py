"""Errors of children: classed by the parent, told in its own words, whatever the child wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import (
    CLEAN,
    AllowList,
    MemoryStore,
    ModelReply,
    ParentScope,
    Parts,
    RulesParent,
    Status,
    SubAgentResult,
    TaskParent,
    ToolCall,
    parent_rules,
    rules_turn,
    task_tool,
    task_turn,
)
from isolation_kit.runtime.bridge import decode_result
from isolation_kit.runtime.failures import (
    UNCLASSIFIED,
    ErrorClass,
    Language,
    failure_of,
    reported,
    told,
)
from isolation_kit.runtime.result import Reason
from isolation_kit.runtime.text import Digest
from isolation_kit.targets.reference import BILL_QUERY, PDF_EXPORT, RULES

SECRET = "card 4929-1122"
KNOWN = [str(reason) for reason in Reason]

failed = st.sampled_from([status for status in Status if status is not Status.SUCCEEDED])
errors = st.lists(st.one_of(st.text(min_size=1), st.sampled_from(KNOWN)), max_size=5).map(tuple)


def result(status: Status, *reasons: str) -> SubAgentResult:
    """A result with a secret in every text that a child can fill."""
    return SubAgentResult("t_1", status, {"answer": SECRET}, SECRET, (SECRET,), reasons)


@given(failed, errors)
def test_of_all_that_a_child_says_at_most_one_known_code_passes(
    status: Status, said: tuple[str, ...]
) -> None:
    """The parent's reason is of its own list, and every word about it is out of its own table."""
    failure = failure_of(result(status, *said))
    assert failure is not None
    assert failure.reason in (set(said) & set(KNOWN) or {UNCLASSIFIED})
    fixed = {
        told(failure_of(result(Status.FAILED, code)), language)  # type: ignore[arg-type]
        for code in [*KNOWN, "?"]
        for language in Language
    }
    assert {told(failure, language) for language in Language} <= fixed


@given(st.sampled_from([Status.FAILED, Status.TIMEOUT, Status.KILLED, Status.REFUSED]), errors)
def test_the_planning_model_gets_codes_of_a_failure(status: Status, said: tuple[str, ...]) -> None:
    """Status, class and code: no output, no summary, no reference of what failed."""
    report = reported(result(status, *said))
    assert set(report) == {"status", "class", "reason"}
    assert report["reason"] in {*KNOWN, UNCLASSIFIED}
    assert report["class"] in set(ErrorClass)


def test_a_success_is_reported_as_declared_and_its_errors_are_not_read() -> None:
    """A child that succeeds has no use for the error channel."""
    report = reported(result(Status.SUCCEEDED, "psst"))
    assert report == {
        "status": "succeeded",
        "key_outputs": {"answer": SECRET},
        "summary": SECRET,
        "artifacts": [SECRET],
    }


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("language", Language)
def test_every_reason_has_a_class_and_words(reason: Reason, language: Language) -> None:
    """A new reason without a class would be told as if nobody knew it."""
    failure = failure_of(SubAgentResult("", Status.FAILED, errors=(reason,)))
    assert failure is not None
    assert failure.kind is not ErrorClass.UNCLASSIFIED
    assert str(reason) not in told(failure, language)
    assert told(failure, language).isascii() is (language is Language.ENGLISH)


# -- through both parents --------------------------------------------------------------------------------


def hostile(**seams: Any) -> Parts:
    """The seams of a runtime whose bridge lets a child's free text through as errors."""

    def read_all(up: bytes, fields: AllowList, digest: Digest) -> Any:
        honest, dropped = decode_result(up, fields, digest)
        return replace(result(Status.FAILED, SECRET), task_id=honest.task_id), dropped

    return replace(CLEAN, read_result=read_all, **seams)


def heard_by_rules(rig: Any, parts: Any) -> str:
    """The answer of the rules parent to a task whose child fails."""
    made = rig({"bill_query": [ModelReply("x")]}, parts=parts)
    children = {spec.name: spec for spec in (BILL_QUERY, PDF_EXPORT)}
    parent = RulesParent("parent", RULES, children, MemoryStore())
    return asyncio.run(rules_turn(made.runtime, parent, ParentScope("u", "s"), "查张伟的账单 编号〔zhang1〕"))


def seen_by_model(rig: Any, worker: Any, parts: Any) -> str:
    """All that the parent's model is sent around a task whose child fails."""
    ask = ModelReply("", (ToolCall("c", "task", {"task": "find"}),))
    made = rig({"parent": [ask, ModelReply("sorry")], "worker": [ModelReply("x")]}, parts=parts)
    parent = TaskParent("parent", "Plan.", (), {"task": (task_tool("Delegate."), worker)})
    asyncio.run(task_turn(made.runtime, parent, ParentScope("u", "s"), "hello"))
    return repr([request.messages for request in made.scripts["parent"].requests])


def test_a_childs_own_words_reach_neither_user_nor_planning_context(rig: Any, worker: Any) -> None:
    """The bridge lets all through, and the parent still says its own words only."""
    assert heard_by_rules(rig, hostile()) == "张伟: 处理出错，请稍后再试。"
    seen = seen_by_model(rig, worker, hostile())
    assert UNCLASSIFIED in seen
    assert SECRET not in seen


def test_a_raw_error_in_the_planning_context_is_seen(rig: Any, worker: Any) -> None:
    """The leaky twin hands the errors on as they came."""
    leaky: Callable[[SubAgentResult], dict[str, Any]] = SubAgentResult.to_dict
    assert SECRET in seen_by_model(rig, worker, hostile(report=leaky))


def test_a_raw_error_told_to_the_user_is_seen(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leaky twin joins the errors into its sentence, as this parent once did."""

    def raw(task: Any, result: Any, language: Language) -> str:
        return f"{result.status} ({', '.join(result.errors)})"

    monkeypatch.setattr(parent_rules, "_line", raw)
    assert SECRET in heard_by_rules(rig, hostile())
