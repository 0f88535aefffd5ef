"""openai-agents on the stage: what reaches a child by handoff and as a tool, and users on shared objects."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from isolation_kit.errors import UsageError
from isolation_kit.policy import crossing
from isolation_kit.scenario import Act, Answer, Delegate, Place, Say, Scenario, TurnPlan, UseTool
from isolation_kit.stage import Ledger, Runner, Stage
from isolation_kit.stage.server import Endpoint
from isolation_kit.target import Agent, Tool, Turn, Via, declaration_of, target
from isolation_kit.trace import Channel, Trace

MODULE = "isolation_kit.targets.openai_agents"
Row = tuple[str, str, str]


def test_without_the_framework_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing the targets where openai-agents is absent says what to install."""
    monkeypatch.setitem(sys.modules, "agents", None)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    with pytest.raises(UsageError, match=r"isolation-kit\[openai-agents\]"):
        importlib.import_module(MODULE)


@pytest.fixture(scope="module")
def framework() -> Any:
    """The targets, where the framework is installed."""
    pytest.importorskip("agents", reason="needs the extra openai-agents")
    return importlib.import_module(MODULE)


def turn(
    index: int, *, user: int = 0, session: str = "s", child: int = 0, answer: str | None = None
) -> TurnPlan:
    """A turn with a canary in every place: parent's tool, delegation, child's tool, child's answer."""

    def at(slot: str) -> str:
        return Place(slot, user, -1, index).placeholder

    search = f'{{"amount": 1, "note": "{at("parent.tool.result")}", "trace_id": "{at("parent.tool.noise")}"}}'
    child_acts: tuple[Act, ...] = (
        Say(f"I look it up {at('child.text')}"),
        UseTool(0, f"bill {at('child.tool.args')}", f'{{"bill": "{at("child.tool.result")}"}}'),
        Answer(f"Paid {at('child.answer')}" if answer is None else answer),
    )
    acts = (
        Say(f"I search {at('parent.text')}"),
        UseTool(0, f"order {at('parent.tool.args')}", search),
        Delegate(child, f"Check {at('task.input')}", child_acts),
        Answer("All is well."),
    )
    return TurnPlan(user, f"Where is my money {at('user.current')}", acts, session)


TWO_TURNS = Scenario("noise-injection", "two turns", 7, (turn(0), turn(1)))


def run(factory: Any, *scenarios: Scenario, socket: bool = False) -> list[Trace]:
    """The traces of some cases on one runner; each must have gone without trouble."""
    with Endpoint() as endpoint:
        runner = Runner(declaration_of(factory), Ledger(seed=7), endpoint=endpoint.url)
        traces = [runner.execute(scenario) for scenario in scenarios]
        runner.close()
        assert endpoint.running is socket
    for trace in traces:
        assert (trace.error, trace.refused, trace.problems, trace.unscanned) == ("", "", (), 0)
        assert all(trace.answered)
    return traces


def rows(factory: Any, scenario: Scenario, trace: Trace) -> set[Row]:
    """What crossed a boundary, as (channel, slot, direction)."""
    declaration = declaration_of(factory)
    events = {event.seq: event for event in trace.events}
    given: dict[Place, tuple[Any, ...]] = {}
    for item in trace.planted:
        given[item.place] = (*given.get(item.place, ()), item)
    sessions = {index: plan.session for index, plan in enumerate(scenario.turns)}
    out = set()
    for sighting in trace.sightings:
        event = events[sighting.seq]
        direction = crossing(sighting, event, given, declaration, sessions)
        if direction:
            out.add((str(event.channel), sighting.place.slot, str(direction)))
    return out


CONTEXT = {("child.context", "parent.state", "down"), ("child.context", "parent.metadata", "down")}
DOWN = {
    ("child.request", slot, "down")
    for slot in ("user.current", "parent.text", "parent.tool.args", "parent.tool.result", "parent.tool.noise")
}
CHILD_WORK = ("child.text", "child.tool.args", "child.tool.result")
# The next turn shows the parent, and with it the next child, all that the child did.
NEXT_TURN = {("parent.request", slot, "up") for slot in CHILD_WORK} | {
    ("child.request", slot, "sideways") for slot in (*CHILD_WORK, "child.answer")
}
HANDOFF = CONTEXT | DOWN | NEXT_TURN


@pytest.mark.parametrize("turns", [1, 2])
def test_a_handoff_shows_the_child_the_conversation(framework: Any, turns: int) -> None:
    """User turns, the parent's text, arguments and raw results reach the child; its work goes up later."""
    scenario = Scenario("noise-injection", "handoff", 7, TWO_TURNS.turns[:turns])
    (trace,) = run(framework.openai_agents_handoff, scenario)
    assert rows(framework.openai_agents_handoff, scenario, trace) == HANDOFF - (
        NEXT_TURN if turns == 1 else set()
    )


