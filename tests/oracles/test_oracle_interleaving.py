"""Interleaving: users get among others what they get alone; what overwrites, mixes or drops is found."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tiny_target import Message, full_case, tiny, two_users

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.mutants import leaky
from isolation_kit.oracles.interleaving import schedules
from isolation_kit.policy import Policy
from isolation_kit.runtime import CLEAN
from isolation_kit.scenario import Break, Breaking, Order, Scenario, Schedule, Temperament
from isolation_kit.stage import ModelCall, Stage
from isolation_kit.target import Agent, Turn, Via, target

Judge = Callable[..., Judgement]
CASE = replace(two_users(), seed=1 << 47)  # as a census draws it: three schedules, not all


def found(judgement: Judgement) -> set[tuple[str, str, str, str]]:
    """Slot, channel, direction and kind of every finding."""
    return {
        (f.fingerprint.what, f.fingerprint.channel, f.fingerprint.direction, f.kind)
        for f in judgement.findings
    }


def current_task(leaks: bool = True, **more: Any) -> Any:
    """A result that quotes the task which was last begun; its clean twin quotes the child's own."""
    current = [""]

    def brief(task: str, history: list[str]) -> str:
        current[0] = task
        return task

    def result(answer: str, work: list[Message]) -> dict[str, str]:
        return {"answer": f"{current[0] if leaks else work[0]['content']}: {answer}"}

    return tiny(brief=brief, result=result, **more)


def one_at_a_time() -> Any:
    """A child that is given nothing to do while another one works."""
    working = [0]

    def brief(task: str, history: list[str]) -> str:
        working[0] += 1
        return task if working[0] == 1 else "busy"

    def result(answer: str, work: list[Message]) -> dict[str, str]:
        working[0] -= 1
        return {"answer": answer}

    return tiny(brief=brief, result=result)


@pytest.mark.parametrize("scope", ["case", "campaign"])
def test_an_overwritten_current_task_is_a_leak_across(scope: str, judge: Judge) -> None:
    """Another user's token, seen only while both are at work; no other oracle sees it."""
    judgement = judge("interleaving", current_task(scope=scope), CASE)
    assert judgement.verdict is Verdict.LEAK
    assert ("task.input", "result", "across", "LEAK") in found(judgement)
    assert judge("canary", current_task(scope=scope), CASE).findings == ()


@pytest.mark.parametrize("case", [CASE, two_users(), two_users(concurrent=True)], ids=["3", "all", "at-once"])
def test_the_clean_twin_passes(case: Scenario, judge: Judge) -> None:
    """Whatever the schedule."""
    judgement = judge("interleaving", current_task(leaks=False), case)
    assert (judgement.verdict, judgement.reason, judgement.applicable) == (Verdict.PASS, "", True)


def test_a_lost_own_token_is_a_loss(judge: Judge) -> None:
    """Alone the task arrives, among others it does not."""
    judgement = judge("interleaving", one_at_a_time(), CASE)
    assert judgement.verdict is Verdict.LOSS
    assert ("task.input", "child.context", "across", "LOSS") in found(judgement)


def test_what_no_token_tells_is_named_by_its_field(judge: Judge) -> None:
    """A header that says the wrong user: the first field that differs from the View alone."""
    headers: dict[str, str] = {}

    def identity(history: list[str]) -> dict[str, str]:
        return headers

    def brief(task: str, history: list[str]) -> str:
        headers["X-User"] = "ab"["bob" in history[0]]
        return task

    turns = tuple(
        replace(turn, text=f"hello {name}") for turn, name in zip(CASE.turns, ("al", "bob"), strict=True)
    )
    judgement = judge("interleaving", tiny(brief=brief, headers=identity), replace(CASE, turns=turns))
    assert found(judgement) == {("field.x_user", "child.headers", "across", "LEAK")}


def counted(**more: Any) -> Any:
    """The reference with a header that counts delegations, of whomever."""

    def parts() -> Any:
        numbers = itertools.count()
        return replace(CLEAN, child_headers=lambda brief, scope: {"x-n": str(next(numbers))})

    return leaky("task", "counted", parts)


def never_twice(kind: str) -> Any:
    """A header, or a text of growing length, that is another one each time."""
    numbers = itertools.count()
    if kind == "text":
        return tiny(brief=lambda task, history: f"{task} {'at length ' * next(numbers)}")
    return tiny(headers=lambda history: {"n": f"{next(numbers)}"})


