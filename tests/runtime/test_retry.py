"""Retries: which errors, how often, after which waits, and that each attempt starts from nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import ChildSpec, ModelReply, ParentScope, RunLimits, Status
from isolation_kit.runtime.attempts import attempted
from isolation_kit.runtime.clock import SteppedClock, SystemClock
from isolation_kit.runtime.failures import ErrorClass, Failure
from isolation_kit.runtime.retry import GIVE_UP, RETRY, Retries, decide

kinds = st.sampled_from(list(ErrorClass))
waits = st.lists(st.floats(0, 60), max_size=5).map(tuple)


@given(st.dictionaries(kinds, waits), kinds, st.integers(1, 8))
def test_the_decision_follows_the_data(table: dict[ErrorClass, Any], kind: ErrorClass, attempt: int) -> None:
    """An attempt is tried again exactly if a wait is listed for it, after that wait."""
    decision = decide(Retries(table), Failure(kind, "r"), attempt)
    listed = table.get(kind, ())
    assert (decision.chosen == RETRY) is (attempt <= len(listed))
    assert decision.wait == (listed[attempt - 1] if attempt <= len(listed) else 0)
    assert decision.chosen in decision.candidates
    assert (decision.attempt, decision.reason, decision.error_class) == (attempt, "r", kind)


def test_by_default_transient_errors_wait_1_3_and_9_seconds() -> None:
    """Article 003, 4.4; nothing else is tried again."""
    chosen = [decide(Retries(), Failure(ErrorClass.TRANSIENT, "r"), attempt) for attempt in (1, 2, 3, 4)]
    assert [decision.wait for decision in chosen] == [1, 3, 9, 0]
    assert chosen[-1].chosen == GIVE_UP
    for kind in set(ErrorClass) - {ErrorClass.TRANSIENT}:
        assert decide(Retries(), Failure(kind, "r"), 1).chosen == GIVE_UP


class _Flaky:
    """A model that fails so many times, with its own words, and then answers."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.requests: list[Any] = []

    async def reply(self, request: Any) -> ModelReply:
        self.requests.append(request)
        if len(self.requests) <= self.failures:
            raise RuntimeError("rate limit of account 77")
        return ModelReply("42")


def run(rig: Any, worker: ChildSpec, model: Any, task: str = "find") -> tuple[Any, Any, SteppedClock]:
    """The result of a task at `model`, the rig and the clock."""
    clock = SteppedClock()
    made = rig({}, limits=RunLimits(window=50))
    made = replace(made, runtime=replace(made.runtime, model=lambda agent: model, clock=clock))
    scope = ParentScope("u", "s")
    return asyncio.run(attempted(made.runtime, "parent", scope, worker, {"request": task})), made, clock


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_a_failing_model_is_asked_again(rig: Any, worker: ChildSpec, failures: int) -> None:
    """The result is the last attempt's; each decision was told before its wait."""
    result, made, clock = run(rig, worker, _Flaky(failures))
    assert result.status is Status.SUCCEEDED
    assert clock.slept == [1, 3, 9][:failures]
    told = [decision for _, decision in made.watcher.named("decided")]
    assert [(each.kind, each.attempt, each.reason, each.wait) for each in told] == [
        ("retry", number + 1, "model_failed", clock.slept[number]) for number in range(failures)
    ]


def test_the_fourth_failure_is_the_last(rig: Any, worker: ChildSpec) -> None:
    """Giving up is a decision too, and told."""
    model = _Flaky(9)
    result, made, _ = run(rig, worker, model)
    assert (result.status, result.errors, len(model.requests)) == (Status.FAILED, ("model_failed",), 4)
    assert made.watcher.named("decided")[-1][1].kind == GIVE_UP


def test_a_retry_sends_the_same_cut_brief_to_a_fresh_child(rig: Any, worker: ChildSpec) -> None:
    """Every attempt's bytes and first request are equal: never uncut, and nothing of the attempt before."""
    model = _Flaky(3)
    _, made, _ = run(rig, worker, model, "x" * 500)
    down = [args[2] for args in made.watcher.named("context_crossed") if args[1] == "down"]
    assert len(down) == 4
    assert len(set(down)) == 1
    assert b"[cut " in down[0]
    assert all(request.messages == model.requests[0].messages for request in model.requests)
    assert "account 77" not in repr(made.watcher.named("log_line"))


@pytest.mark.parametrize("task", ["a\ud83d"])
def test_a_refused_brief_is_not_sent_again(rig: Any, worker: ChildSpec, task: str) -> None:
    """A permanent error costs no wait and no second child."""
    result, made, clock = run(rig, worker, _Flaky(0), task)
    assert result.status is Status.REFUSED
    assert clock.slept == []
    ((_, decision),) = made.watcher.named("decided")
    assert (decision.kind, decision.error_class) == (GIVE_UP, "permanent")


def test_a_cancelled_wait_starts_no_further_child(rig: Any, worker: ChildSpec) -> None:
    """Whoever cancels the turn during a wait is obeyed."""
    model = _Flaky(9)
    made = rig({})
    runtime = replace(made.runtime, model=lambda agent: model, clock=SystemClock())

    async def scene() -> None:
        task = attempted(runtime, "parent", ParentScope("u", "s"), worker, {"request": "find"})
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(task, 0.05)

    asyncio.run(scene())
    assert len(model.requests) == 1


def test_the_system_clock_moves_on() -> None:
    """It waits at least as long as it was told."""
    clock = SystemClock()
    began = clock.now()
    asyncio.run(clock.sleep(0.01))
    assert clock.now() - began >= 0.01
