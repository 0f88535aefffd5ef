"""The runner: targets of all kinds are opened, talked to and closed, and nothing of them stays behind."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from isolation_kit.scenario import Scenario, TurnPlan
from isolation_kit.stage import Ledger, Runner, Stage
from isolation_kit.target import Agent, Turn, Via, declaration_of, target
from isolation_kit.trace import Channel

AGENTS = {"boss": Agent({"kid": Via("task")}), "kid": Agent()}
TWO = Scenario("f", "a", 1, (TurnPlan(0, "one"), TurnPlan(1, "two", session="s1")), users=("u_a", "u_b"))
SEEN: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="nothing")


def run(factory: Any, *scenarios: Scenario, **options: Any) -> list[Any]:
    """The traces of the scenarios on one runner."""
    runner = Runner(declaration_of(factory), Ledger(3), **options)
    try:
        return [runner.execute(scenario) for scenario in scenarios]
    finally:
        runner.close()


def said(trace: Any) -> list[str]:
    """The replies that users got."""
    return [event.data.decode() for event in trace.seen(Channel.FINAL_OUTPUT)]


def make(kind: str, diary: list[str], scope: Any = "case") -> Any:
    """A target of one kind that notes what happens to it."""

    def note(turn: Turn) -> str:
        diary.append(f"{turn.index}:{turn.user}")
        return turn.text.upper()

    async def note_later(turn: Turn) -> str:
        await asyncio.sleep(0)
        return note(turn)

    say = note_later if kind.endswith("async say") else note

    def plain(stage: Stage) -> Iterator[Any]:
        diary.append("open")
        yield say
        diary.append("closed")

    async def modern(stage: Stage) -> AsyncIterator[Any]:
        diary.append("open")
        yield say
        diary.append("closed")

    return target(root="boss", agents=AGENTS, scope=scope)(plain if kind.startswith("sync") else modern)


KINDS = ["sync, sync say", "sync, async say", "async, sync say", "async, async say"]


@pytest.mark.parametrize("kind", KINDS)
def test_sync_and_async_targets_are_run_alike(kind: str) -> None:
    """Opened, talked to turn by turn, closed after the last turn, anew for each case."""
    diary: list[str] = []
    traces = run(make(kind, diary), TWO, TWO)
    assert diary == ["open", "0:u_a", "1:u_b", "closed"] * 2
    for trace in traces:
        assert (trace.error, trace.answered, said(trace)) == ("", (True, True), ["ONE", "TWO"])
        assert [event.user for event in trace.seen(Channel.FINAL_OUTPUT)] == [0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_campaign_target_stays_up_and_meets_fresh_users(kind: str) -> None:
    """One set-up for all cases, one tear-down at the end, no user twice."""
    diary: list[str] = []
    run(make(kind, diary, "campaign"), TWO, TWO)
    assert diary == ["open", "0:c000001-u_a", "1:c000001-u_b", "0:c000002-u_a", "1:c000002-u_b", "closed"]


def test_a_campaign_target_that_failed_once_goes_on() -> None:
    """One bad case does not end a system that stays up."""

    @target(root="boss", agents=AGENTS, scope="campaign")
    async def shaky(stage: Stage) -> AsyncIterator[Any]:
        calls: list[int] = []

        async def say(turn: Turn) -> str:
            calls.append(1)
            if len(calls) == 1:
                raise ConnectionError("once")
            return "ok"

        yield say

    first, second = run(shaky, TWO, TWO)
    assert "ConnectionError" in first.error
    assert (second.error, said(second)) == ("", ["ok", "ok"])


def test_set_up_turns_and_tear_down_share_one_context() -> None:
    """What set-up puts into a context variable is there in the turns; one case's is not the next one's."""
    values: list[str] = []

    @target(root="boss", agents=AGENTS)
    async def remembering(stage: Stage) -> AsyncIterator[Any]:
        values.append(SEEN.get())
        SEEN.set("set up")

        async def say(turn: Turn) -> str:
            return SEEN.get()

        yield say
        values.append(SEEN.get())

    first, second = run(remembering, TWO, TWO)
    assert said(first) == said(second) == ["set up", "set up"]
    assert values == ["nothing", "set up"] * 2


def test_concurrent_turns_run_at_the_same_time() -> None:
    """Both are open before either answers; each reply is its own turn's."""
    together = asyncio.Event

    @target(root="boss", agents=AGENTS)
    async def meeting(stage: Stage) -> AsyncIterator[Any]:
        here: list[int] = []
        both = together()

        async def say(turn: Turn) -> str:
            here.append(turn.index)
            if len(here) == 2:
                both.set()
            await asyncio.wait_for(both.wait(), 5)
            return turn.user

        yield say

    (trace,) = run(meeting, Scenario(**{**fields(TWO), "concurrent": True}))
    assert trace.error == ""
    assert {(event.turn, event.data) for event in trace.seen(Channel.FINAL_OUTPUT)} == {
        (0, b"u_a"),
        (1, b"u_b"),
    }


