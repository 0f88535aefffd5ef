"""The controls: a case proves something only if what must pass passed and nothing failed on the way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tiny_target import at, full_case, full_turn, tiny, two_users

from isolation_kit.finding import Judgement, Mode, Verdict
from isolation_kit.scenario import Break, Breaking, Delegate, Order, Scenario, Schedule, Temperament, TurnPlan
from isolation_kit.stage import ModelCall, Stage
from isolation_kit.target import Agent, Turn, Via, target

Judge = Callable[..., Judgement]
AGENTS = {"boss": Agent({"kid": Via("task")}), "kid": Agent()}
SECRET = "sk-live-0123456789"


def losses(judgement: Judgement) -> set[tuple[str, str, str]]:
    """(slot, channel, direction) of what got lost."""
    assert {finding.kind for finding in judgement.findings} <= {Verdict.LOSS}
    return {(f.fingerprint.what, f.fingerprint.channel, f.fingerprint.direction) for f in judgement.findings}


def test_a_clean_case_passes(judge: Judge) -> None:
    """Task down, answer up, child reached."""
    judgement = judge("controls", tiny(), full_case())
    assert (judgement.verdict, judgement.findings, judgement.reason) == (Verdict.PASS, (), "")


def test_a_dropped_task_is_a_loss(judge: Judge) -> None:
    """A child that starts without its item cannot do its work."""
    judgement = judge("controls", tiny(brief=lambda task, history: "do it"), full_case())
    assert judgement.verdict is Verdict.LOSS
    assert losses(judgement) == {("task.input", "child.request", "down")}


def test_a_dropped_answer_is_a_loss(judge: Judge) -> None:
    """A parent that never hears the answer isolates too much."""
    judgement = judge("controls", tiny(result=lambda answer, work: {"answer": "ok"}), full_case())
    assert judgement.verdict is Verdict.LOSS
    assert losses(judgement) == {("child.answer", "parent.request", "up")}


def test_a_loss_that_is_not_required_is_none(judge: Judge) -> None:
    """Cases that overflow a limit on purpose do not ask for passage."""
    turn = full_turn()
    acts = tuple(
        Delegate(act.child, act.task, act.acts, required=False) if isinstance(act, Delegate) else act
        for act in turn.acts
    )
    scenario = full_case(turns=(TurnPlan(0, turn.text, acts),))
    assert judge("controls", tiny(brief=lambda task, history: "do it"), scenario).verdict is Verdict.PASS


def test_under_a_parrot_a_loss_is_exposure(judge: Judge) -> None:
    """What a parrot does to the way down is no statement about the plumbing."""
    lossy = tiny(brief=lambda task, history: "do it")
    judgement = judge("controls", lossy, full_case(root=Temperament.PARROT))
    assert {finding.mode for finding in judgement.findings} == {Mode.EXPOSURE}
    assert judgement.verdict is Verdict.PASS


def test_a_child_never_reached_is_inconclusive(judge: Judge) -> None:
    """Zero children prove nothing about children, and the reason says what was planned."""
    judgement = judge("controls", tiny(delegates=False), full_case())
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "did not offer the declared way 'task'" in judgement.reason


def never_calls(stage: Stage) -> Iterator[Any]:
    """A parent that answers without any model."""
    yield lambda turn: "I know already"


def test_a_target_that_records_nothing_is_inconclusive(judge: Judge) -> None:
    """No model was asked: the planned delegation did not take place."""
    judgement = judge("controls", target(root="boss", agents=AGENTS)(never_calls), full_case())
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.reason == "0 of 1 planned delegations took place"


def test_a_turn_without_delegation_passes(judge: Judge) -> None:
    """Some turns do not delegate; nothing is missing then."""
    turns = (TurnPlan(0, "hi"), *full_case().turns)
    assert judge("controls", tiny(), full_case(turns=turns)).verdict is Verdict.PASS


@pytest.mark.parametrize("turns", [(), (TurnPlan(0, "hi"),)], ids=["no-turn", "no-delegation"])
def test_a_case_that_hands_nothing_over_is_inconclusive(turns: tuple[TurnPlan, ...], judge: Judge) -> None:
    """Whatever it does, it says nothing about a child."""
    judgement = judge("controls", tiny(), full_case(turns=turns))
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "hands nothing to a child" in judgement.reason


def test_a_call_that_belongs_to_nobody_is_inconclusive(judge: Judge) -> None:
    """A child asks its model though nothing was delegated to it; a token in it is still a leak."""

    @target(root="boss", agents=AGENTS)
    async def eager(stage: Stage) -> AsyncIterator[Any]:
        async def say(turn: Turn) -> str:
            await stage.model("kid").reply(ModelCall("kid", ({"role": "user", "content": turn.text},)))
            return "ok"

        yield say

    scenario = full_case(turns=(TurnPlan(0, f"hi {at('user.current')}"),))
    judgement = judge("controls", eager, scenario)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.reason == "a call of child 'kid' belongs to no delegation"
    assert judge("canary", eager, scenario).verdict is Verdict.LEAK


def raises_in_say(stage: Stage) -> Iterator[Any]:
    def say(turn: Turn) -> str:
        raise RuntimeError(f"cannot reach the server with {SECRET} for {turn.text}")

    yield say


def raises_in_set_up(stage: Stage) -> Iterator[Any]:
    raise ValueError(SECRET)
    yield


def raises_in_tear_down(stage: Stage) -> Iterator[Any]:
    yield lambda turn: "ok"
    raise KeyError(SECRET)


def yields_nothing(stage: Stage) -> Iterator[Any]:
    if stage.limits.rounds < 0:
        yield


async def yields_nothing_async(stage: Stage) -> AsyncIterator[Any]:
    if stage.limits.rounds < 0:
        yield


def yields_twice(stage: Stage) -> Iterator[Any]:
    yield lambda turn: "ok"
    yield lambda turn: "ok"


def yields_garbage(stage: Stage) -> Iterator[Any]:
    yield {"say": SECRET}


def answers_bytes(stage: Stage) -> Iterator[Any]:
    yield lambda turn: SECRET.encode()


def answers_nothing(stage: Stage) -> Iterator[Any]:
    yield lambda turn: None


def exits(stage: Stage) -> Iterator[Any]:
    def say(turn: Turn) -> str:
        raise SystemExit(SECRET)

    yield say


async def exits_async(stage: Stage) -> AsyncIterator[Any]:
    async def say(turn: Turn) -> str:
        raise SystemExit(SECRET)

    yield say


async def cancels(stage: Stage) -> AsyncIterator[Any]:
    async def say(turn: Turn) -> str:
        raise asyncio.CancelledError(SECRET)

    yield say


BROKEN = {
    raises_in_say: "the target raised RuntimeError in say",
    raises_in_set_up: "the target raised ValueError in raises_in_set_up",
    raises_in_tear_down: "the target raised KeyError in raises_in_tear_down",
    yields_nothing: "must yield exactly once",
    yields_nothing_async: "must yield exactly once",
    yields_twice: "must yield exactly once",
    yields_garbage: "the target yielded dict; it must yield its `say` function",
    answers_bytes: "say() returned bytes; it must return the reply as str",
    answers_nothing: "say() returned NoneType; it must return the reply as str",
    exits: "the target raised SystemExit in say",
    exits_async: "the target raised SystemExit in say",
    cancels: "the target raised CancelledError in ",
}


@pytest.mark.parametrize(
    ("factory", "said"), BROKEN.items(), ids=lambda value: getattr(value, "__name__", "")
)
@pytest.mark.parametrize("scenario", [full_case(), two_users(concurrent=True)], ids=["alone", "at-once"])
def test_a_broken_target_is_an_error_that_says_what_to_do(
    factory: Any, said: str, scenario: Scenario, judge: Judge
) -> None:
    """The type and the place are named, what the target said is not; the next case runs as well."""
    broken = target(root="boss", agents=AGENTS)(factory)
    judgement = judge("controls", broken, scenario, timeout=5)
    assert judge("controls", broken, full_case(seed=2), timeout=5).reason == judgement.reason
    assert judgement.verdict is Verdict.ERROR
    assert said in judgement.reason
    assert SECRET not in judgement.reason
    assert "hello" not in judgement.reason


def hangs_async(stage: Stage) -> Any:
    async def say(turn: Turn) -> str:
        await asyncio.sleep(30)
        return "late"

    yield say


def hangs_sync(stage: Stage) -> Any:
    def say(turn: Turn) -> str:
        time.sleep(3)
        return "late"

    yield say


@pytest.mark.parametrize("factory", [hangs_async, hangs_sync], ids=["async", "sync"])
def test_a_hanging_target_is_an_error_and_is_not_run_again(factory: Any, judge: Judge) -> None:
    """Past its time the thread is left behind; the next case says so at once."""
    hanging = target(root="boss", agents=AGENTS)(factory)
    started = time.monotonic()
    first = judge("controls", hanging, full_case(), timeout=0.5)
    second = judge("controls", hanging, full_case(seed=2), timeout=0.5)
    assert time.monotonic() - started < 2.5
    assert (first.verdict, second.verdict) == (Verdict.ERROR, Verdict.ERROR)
    assert "still running after 0.5 s" in first.reason
    assert "case_timeout" in first.reason
    assert "no further case of this target is run" in second.reason


def refuses(stage: Stage) -> Iterator[Any]:
    yield lambda turn: stage.refuse("the text is too long")


def cannot_encode(stage: Stage) -> Iterator[Any]:
    yield lambda turn: turn.text.encode() and stage.refuse("never reached")


@pytest.mark.parametrize(
    ("factory", "more"), [(refuses, ""), (cannot_encode, "\ud83d")], ids=["refuse", "surrogate"]
)
def test_a_refusal_is_an_outcome_of_its_own(factory: Any, more: str, judge: Judge) -> None:
    """A target may refuse hostile text: counted as refused, no failure; what it says of it is not kept."""
    (turn,) = full_case().turns
    hostile = full_case(turns=(replace(turn, text=turn.text + more),))
    judgement = judge("controls", target(root="boss", agents=AGENTS)(factory), hostile)
    assert judgement.verdict is Verdict.PASS
    assert judgement.reason.startswith("refused: ")
    assert "too long" not in judgement.reason


def test_an_encoding_error_of_the_target_itself_is_no_refusal(judge: Judge) -> None:
    """The case holds no lone surrogate, so the target failed."""

    def odd(stage: Stage) -> Iterator[Any]:
        yield lambda turn: "\ud83d".encode() and "ok"

    assert judge("controls", target(root="boss", agents=AGENTS)(odd), full_case()).verdict is Verdict.ERROR


def test_a_leak_seen_before_the_failure_stays_a_leak(judge: Judge) -> None:
    """Controls suspend only what rests on them."""

    def fails(answer: str, work: list[Any]) -> Any:
        raise RuntimeError("late")

    leaky = tiny(brief=lambda task, history: f"{history} {task}", result=fails)
    assert judge("controls", leaky, full_case()).verdict is Verdict.ERROR
    assert judge("canary", leaky, full_case()).verdict is Verdict.LEAK


@pytest.mark.parametrize("child", [0, 1, 7])
def test_a_child_number_is_taken_modulo_those_declared(child: int, judge: Judge) -> None:
    """Any drawn number names a child."""
    scenario: Scenario = full_case(turns=(TurnPlan(0, "hi", (Delegate(child, at("task.input")),)),))
    assert judge("controls", tiny(), scenario).verdict is Verdict.PASS


@pytest.mark.parametrize("kind", Breaking, ids=str)
def test_a_turn_that_the_schedule_broke_owes_nothing_but_its_retry(kind: Breaking, judge: Judge) -> None:
    """A stored case with a cancelled turn passes; what its retry loses is a loss."""
    cut = two_users().scheduled(Schedule(Order.ROUND_ROBIN, (Break(kind, 1, 2),)))
    assert judge("controls", tiny(), cut).verdict is Verdict.PASS
    deaf = judge("controls", tiny(result=lambda answer, work: {"answer": ""}), cut)
    lost = {finding.turn for finding in deaf.findings}
    assert lost == ({0, 1} if kind is Breaking.RETRY else {0})
