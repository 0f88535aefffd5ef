"""All observers through whole turns: both parents, a tree, a child in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.errors import UsageError
from isolation_kit.runtime import (
    ChildSpec,
    MemoryStore,
    ModelReply,
    ParentScope,
    RulesParent,
    Runtime,
    TaskParent,
    delegate,
    keyed_digest,
    rules_turn,
    task_tool,
    task_turn,
)
from isolation_kit.runtime.observe import read_decisions, read_snapshots, read_traces, watch
from isolation_kit.runtime.process import ProcessHost
from isolation_kit.targets.reference import BILL_QUERY, PDF_EXPORT, RULES

DIGEST = keyed_digest(b"test")
Calls = Callable[..., ModelReply]


def test_a_turn_of_the_task_parent_is_one_trace(
    rig: Any, worker: ChildSpec, calls: Calls, tmp_path: Path
) -> None:
    """Turn, states, model calls, the delegation and its calls; the decision has the trace's id."""
    parent = TaskParent("parent", "Plan.", (), {"task": (task_tool("Delegate."), worker)})
    scripts = {
        "parent": [calls(tool="task", task="find it"), ModelReply("here")],
        "worker": [calls(), ModelReply("42")],
    }
    with watch(tmp_path, (worker,), DIGEST, parents=("parent",), share=1.0) as watching:
        runtime = replace(rig(scripts).runtime, hooks=watching.hooks)
        asyncio.run(task_turn(runtime, parent, ParentScope("u", "s"), "please"))
    (trace,) = read_traces(tmp_path / "traces.jsonl")
    kinds = [span.kind for span in trace.spans]
    assert [kinds.count(kind) for kind in ("turn", "delegation", "model", "tool")] == [1, 1, 4, 1]
    assert not trace.failed
    assert [line.trace_id for line in read_decisions(tmp_path / "decisions.jsonl")] == [trace.trace_id]
    assert watching.lost == 0


def test_a_turn_of_the_rules_parent_is_one_trace(rig: Any, tmp_path: Path) -> None:
    """Two tasks in one turn: two delegations, two decisions with the rule's name, states with durations."""
    specs = (BILL_QUERY, PDF_EXPORT)
    parent = RulesParent("parent", RULES, {spec.name: spec for spec in specs}, MemoryStore())
    rules = tuple(rule.name for rule in RULES)
    with watch(tmp_path, specs, DIGEST, parents=("parent",), names=rules, share=1.0) as watching:
        made = rig({"bill_query": [ModelReply("42")], "pdf_export": [ModelReply("file")]})
        runtime = replace(made.runtime, hooks=watching.hooks)
        text = "查张伟的账单 编号A1，导出李娜的账单 编号B2"
        asyncio.run(rules_turn(runtime, parent, ParentScope("u", "s"), text))
    (trace,) = read_traces(tmp_path / "traces.jsonl")
    assert [span.agent for span in trace.spans if span.kind == "delegation"] == ["bill_query", "pdf_export"]
    decisions = [line.decision for line in read_decisions(tmp_path / "decisions.jsonl")]
    assert [(each.chosen, each.reason) for each in decisions if each.kind == "route"] == [
        ("bill_query", "query"),
        ("pdf_export", "export"),
    ]
    assert watching.metrics.turns.quantile(0.95) is not None
    assert watching.lost == 0
    assert "张伟" not in "".join(path.read_text() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "kept"), [("你好", []), ("查张伟的账单 编号A1", [True])], ids=["no rule", "failed"]
)
def test_a_turn_without_a_rule_is_no_failure(rig: Any, tmp_path: Path, text: str, kept: list[bool]) -> None:
    """Users say much that no rule is for: it is sampled like what went well, and a failing child is not."""
    specs = (BILL_QUERY, PDF_EXPORT)
    parent = RulesParent("parent", RULES, {spec.name: spec for spec in specs}, MemoryStore())
    with watch(tmp_path, specs, DIGEST, parents=("parent",), share=0.0) as watching:
        made = rig({"bill_query": [ModelReply('{"answer": "\ud800"}')]})
        runtime = replace(made.runtime, hooks=watching.hooks)
        asyncio.run(rules_turn(runtime, parent, ParentScope("u", "s"), text))
    assert [trace.failed for trace in read_traces(tmp_path / "traces.jsonl")] == kept
    assert 'state="error"' in watching.metrics.text()


def test_the_folder_is_made_for_its_owner_alone(worker: ChildSpec, tmp_path: Path) -> None:
    """Mode 0700; one that was there keeps its mode; a file in its place is refused with the way out."""
    with watch(tmp_path / "a" / "observed", (worker,), DIGEST):
        assert (tmp_path / "a" / "observed").stat().st_mode & 0o777 == 0o700
    (tmp_path / "open").mkdir(mode=0o755)
    with watch(tmp_path / "open", (worker,), DIGEST):
        assert (tmp_path / "open").stat().st_mode & 0o777 == 0o755
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be made"), watch(tmp_path / "file", (worker,), DIGEST):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="child processes need Linux")
def test_a_child_in_its_own_process_is_watched_as_one_in_this(
    rig: Any, worker: ChildSpec, calls: Calls, tmp_path: Path
) -> None:
    """The same moments in the same order, the same spans, none lost."""
    seen = []

    async def both(runtime: Runtime) -> None:
        async with ProcessHost() as host:
            for launch in (runtime.launch, host.launch):
                scripted = rig({"worker": [calls(), ModelReply("42")]}).runtime
                apart = replace(scripted, hooks=runtime.hooks, launch=launch)
                await delegate(apart, ParentScope("u", "s"), worker, {"request": "find it"})

    with watch(tmp_path, (worker,), DIGEST, share=1.0) as watching:
        asyncio.run(both(replace(rig({}).runtime, hooks=watching.hooks)))
    shots = read_snapshots(tmp_path / "snapshots.jsonl")
    for trace in read_traces(tmp_path / "traces.jsonl"):
        mine = [(shot.moment, shot.way, shot.size) for shot in shots if shot.trace_id == trace.trace_id]
        seen.append((mine, [(span.kind, span.status, span.tokens) for span in trace.spans]))
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert 2**20 < (watching.metrics.memory.highest or 0) < 128 * 2**20
    assert watching.lost == 0