def test_concurrent_sync_turns_have_a_thread_each() -> None:
    """A blocking `say` does not hold up the other user."""
    barrier = threading.Barrier(2, timeout=5)

    @target(root="boss", agents=AGENTS)
    def blocking(stage: Stage) -> Iterator[Any]:
        def say(turn: Turn) -> str:
            barrier.wait()
            return str(threading.get_ident())

        yield say

    (trace,) = run(blocking, Scenario(**{**fields(TWO), "concurrent": True}))
    assert trace.error == ""
    assert len(set(said(trace))) == 2


def fields(scenario: Scenario) -> dict[str, Any]:
    """The arguments of a scenario."""
    return {name: getattr(scenario, name) for name in ("family", "attack", "seed", "turns", "users")}


def test_an_empty_reply_is_an_answer_that_says_nothing() -> None:
    """Recorded, and told apart in `answered`."""

    @target(root="boss", agents=AGENTS)
    def silent(stage: Stage) -> Iterator[Any]:
        yield lambda turn: "" if turn.index else "hi"

    (trace,) = run(silent, TWO)
    assert (trace.answered, said(trace)) == ((True, False), ["hi", ""])


def test_nothing_stays_behind_after_close() -> None:
    """No thread of the worker, no handler on the root logger."""
    before = list(logging.getLogger().handlers)
    runner = Runner(declaration_of(make(KINDS[3], [])), Ledger(3))
    runner.execute(TWO)
    assert [t.name for t in threading.enumerate()].count("isolation-target") >= 1
    names = {thread for thread in threading.enumerate() if thread.name == "isolation-target"}
    runner.close()
    assert not any(thread.is_alive() for thread in names if thread not in abandoned(names, runner))
    assert logging.getLogger().handlers == before


def abandoned(threads: set[threading.Thread], runner: Runner) -> set[threading.Thread]:
    """Threads that earlier tests left behind on purpose."""
    return {thread for thread in threads if thread is not runner._thread}


def test_a_failing_tear_down_at_close_changes_nothing() -> None:
    """The verdicts stand."""

    @target(root="boss", agents=AGENTS, scope="campaign")
    async def stubborn(stage: Stage) -> AsyncIterator[Any]:
        yield lambda turn: "ok"
        raise RuntimeError("cannot close")

    (trace,) = run(stubborn, TWO)
    assert trace.error == ""


def test_without_an_endpoint_the_base_url_says_what_to_do() -> None:
    """A bare runner serves models in process only."""

    @target(root="boss", agents=AGENTS)
    async def remote(stage: Stage) -> AsyncIterator[Any]:
        url = stage.base_url
        yield lambda turn: url

    (trace,) = run(remote, TWO)
    assert "use stage.model(agent)" in trace.error


@pytest.mark.parametrize("muted", [False, True], ids=["heard", "muted"])
def test_a_muted_log_tap_is_noticed(muted: bool) -> None:
    """A system that switches logging off makes the tap blind, and the probe says so."""
    runner = Runner(declaration_of(make(KINDS[3], [])), Ledger(3))
    logging.disable(logging.CRITICAL if muted else logging.NOTSET)
    try:
        assert runner.probe_log(TWO) is not muted
    finally:
        logging.disable(logging.NOTSET)
        runner.close()


def test_executions_are_counted() -> None:
    """What a finding cost is counted in executions."""
    runner = Runner(declaration_of(make(KINDS[0], [])), Ledger(3))
    runner.execute(TWO)
    runner.execute(TWO)
    runner.close()
    assert runner.executions == 2


@pytest.mark.parametrize(
    ("text", "refused"), [("a \ud800 b", True), ('{"note": "\\ud83d"}', True), ("plain words", False)]
)
def test_a_client_that_cannot_encode_hostile_text_refuses_it(text: str, refused: bool) -> None:
    """A lone surrogate, as it is or spelled in JSON, is refused; with other text it is an error."""

    @target(root="boss", agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()})
    def strict(stage: Stage) -> Iterator[Any]:
        def say(turn: Turn) -> str:
            raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")

        yield say

    (trace,) = run(strict, Scenario("f", "a", 1, (TurnPlan(0, text),)))
    assert bool(trace.refused) is refused
    assert bool(trace.error) is not refused