def test_a_handoff_keeps_the_system_prompt(framework: Any) -> None:
    """The parent's instructions stay with the parent, though its requests show them."""
    (trace,) = run(framework.openai_agents_handoff, TWO_TURNS)
    seen = {event.seq: event.channel for event in trace.events}
    channels = {seen[hit.seq] for hit in trace.sightings if hit.place.slot == "parent.system"}
    assert channels == {Channel.PARENT_REQUEST}


def test_an_earlier_turn_reaches_the_child_of_a_handoff(framework: Any) -> None:
    """In the second turn the child reads the first turn's user text too."""
    (trace,) = run(framework.openai_agents_handoff, TWO_TURNS)
    later = {event.seq for event in trace.seen(Channel.CHILD_REQUEST) if event.turn == 1}
    assert any(
        hit.seq in later and hit.place.slot == "user.current" and hit.place.turn == 0
        for hit in trace.sightings
    )


def test_an_agent_as_tool_gets_its_task_alone(framework: Any) -> None:
    """Nothing but the task reaches the child's requests; its tools can read context object and metadata."""
    (trace,) = run(framework.openai_agents_as_tool, TWO_TURNS)
    assert rows(framework.openai_agents_as_tool, TWO_TURNS, trace) == CONTEXT
    asked = {event.seq for event in trace.seen(Channel.CHILD_REQUEST)}
    assert {hit.place.slot for hit in trace.sightings if hit.seq in asked} >= {"task.input"}


def test_an_empty_answer_of_an_agent_as_tool_sends_raw_output_up(framework: Any) -> None:
    """Where the child answers nothing, the framework hands its last tool output to the parent."""
    scenario = Scenario("noise-injection", "empty answer", 7, (turn(0, answer=""),))
    (trace,) = run(framework.openai_agents_as_tool, scenario)
    up = {("parent.request", "child.tool.result", "up")}
    assert rows(framework.openai_agents_as_tool, scenario, trace) == CONTEXT | up


def test_the_socket_shows_what_the_app_in_process_shows(framework: Any) -> None:
    """The same team over 127.0.0.1 gives the same rows."""

    @target(
        root="support",
        agents={
            "support": Agent(
                children={"billing": Via("transfer_to_billing", argument="")}, tools=(Tool("search"),)
            ),
            "billing": Agent(tools=(Tool("lookup"),)),
        },
    )
    async def over_socket(stage: Stage) -> AsyncIterator[Callable[[Turn], Any]]:
        async with framework.connect(stage, stage.base_url) as client:
            yield framework.handoff_team(stage, client)

    (trace,) = run(over_socket, TWO_TURNS, socket=True)
    assert rows(over_socket, TWO_TURNS, trace) == HANDOFF


def at_once(child: int) -> Scenario:
    """Two users whose turns run together, twice each, in sessions of their own."""
    turns = tuple(turn(i, user=i % 2, session=f"s{i % 2}", child=child) for i in range(2))
    return Scenario("cross-user", "at once", 7 + child, turns, users=("u_a", "u_b"), concurrent=True)


@pytest.mark.parametrize(
    ("child", "expected"), [(0, CONTEXT | DOWN), (1, CONTEXT)], ids=["handoff", "as_tool"]
)
def test_shared_agents_keep_users_apart(framework: Any, child: int, expected: set[Row]) -> None:
    """Two users at once on one set of agent objects: each child shows its mode's rows, and nothing across."""
    factory = framework.openai_agents_shared
    (trace,) = run(factory, at_once(child))
    assert rows(factory, at_once(child), trace) == expected
    assert {event.user for event in trace.seen(Channel.CHILD_REQUEST)} == {0, 1}


def test_shared_agents_keep_cases_apart(framework: Any) -> None:
    """Objects that outlive a case bring nothing of it into the next one."""
    factory = framework.openai_agents_shared
    scenarios = (TWO_TURNS, at_once(0), Scenario("noise-injection", "again", 8, (turn(0),)))
    traces = run(factory, *scenarios)
    directions = {row[2] for s, t in zip(scenarios, traces, strict=True) for row in rows(factory, s, t)}
    assert "after" not in directions
    assert "across" not in directions


def test_one_conversation_for_all_users_is_seen(framework: Any) -> None:
    """The leaky twin: a team that keeps one list of messages for everybody shows one user to the other."""
    clean = declaration_of(framework.openai_agents_handoff)

    @target(root=clean.root, agents=clean.agents)
    async def one_list(stage: Stage) -> AsyncIterator[Callable[[Turn], Any]]:
        async with framework.connect(stage) as client:
            talk = framework.handoff_team(stage, client)

            async def say(plan: Turn) -> str:
                return str(await talk(Turn(plan.index, "everybody", "one", plan.text)))

            yield say

    turns = (turn(0, user=0, session="s0"), turn(1, user=1, session="s1"))
    scenario = Scenario("cross-user", "one list", 7, turns, users=("u_a", "u_b"))
    (trace,) = run(one_list, scenario)
    assert ("child.request", "user.current", "across") in rows(one_list, scenario, trace)
    (quiet,) = run(framework.openai_agents_handoff, scenario)
    assert not {row for row in rows(framework.openai_agents_handoff, scenario, quiet) if row[2] == "across"}
