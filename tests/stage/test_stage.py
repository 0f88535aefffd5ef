"""The Stage: what a target gets, refused where it is misused, and the same in every run."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_target import full_case, offer

from isolation_kit.errors import TargetRefused, UsageError
from isolation_kit.scenario import Limits, Place, Scenario, TurnPlan
from isolation_kit.stage import Ledger, ModelCall, Recorder, Stage
from isolation_kit.stage.case import Case
from isolation_kit.target import Agent, Declaration, Turn, Via, target
from isolation_kit.trace import Channel, Lifecycle, Trace

DECLARATION = Declaration("t", "boss", {"boss": Agent({"kid": Via("task")}), "kid": Agent()})
Execute = Callable[..., Trace]


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A stage inside a case whose only turn is open."""
    scenario = Scenario("f", "a", 1, (TurnPlan(0, "hi"),), limits=Limits(window=77))
    stage = Stage(lambda stage: "http://127.0.0.1:1/r0/v1")
    stage.enter(Case(scenario, DECLARATION, Recorder(Ledger(3), scenario, "c")))
    stage.case.begin(0)
    yield stage
    stage.close()


def test_outside_of_a_case_it_says_how_to_use_it() -> None:
    """A stage kept over the end of its case must not record anywhere."""
    with pytest.raises(UsageError, match="outside a case"):
        Stage(lambda stage: "").case  # noqa: B018  the access is the test


def test_a_text_is_planted_around_the_original(stage: Stage) -> None:
    """The system's own canary: of no user, of no turn."""
    text = stage.text("parent.system", around="Be kind.")
    (planted,) = stage.case.recorder.planted
    assert text == f"Be kind. [{planted.token}]"
    assert planted.place == Place("parent.system", -1, -1, -1, 0)
    assert stage.text("x.my_cache") != text


def test_a_text_of_a_turn_belongs_to_its_user(stage: Stage) -> None:
    """What the system remembers of a user is that user's."""
    token = stage.text("parent.memory", turn=Turn(0, "u_0", "s", "hi"))
    planted = stage.case.recorder.planted[-1]
    assert (planted.token, planted.place) == (token, Place("parent.memory", 0, -1, 0, 0))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda stage: stage.text("parent.secret"), "unknown slot; allowed: user.current"),
        (lambda stage: stage.record("secret", "boss", "x"), "unknown channel; allowed: child.request"),
        (lambda stage: stage.record("log", "secret", "x"), "not declared; declared: boss, kid"),
    ],
    ids=["slot", "channel", "agent"],
)
def test_a_wrong_name_is_refused_with_what_is_allowed(
    call: Callable[[Stage], Any], text: str, stage: Stage
) -> None:
    """At once, where the target's author sees it; the value itself may be anything and is not quoted."""
    with pytest.raises(UsageError, match=text) as caught:
        call(stage)
    assert "secret" not in str(caught.value)


def test_a_tool_looks_like_one_to_schema_makers(stage: Stage) -> None:
    """Name, docstring and one string argument; it answers as scripted."""
    find = stage.tool("find", "kid")
    assert (find.__name__, bool(find.__doc__), list(find.__annotations__)) == (
        "find",
        True,
        ["query", "return"],
    )
    assert asyncio.run(find("q")) == "{}"  # type: ignore[arg-type]


def test_ids_and_clock_are_deterministic(stage: Stage) -> None:
    """Another stage counts the same."""
    other = Stage(lambda stage: "")
    for one in (stage, other):
        assert [one.ids(), one.ids("msg"), one.ids()] == ["id_00000001", "msg_00000001", "id_00000002"]
        assert [one.clock(), one.clock()] == [1.0, 2.0]


def test_the_workdir_is_the_cases_own_and_goes_with_it(stage: Stage) -> None:
    """Made at first use, removed at the end."""
    folder = stage.workdir
    (folder / "note.txt").write_text("x")
    assert stage.workdir == folder
    stage.close()
    assert not folder.exists()


