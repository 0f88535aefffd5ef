"""What a target says in exceptions, names and reasons is not kept; what it planted once stays its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from isolation_kit.errors import TargetError
from isolation_kit.oracles.canary import leaks
from isolation_kit.policy import Policy
from isolation_kit.scenario import Answer, Delegate, Scenario, TurnPlan
from isolation_kit.stage import Ledger, ModelCall, Runner, Stage
from isolation_kit.target import Agent, Tool, Turn, Via, declaration_of, target
from isolation_kit.trace import Trace

SECRET = "sk-live-4242 hunter2"
AGENTS = {"boss": Agent({"kid": Via("task")}), "kid": Agent()}
SCENARIO = Scenario("f", "a", 1, (TurnPlan(0, "hi {{canary:user.current/0/-1/0/0}}"),))


def run(factory: Callable[[Stage], Any], times: int = 1) -> Trace:
    """The trace of the last of some cases."""
    runner = Runner(declaration_of(factory), Ledger(seed=7))
    trace = [runner.execute(SCENARIO) for _ in range(times)][-1]
    runner.close()
    return trace


def kit_error(stage: Stage, turn: Turn) -> None:
    raise TargetError(f"{SECRET} {turn.text}")


def type_name(stage: Stage, turn: Turn) -> None:
    raise type(f"{SECRET} {turn.text}", (Exception,), {})


def refusal(stage: Stage, turn: Turn) -> None:
    stage.refuse(f"{SECRET} {turn.text}")


def refused_child(stage: Stage, turn: Turn) -> None:
    stage.refused("kid", f"{SECRET} {turn.text}")


def unknown_channel(stage: Stage, turn: Turn) -> None:
    stage.record(turn.text[:40], "boss", "x")


def unknown_slot(stage: Stage, turn: Turn) -> None:
    stage.text(f"{SECRET} {turn.text}")


def tool_name(stage: Stage, turn: Turn) -> None:
    stage.record("store", "boss", "x", tool=f"{SECRET} {turn.text}")


def pollution(stage: Stage, turn: Turn) -> None:
    stage.polluted(task="t", path=f"{SECRET} {turn.text}", kind="str", length=1, digest="d")


WAYS = (kit_error, type_name, refusal, refused_child, unknown_channel, unknown_slot, tool_name, pollution)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_no_word_of_the_target_is_kept_in_clear(way: Callable[[Stage, Turn], None]) -> None:
    """Neither a secret that it holds nor a token, wherever it puts them."""

    @target(root="boss", agents=AGENTS)
    def hostile(stage: Stage) -> Iterator[Any]:
        def say(turn: Turn) -> str:
            way(stage, turn)
            return "ok"

        yield say

    trace = run(hostile)
    (token,) = {item.token for item in trace.planted}
    kept = repr((trace.error, trace.refused, trace.problems, trace.lives, trace.pollution))
    kept += repr([event.tool for event in trace.events])
    for word in (*SECRET.split(), token):
        assert word not in kept


def test_an_error_names_the_users_own_line() -> None:
    """Not the line of the library that raised."""

    @target(root="boss", agents=AGENTS)
    def clumsy(stage: Stage) -> Iterator[Any]:
        import json

        def say(turn: Turn) -> str:
            return json.dumps(stage)

        yield say

    assert run(clumsy).error.startswith(
        f"the target raised TypeError in say ({__file__.rpartition('/')[2]}, line"
    )


@pytest.mark.parametrize("leaky", [False, True], ids=["clean", "leaky"])
def test_what_a_kept_target_planted_when_it_was_built_is_its_own(leaky: bool) -> None:
    """The parent's prompt of a campaign is no residue in the next case; at a child it is a leak in each."""

    @target(root="boss", agents=AGENTS, scope="campaign")
    async def kept(stage: Stage) -> AsyncIterator[Any]:
        system = stage.text("parent.system", "Be kind.")

        async def say(turn: Turn) -> str:
            for agent in ("boss", "kid"):
                text = system if agent == "boss" or leaky else "work"
                await stage.model(agent).reply(ModelCall(agent, ({"role": "user", "content": text},)))
            return "ok"

        yield say

    trace = run(kept, times=3)
    found = leaks(SCENARIO, declaration_of(kept), Policy(), trace)
    seen = {(f.fingerprint.what, f.fingerprint.channel, f.fingerprint.direction) for f in found}
    assert seen == ({("parent.system", "child.request", "down")} if leaky else set())


def test_a_sync_system_needs_no_event_loop() -> None:
    """`stage.reply` and `stage.call_tool` answer at once."""

    @target(root="boss", agents={"boss": Agent({"kid": Via("")}), "kid": Agent(tools=("find",))})
    def sync(stage: Stage) -> Iterator[Any]:
        yield lambda turn: stage.reply(ModelCall("boss", ())).text + stage.call_tool("find", "kid", "q")

    turns = (TurnPlan(0, "hi", (Delegate(0, "t", (Answer("a"),)), Answer("fine"))),)
    runner = Runner(declaration_of(sync), Ledger(seed=7))
    trace = runner.execute(Scenario("f", "a", 1, turns))
    runner.close()
    assert not trace.error
    assert declaration_of(sync).agents["kid"].tools == (Tool("find"),)
