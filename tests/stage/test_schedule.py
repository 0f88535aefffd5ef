"""Schedules: whose model call is answered next, what befalls a turn, and targets that know no order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from tiny_target import tiny, two_users

from isolation_kit.scenario import Answer, Break, Breaking, Order, Scenario, Schedule, TurnPlan
from isolation_kit.stage import Ledger, ModelCall, Runner, Stage
from isolation_kit.target import Agent, Turn, Via, declaration_of, target
from isolation_kit.trace import Channel, Trace

AGENTS = {"boss": Agent({"kid": Via("task")}), "kid": Agent()}
TURNS = tuple(TurnPlan(user, f"hi {user}", (Answer("x"),), f"s{user}") for user in (0, 1))
TWO = Scenario("f", "a", 1, TURNS, users=("u_a", "u_b"))
IN_TURN, LAST_FIRST = Schedule(Order.ROUND_ROBIN), Schedule(Order.REVERSED)


def broken(kind: Breaking, turn: int, step: int, agent: str = "") -> Schedule:
    """In turn, with one break."""
    return Schedule(Order.ROUND_ROBIN, (Break(kind, turn, step, agent),))


@pytest.fixture
def run() -> Iterator[Callable[[Any, Schedule], Trace]]:
    """Runs two users under a schedule."""
    runners: list[Runner] = []

    def once(factory: Any, schedule: Schedule, scenario: Scenario = TWO) -> Trace:
        runners.append(Runner(declaration_of(factory), Ledger(3)))
        return runners[-1].execute(scenario.scheduled(schedule))

    yield once
    for runner in runners:
        runner.close()


def order(trace: Trace) -> str:
    """The turns of the model calls and of the answers to the users, in order: 0, 1, and `a`, `b`."""
    calls = (Channel.PARENT_REQUEST, Channel.CHILD_REQUEST)
    shown = [event for event in trace.events if event.channel in (*calls, Channel.FINAL_OUTPUT)]
    return "".join(str(event.turn) if event.channel in calls else "ab"[event.turn] for event in shown)


ORDERS = {
    "sequential": (Schedule(Order.SEQUENTIAL), "0000a1111b"),
    "alone": (Schedule(Order.SEQUENTIAL, only=1), "1111b"),
    "round-robin": (IN_TURN, "01010101ab"),
    "reversed": (LAST_FIRST, "01111b000a"),
    "cancel": (broken(Breaking.CANCEL, 1, 1), "0101" + "00a"),
    "cancel-child": (broken(Breaking.CANCEL, 1, 1, "kid"), "010101" + "0a"),
    "retry": (broken(Breaking.RETRY, 1, 1), "0101" + "01" + "01a" + "11b"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_steps_come_in_the_order_of_the_schedule(name: str, run: Callable[..., Trace]) -> None:
    """A step is one model call; a turn is cancelled at a named step of a named agent, or said again."""
    schedule, expected = ORDERS[name]
    trace = run(tiny(), schedule, two_users())
    assert order(trace) == expected
    assert (trace.error, trace.problems, trace.off_schedule) == ("", (), ())


def test_a_timeout_is_an_error_of_the_model_call(run: Callable[..., Trace]) -> None:
    """What a turn then does is the target's own business: this one raises, which ends that turn alone."""
    trace = run(tiny(), broken(Breaking.TIMEOUT, 1, 2), two_users())
    assert order(trace) == "0101010a"
    assert (trace.error, trace.answered) == ("", (False, True))


def calls(stage: Stage, agent: str = "boss") -> Any:
    """One model call of an agent."""
    return stage.model(agent).reply(ModelCall(agent, ({"role": "user", "content": "x"},)))


@target(root="boss", agents=AGENTS)
def blocking(stage: Stage) -> Iterator[Any]:
    """A sync system: a thread a turn."""

    def say(turn: Turn) -> str:
        for _ in range(3):
            stage.reply(ModelCall("boss", ({"role": "user", "content": turn.text},)))
        return threading.current_thread().name

    yield say