def test_lives_pollution_and_responses_are_counted(stage: Stage) -> None:
    """What the target tells of itself stands in the trace."""
    stage.spawned("kid")
    stage.refused("kid", "too long")
    stage.ended("kid")
    stage.polluted(task="t1", path="a/b", kind="str", length=3, digest="d", source_tool="find")
    stage.responded()
    trace = stage.case.recorder.trace()
    assert [life.kind for life in trace.lives] == [Lifecycle.SPAWNED, Lifecycle.REFUSED, Lifecycle.ENDED]
    assert (trace.pollution[0].path, trace.pollution[0].source_tool, trace.task_responses) == (
        "a/b",
        "find",
        1,
    )


def test_a_refusal_ends_the_case(stage: Stage) -> None:
    """`refuse` raises, `limits` say what may be refused."""
    assert stage.limits.window == 77
    with pytest.raises(TargetRefused, match="too long"):
        stage.refuse("too long")


def test_names_for_frameworks_hold_the_run_and_the_agent(stage: Stage) -> None:
    """The run's id stands in name and path, never in a body."""
    assert stage.model_name("kid") == f"{stage.run_id}~kid"
    assert stage.base_url == "http://127.0.0.1:1/r0/v1"


@target(root="boss", agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()})
async def chatty(stage: Stage) -> AsyncIterator[Any]:
    """Logs at several levels, in and out of a turn, and hides one line behind its own level."""
    log = logging.getLogger("chatty")
    log.setLevel(logging.INFO)
    log.info("set-up line")

    async def say(turn: Turn) -> str:
        log.debug("hidden %s", turn.text)
        log.info("user said %s", turn.text)
        log.warning("as the child", extra={"agent": "kid"})
        return "ok"

    yield say
    log.info("tear-down line")


def test_the_log_tap_hears_what_the_system_logs_in_its_turns(execute: Execute) -> None:
    """Under the levels that the system chose, for the agent that it names."""
    trace = execute(chatty, Scenario("f", "a", 1, (TurnPlan(0, "hello"),)))
    lines = [(event.agent, event.data.decode()) for event in trace.seen(Channel.LOG)]
    assert lines == [("boss", "user said hello"), ("kid", "as the child")]
    assert {event.turn for event in trace.seen(Channel.LOG)} == {0}


def test_a_traceback_in_a_log_is_seen(execute: Execute) -> None:
    """The formatted record, traceback included, is what a log file would hold."""

    @target(root="boss", agents=dict(DECLARATION.agents))
    async def failing(stage: Stage) -> AsyncIterator[Any]:
        async def say(turn: Turn) -> str:
            try:
                json.loads(turn.text)
            except ValueError:
                logging.getLogger("failing").exception("could not read")
            return "ok"

        yield say

    (event,) = execute(failing, Scenario("f", "a", 1, (TurnPlan(0, "hello"),))).seen(Channel.LOG)
    assert b"Traceback" in event.data
    assert b"json.loads(turn.text)" in event.data


def test_the_workdir_of_a_run_is_gone_after_it(execute: Execute) -> None:
    """Also where the target raises."""
    folders: list[Path] = []

    @target(root="boss", agents=dict(DECLARATION.agents))
    async def writing(stage: Stage) -> AsyncIterator[Any]:
        folders.append(stage.workdir)

        async def say(turn: Turn) -> str:
            raise RuntimeError("no")

        yield say

    assert execute(writing, full_case()).error
    assert len(folders) == 1
    assert not folders[0].exists()


def test_a_model_in_process_is_recorded(execute: Execute) -> None:
    """`stage.model(agent)` answers as scripted, and its request stands in the trace."""

    @target(root="boss", agents=dict(DECLARATION.agents))
    async def direct(stage: Stage) -> AsyncIterator[Any]:
        async def say(turn: Turn) -> str:
            call = ModelCall("boss", ({"role": "user", "content": turn.text},), (offer("task", "task"),))
            return (await stage.model("boss").reply(call)).text

        yield say

    trace = execute(direct, full_case())
    (event,) = trace.seen(Channel.PARENT_REQUEST)
    assert b"hello" in event.data
    assert (event.agent, event.user, event.turn) == ("boss", 0, 0)
