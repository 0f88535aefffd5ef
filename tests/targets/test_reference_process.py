"""The reference targets with each child a process of its own: same trace, green audit, leaks still seen."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.oracles import all_oracles, drive
from isolation_kit.policy import Policy
from isolation_kit.runtime import CLEAN, Parts
from isolation_kit.runtime.process.control import available
from isolation_kit.scenario import Answer, Delegate, Place, Say, Scenario, TurnPlan, UseTool
from isolation_kit.stage import Ledger, Runner
from isolation_kit.target import declaration_of
from isolation_kit.targets import reference, reference_process
from isolation_kit.targets.reference import make_reference_task
from isolation_kit.targets.reference_process import HostOfThread
from isolation_kit.trace import Trace

pytestmark = pytest.mark.skipif(bool(available()), reason=available() or "-")
ROOT = Path(__file__).parents[2]


def turn(index: int) -> TurnPlan:
    """The turn of a user of its own, with something planted on each side of the boundary."""

    def at(slot: str) -> str:
        return Place(slot, index, 0, index, 0).placeholder

    raw = f'{{"amount": 5, "description": "{at("child.tool.result")}", "debug": "{at("child.tool.noise")}"}}'
    child = (Say(f"think {at('child.text')}"), UseTool(0, "q", raw), Answer(f"It is {at('child.answer')}"))
    acts = (Say(f"plan {at('parent.text')}"), Delegate(0, at("task.input"), child), Answer("ok"))
    return TurnPlan(index, f"hello {at('user.current')}", acts, "s", 0)


def case() -> Scenario:
    """Two users, one after the other."""
    turns = (turn(0), turn(1))
    return Scenario("unit", "unit", 1, turns, users=("agent_1", "acme"), subjects=("张伟", "李娜"))


def traced(target: Any) -> Trace:
    """The trace of the case on `target`."""
    runner = Runner(declaration_of(target), Ledger(5))
    try:
        return runner.execute(case())
    finally:
        runner.close()


@pytest.mark.parametrize("name", ["reference_task", "reference_rules"])
def test_both_levels_leave_the_same_trace(name: str) -> None:
    """Wherever the child lives, the same bytes pass the same taps in the same order."""
    inline, process = (
        [(event.channel, event.agent, event.data) for event in traced(target).events]
        for target in (getattr(reference, name), getattr(reference_process, f"{name}_process"))
    )
    assert inline == process


def leaky() -> Parts:
    """A seam of the parent's that hands its metadata to the child's model."""
    return replace(CLEAN, child_headers=lambda brief, scope: scope.metadata)


@pytest.mark.parametrize(("parts", "leaks"), [(lambda: CLEAN, False), (leaky, True)], ids=["clean", "leaky"])
def test_a_leak_is_seen_across_the_process_boundary(parts: Callable[[], Parts], leaks: bool) -> None:
    """The same case is silent on the clean target and a finding on its leaky twin."""
    target = make_reference_task(parts, "twin", HostOfThread().launch)
    trace = traced(target)
    canary = next(oracle for oracle in all_oracles() if oracle.name == "canary")
    judged = drive(canary, case(), declaration_of(target), Policy(), lambda variant: trace)
    assert any(finding.counts for finding in judged.findings) is leaks


def test_the_audit_is_green_at_this_level(tmp_path: Path) -> None:
    """`isolation-process.toml` at 10 cases an item passes on both targets."""
    options = ["--isolation-cases", "10", "--isolation-report", f"json:{tmp_path / 'report.json'}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--isolation", ROOT / "isolation-process.toml", *options],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "8 passed" in done.stdout
