"""Why a child did not start is told: when the parent is made, in the log, to who watches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.errors import UsageError
from isolation_kit.runtime import (
    CLEAN,
    ByTask,
    ChildSpec,
    Contract,
    ContractError,
    MemoryStore,
    ModelReply,
    ParentScope,
    RulesParent,
    TaskParent,
    delegate,
    keyed_digest,
    task_tool,
)
from isolation_kit.runtime.brief import BriefError
from isolation_kit.runtime.observe import read_decisions, watch
from isolation_kit.targets.reference import BILL_QUERY, PDF_EXPORT, RULES

DIGEST = keyed_digest(b"test")
BROKEN = Contract(8000, {}, 3000, 1, "INFO")


def refuse(rig: Any, spec: ChildSpec, task: str, **more: Any) -> Any:
    """A rig after one delegation that was refused."""
    made = rig({"worker": [ModelReply("42")]}, **more)
    scope = ParentScope("u", "s")
    assert asyncio.run(delegate(made.runtime, scope, spec, {"request": task})).status == "refused"
    return made


@pytest.mark.parametrize(
    ("change", "task", "told"),
    [
        ({"contract": BROKEN}, "find", "reason=contract_refused: the contract's memory_limit_mb breaks"),
        ({}, "secret-7 \ud800", "reason=brief_refused: inputs.request holds a lone surrogate"),
    ],
    ids=["contract", "brief"],
)
def test_a_refusal_is_logged_with_field_and_rule(
    rig: Any, worker: ChildSpec, caplog: pytest.LogCaptureFixture, change: Any, task: str, told: str
) -> None:
    """One ERROR line, no value; the watcher hears the same line."""
    made = refuse(rig, replace(worker, **change), task)
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert told in record.getMessage()
    assert made.watcher.named("log_line") == [("worker", record.getMessage())]
    assert "secret-7" not in caplog.text


def test_a_request_that_the_bridge_refuses_is_logged(rig: Any, worker: ChildSpec) -> None:
    """A child whose schema asks for what its parent does not hand down: the rule is named."""
    schema = {**worker.inputs, "required": ["request", "bill_id"]}
    made = refuse(rig, replace(worker, inputs=schema), "find")
    ((_, line),) = made.watcher.named("log_line")
    assert line.startswith("refused agent=worker reason=request_refused: ")
    assert "required" in line


def test_the_decision_log_records_a_refusal(rig: Any, worker: ChildSpec, tmp_path: Path) -> None:
    """Who was refused and why, in the words of the kit; the reader gives it back."""
    with watch(tmp_path, (worker,), DIGEST) as watching:
        runtime = replace(rig({}).runtime, hooks=watching.hooks)
        spec = replace(worker, contract=BROKEN)
        asyncio.run(delegate(runtime, ParentScope("u", "s"), spec, {"request": "x"}))
    (line,) = read_decisions(tmp_path / "decisions.jsonl")
    assert (line.decision.kind, line.decision.candidates) == ("refuse", ("worker",))
    assert "memory_limit_mb" in line.decision.reason


def test_a_seam_of_ones_own_may_refuse_as_well(rig: Any, worker: ChildSpec) -> None:
    """Its reason reaches the log too."""

    def refusing(*_: Any) -> Any:
        raise BriefError("the goal names no bill")

    made = refuse(rig, worker, "x", parts=replace(CLEAN, write_brief=refusing))
    assert "the goal names no bill" in made.watcher.named("log_line")[0][1]


def _by_task(spec: ChildSpec) -> Any:
    return TaskParent("parent", "Plan.", (), {"task": (task_tool("Delegate."), spec)})


def _by_rules(spec: ChildSpec) -> Any:
    children = {"bill_query": replace(spec, name="bill_query"), "pdf_export": PDF_EXPORT}
    return RulesParent("parent", RULES, children, MemoryStore())


@pytest.mark.parametrize("make", [_by_task, _by_rules, ByTask], ids=["task", "rules", "layer"])
def test_a_child_that_could_not_start_is_refused_when_its_parent_is_made(
    make: Callable[[ChildSpec], Any],
) -> None:
    """Before the first turn, with child and parameter; a sound one passes."""
    make(BILL_QUERY)
    for broken in (BROKEN, replace(BILL_QUERY.contract, allowed_fields={"other": {"type": "object"}})):
        with pytest.raises(ContractError, match=r"'bill_query' could not start: .*(memory_|allowed_f)"):
            make(replace(BILL_QUERY, contract=broken))


def test_a_delegation_under_another_name_than_its_tools_is_refused(worker: ChildSpec) -> None:
    """The model calls the tool's name: by another key no call would ever find its child."""
    with pytest.raises(UsageError, match="delegates by 'ask', but that tool is named 'task'"):
        TaskParent("parent", "Plan.", (), {"ask": (task_tool("Delegate."), worker)})
    TaskParent("parent", "Plan.", (), {"ask": (task_tool("Delegate.", "ask"), worker)})


def test_two_tools_of_one_name_are_refused(worker: ChildSpec) -> None:
    """A basic tool and a delegating one: a call could mean either."""
    named = worker.tools[0].name
    with pytest.raises(UsageError, match="two tools of one name"):
        TaskParent("parent", "Plan.", worker.tools, {named: (task_tool("Delegate.", named), worker)})