@target(root="boss", agents=AGENTS)
async def over_the_wire(stage: Stage) -> Any:
    """A system whose models are behind the endpoint's API."""
    transport = httpx.ASGITransport(app=stage.app)
    async with httpx.AsyncClient(transport=transport, base_url=f"http://x/{stage.run_id}/v1") as client:

        async def say(turn: Turn) -> str:
            body = {"model": stage.model_name("boss"), "messages": [{"role": "user", "content": turn.text}]}
            return "".join(
                [str((await client.post("/chat/completions", json=body)).status_code) for _ in range(3)]
            )

        yield say


@pytest.mark.parametrize("factory", [blocking, over_the_wire], ids=["threads", "wire"])
def test_gates_hold_threads_and_requests_as_well(factory: Any, run: Callable[..., Trace]) -> None:
    """Sync turns block in their threads, requests wait at the endpoint."""
    assert order(run(factory, IN_TURN)) == "010101ab"
    assert order(run(factory, LAST_FIRST)) == "0111b00a"
    assert order(run(factory, broken(Breaking.CANCEL, 0, 1))) == "0101" + "1b"


def test_the_endpoint_answers_504_when_time_runs_out(run: Callable[..., Trace]) -> None:
    """As a gateway does whose model did not answer."""
    trace = run(over_the_wire, broken(Breaking.TIMEOUT, 1, 1))
    assert [event.data for event in trace.seen("final.output")] == [b"200504200", b"200200200"]


@target(root="boss", agents=AGENTS)
async def serialising(stage: Stage) -> Any:
    """One turn at a time, by the target's own lock."""
    lock = asyncio.Lock()

    async def say(turn: Turn) -> str:
        async with lock:
            return "".join([(await calls(stage)).text for _ in range(3)])

    yield say


def test_a_target_that_serialises_its_turns_is_let_go(run: Callable[..., Trace]) -> None:
    """The gates open, every turn ends, and the trace says why there was no schedule."""
    trace = run(serialising, IN_TURN)
    assert order(trace) == "000a111b"
    assert trace.error == ""
    assert "waits for another turn" in trace.off_schedule[0]


def test_a_turn_that_raises_ends_the_case(run: Callable[..., Trace]) -> None:
    """As it does without a schedule; nothing of the other turn stays behind."""

    @target(root="boss", agents=AGENTS)
    async def failing(stage: Stage) -> Any:
        async def say(turn: Turn) -> str:
            await calls(stage)
            if turn.index:
                raise ValueError
            await calls(stage)
            return "x"

        yield say

    trace = run(failing, IN_TURN)
    assert "ValueError" in trace.error
    assert order(trace) == "010"


def test_a_target_that_swallows_its_cancellation_is_noted(run: Callable[..., Trace]) -> None:
    """It goes on in its own order, and the schedule does not count as kept."""

    @target(root="boss", agents=AGENTS)
    async def stubborn(stage: Stage) -> Any:
        async def say(turn: Turn) -> str:
            for _ in range(3):
                try:
                    await calls(stage)
                except asyncio.CancelledError:
                    await calls(stage)
            return "x"

        yield say

    trace = run(stubborn, broken(Breaking.CANCEL, 1, 1))
    assert "did not end when it was cancelled" in trace.off_schedule[0]
    assert trace.error == ""


def test_ids_and_clock_are_a_users_own(run: Callable[..., Trace]) -> None:
    """What one user is counted is the same alone and among others."""

    @target(root="boss", agents=AGENTS)
    async def counting(stage: Stage) -> Any:
        async def say(turn: Turn) -> str:
            seen = []
            for _ in range(2):
                await calls(stage)
                seen.append(f"{stage.ids()} {stage.clock()} {stage.text('parent.memory', turn=turn)}")
            return " ".join(seen)

        yield say

    among = [event.data for event in run(counting, IN_TURN).seen("final.output")]
    alone = [
        run(counting, Schedule(Order.SEQUENTIAL, only=user)).seen("final.output")[0].data for user in (0, 1)
    ]
    assert among == alone
    assert among[0] != among[1]