UNSTEADY = {
    "counter": (counted(), '"x_n: string"'),
    "chance": (never_twice("header"), '"n: string"'),
    "text": (never_twice("text"), "child.context task"),
}


@pytest.mark.parametrize("name", UNSTEADY)
def test_ids_and_counters_are_inconclusive_with_the_place(name: str, judge: Judge) -> None:
    """A shared counter tells nothing of anybody; a random id differs alone as well. Never a leak."""
    factory, place = UNSTEADY[name]
    judgement = judge("interleaving", factory, CASE)
    assert (judgement.verdict, judgement.findings) == (Verdict.INCONCLUSIVE, ())
    assert place in judgement.reason


def test_a_verdict_that_changes_over_repeats_is_flaky(judge: Judge) -> None:
    """Seen in most of ten runs is no leak, and no pass."""
    current, runs = [""], itertools.count()

    def brief(task: str, history: list[str]) -> str:
        current[0] = task
        return task

    def result(answer: str, work: list[Message]) -> dict[str, str]:
        return {"answer": answer if next(runs) % 7 == 6 else f"{current[0]}: {answer}"}

    judgement = judge("interleaving", tiny(brief=brief, result=result), CASE)
    assert (judgement.verdict, judgement.findings) == (Verdict.INCONCLUSIVE, ())
    assert "FLAKY" in judgement.reason


@target(root="boss", agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()})
async def serialising(stage: Stage) -> Any:
    """One turn at a time."""
    lock = asyncio.Lock()

    async def say(turn: Turn) -> str:
        async with lock:
            return (await stage.model("boss").reply(ModelCall("boss", ()))).text

    yield say


def fails(history: list[str]) -> dict[str, str]:
    """A system that is broken."""
    raise RuntimeError


@pytest.mark.parametrize(
    ("factory", "case", "reason"),
    [
        (current_task(), full_case(), "one user"),
        (current_task(), two_users(child=Temperament.PARROT), "parrot"),
        (tiny(headers=fails), CASE, "the target failed"),
        (serialising, CASE, "waits for another turn"),
    ],
    ids=["one-user", "parrot", "failing", "serialising"],
)
def test_where_nothing_can_be_compared_it_does_not_apply(
    factory: Any, case: Scenario, reason: str, judge: Judge
) -> None:
    """Not applicable, with the reason."""
    judgement = judge("interleaving", factory, case)
    assert not judgement.applicable
    assert reason in judgement.reason


def test_a_target_that_stays_up_is_read_for_tokens_only(judge: Judge) -> None:
    """Its Views may differ, for it remembers."""
    judgement = judge("interleaving", current_task(leaks=False, scope="campaign"), CASE)
    assert (judgement.verdict, judgement.applicable) == (Verdict.PASS, True)
    assert "not compared" in judgement.reason


def test_a_stored_schedule_is_judged_as_it_is(judge: Judge) -> None:
    """The case replays to its verdict from JSON; a schedule that does not show the leak passes."""
    for order, verdict in ((Order.ROUND_ROBIN, Verdict.LEAK), (Order.SEQUENTIAL, Verdict.PASS)):
        stored = Scenario.from_json(CASE.scheduled(Schedule(order)).to_json())
        assert judge("interleaving", current_task(), stored).verdict is verdict


def test_a_case_that_a_person_wrote_is_broken_at_every_call(execute: Callable[..., Any]) -> None:
    """Cancel, timeout and retry at each model call of each user's first turn; a census case tries three."""
    base = execute(tiny(), two_users())
    tried = schedules(two_users(), base)
    breaks = {item for schedule in tried for item in schedule.breaks}
    assert breaks == {Break(kind, turn, step) for kind in Breaking for turn in (0, 1) for step in range(4)}
    assert len(schedules(CASE, base)) == 3
    assert len(schedules(replace(CASE, family="sweep"), base)) == 2


def test_a_declared_mask_is_left_out_and_told(judge: Judge) -> None:
    """What was inconclusive passes, and the judgement names the mask."""
    mask = "x_n: string"
    judgement = judge("interleaving", counted(), CASE, Policy(masks=(mask,)))
    assert (judgement.verdict, judgement.masks) == (Verdict.PASS, (mask,))


def test_the_judgement_says_under_which_schedule(judge: Judge) -> None:
    """So that the leak can be looked at; the case replays by its seed."""
    assert judge("interleaving", current_task(), CASE).reason == "seen under the schedule: round-robin"
