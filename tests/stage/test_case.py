"""One running case: whose call is whose, what is planted for whom, and what could not be attributed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isolation_kit.scenario import Answer, Delegate, Place, Scenario, TurnPlan, UseTool
from isolation_kit.stage import Ledger, ModelCall, Recorder
from isolation_kit.stage.case import CURRENT_TURN, Case
from isolation_kit.target import Agent, Declaration, Tool, Via
from isolation_kit.trace import Channel, Event, Lifecycle

TASK = {"function": {"name": "task", "parameters": {"properties": {"task": {"type": "string"}}}}}
DECLARATION = Declaration(
    "t", "boss", {"boss": Agent({"kid": Via("task")}), "kid": Agent(tools=(Tool("find"),))}
)
RULES = Declaration(
    "t",
    "boss",
    {"boss": Agent({"kid": Via("")}), "kid": Agent()},
    triggers={"kid": "find {task} of {subject}"},
    follow_ups={"kid": "and {subject}?"},
)


def at(slot: str, user: int = 0, turn: int = 0, n: int = 0) -> str:
    """The placeholder of a place."""
    return Place(slot, user, -1, turn, n).placeholder


def case(*turns: TurnPlan, declaration: Declaration = DECLARATION, **changes: Any) -> Case:
    """A case that has not begun."""
    scenario = Scenario("f", "a", 1, turns, users=("u_a", "u_b"), **changes)
    return Case(scenario, declaration, Recorder(Ledger(3), scenario, scenario.base_digest()))


def ask(running: Case, agent: str, text: str = "", *tools: Any, **more: Any) -> Any:
    """One model call with one message."""
    return running.reply(ModelCall(agent, ({"role": "user", "content": text},), tools, **more))


def events(running: Case, channel: Channel) -> list[Event]:
    """What was recorded on a channel."""
    return [event for event in running.recorder.events if event.channel is channel]


def test_a_turn_comes_with_its_user_and_live_tokens() -> None:
    """The system under test gets the text with tokens where the script has placeholders."""
    running = case(TurnPlan(1, f"hello {at('user.current', 1)}", session="s9"))
    turn = running.begin(0)
    (planted,) = running.recorder.planted
    assert (turn.index, turn.user, turn.session) == (0, "u_b", "s9")
    assert turn.text == f"hello {planted.token}"


def test_fresh_names_keep_what_names_share() -> None:
    """A target that stays up meets new users in each case; one name may still begin with the other."""
    scenario = Scenario("f", "a", 1, (TurnPlan(0, "hi"), TurnPlan(1, "hi")), users=("agent_1", "agent_10"))
    running = Case(scenario, DECLARATION, Recorder(Ledger(3), scenario, "c"), "c000007-")
    one, two = running.begin(0), running.begin(1)
    assert (one.user, one.session) == ("c000007-agent_1", "c000007-s")
    assert two.user.startswith(one.user)


def test_only_concurrent_cases_carry_a_reference() -> None:
    """One after the other, user texts stay as they are."""
    assert case(TurnPlan(0, "hi")).begin(0).text == "hi"
    assert case(TurnPlan(0, "hi"), concurrent=True).begin(0).text == "hi [ref:t0]"


def test_a_rule_driven_parent_is_led_by_its_trigger() -> None:
    """The user text holds the trigger with task and subject, and the delegation is on record at once."""
    plan = TurnPlan(0, "thanks", (Delegate(0, at("task.input"), (Answer("x"),)),), subject=0)
    running = case(plan, declaration=RULES, subjects=("李娜",))
    text = running.begin(0).text
    (handover,) = running.delegations.handovers()
    token = running.recorder.planted[0].token
    assert text == f"find {token} of 李娜 thanks"
    assert (handover.agent, handover.task) == ("kid", (Place("task.input"),))


def test_a_follow_up_does_not_repeat_the_task() -> None:
    """It names the person only; the earlier task must be found by the system itself."""
    first = TurnPlan(0, "", (Delegate(0, at("task.input")),), subject=0)
    again = TurnPlan(0, "", (Delegate(0, at("task.input")),), subject=0)
    running = case(first, again, declaration=RULES, subjects=("李娜",))
    running.begin(0)
    running.end(0)
    assert running.begin(1).text == "and 李娜?"


def delegating(*acts: Any, user: int = 0, turn: int = 0) -> TurnPlan:
    """A turn that hands one task over."""
    return TurnPlan(user, "hi", (Delegate(0, f"do {at('task.input', user, turn)}", acts), Answer("end")))


def test_a_delegation_starts_a_child_with_its_own_script() -> None:
    """The root's call starts it, the child's calls play it, the handover names what must pass."""
    running = case(delegating(Answer(f"got {at('child.answer')}")))
    running.begin(0)
    started = ask(running, "boss", "hi", TASK)
    brief = started.calls[0].arguments["task"]
    assert ask(running, "kid", brief).text.startswith("got ")
    assert ask(running, "boss", "hi", TASK).text == "end"
    (handover,) = running.delegations.handovers()
    assert (handover.task, handover.answer) == ((Place("task.input"),), (Place("child.answer"),))
    assert [life.kind for life in running.recorder.lives] == [Lifecycle.SPAWNED]


def test_calls_are_recorded_at_their_recipient() -> None:
    """Body, offered tools and headers of a child apart; credentials never."""
    running = case(delegating())
    running.begin(0)
    ask(running, "boss", "hi", TASK)
    headers = {"Authorization": "Bearer x", "X-Trace": "7"}
    ask(running, "kid", "brief", {"name": "find"}, headers=headers, extra={"user": "u_a"})
    (request,) = events(running, Channel.CHILD_REQUEST)
    assert json.loads(request.data) == {"messages": [{"role": "user", "content": "brief"}], "user": "u_a"}
    assert (request.agent, request.instance, request.user, request.turn) == ("kid", 0, 0, 0)
    assert json.loads(events(running, Channel.CHILD_HEADERS)[0].data) == {"x-trace": "7"}
    assert json.loads(events(running, Channel.CHILD_TOOLS)[0].data) == [{"name": "find"}]
    assert len(events(running, Channel.PARENT_REQUEST)) == 1


def test_two_open_tasks_of_one_child_are_told_apart_by_their_tokens() -> None:
    """Started in one step, answered in the other order: each gets its own script and instance."""
    acts = tuple(Delegate(0, f"do {at('task.input', n=n)}", (Answer(f"answer {n}"),)) for n in (0, 1))
    running = case(TurnPlan(0, "hi", acts))
    running.begin(0)
    briefs = [ask(running, "boss", "hi", TASK).calls[0].arguments["task"] for _ in acts]
    assert [ask(running, "kid", brief).text for brief in reversed(briefs)] == ["answer 1", "answer 0"]
    assert [event.instance for event in events(running, Channel.CHILD_REQUEST)] == [1, 0]


def test_two_open_turns_are_told_apart_by_their_references() -> None:
    """A call without its task context is attributed by the reference that the acts copy on."""
    running = case(delegating(Answer("a")), delegating(Answer("b"), user=1, turn=1), concurrent=True)
    texts = [running.begin(index).text for index in (0, 1)]
    briefs = [ask(running, "boss", text, TASK).calls[0].arguments["task"] for text in texts]
    assert [ask(running, "kid", brief).text for brief in reversed(briefs)] == ["b", "a"]
    assert [event.user for event in events(running, Channel.CHILD_REQUEST)] == [1, 0]


@pytest.mark.parametrize(
    ("agent", "problem"),
    [
        ("boss", "a call of the root agent could not be attributed to a turn"),
        ("kid", "a call of child 'kid' belongs to no delegation"),
        ("ghost", "a model call named no declared agent"),
    ],
)
def test_a_call_that_cannot_be_attributed_is_told_and_recorded(agent: str, problem: str) -> None:
    """Answered harmlessly, and its bytes are searched all the same."""
    running = case(delegating(), delegating(user=1, turn=1), concurrent=True)
    running.begin(0)
    running.begin(1)
    assert ask(running, agent, "who am I").text == "done"
    assert running.recorder.problems == [problem]
    assert b"who am I" in running.recorder.events[0].data
    assert running.recorder.events[0].user == -1


def test_what_is_left_of_a_script_ends_with_its_turn() -> None:
    """A child that is asked again in a later turn plays no stale act."""
    running = case(delegating(UseTool(0, "q", "r"), Answer("late")), TurnPlan(0, "again"))
    running.begin(0)
    ask(running, "boss", "hi", TASK)
    running.end(0)
    running.begin(1)
    assert ask(running, "kid", "still there?").text == "done"


def test_tool_replies_are_scripted_and_recorded() -> None:
    """Arguments and raw reply at the child that called, the reply's tokens given to it by that tool."""
    running = case(delegating(UseTool(0, "q", f'{{"x": "{at("child.tool.noise")}"}}')))
    running.begin(0)
    ask(running, "boss", "hi", TASK)
    ask(running, "kid", "brief", {"name": "find"})
    reply = running.tool_reply("find", "kid", "q")
    noise = next(item for item in running.recorder.planted if item.place.slot == "child.tool.noise")
    assert (noise.agent, noise.instance, noise.tool) == ("kid", 0, "find")
    assert noise.token in reply
    (arguments,) = events(running, Channel.CHILD_TOOL_ARGS)
    (result,) = events(running, Channel.CHILD_TOOL_RESULT)
    assert (arguments.data, arguments.tool, result.data) == (b"q", "find", reply.encode())


def test_an_unscripted_tool_call_gets_an_empty_object() -> None:
    """A system may call a tool more often than its model asked for."""
    running = case(delegating())
    running.begin(0)
    ask(running, "boss", "hi", TASK)
    assert running.tool_reply("find", "kid", "q") == "{}"
    assert running.tool_reply("search", "boss", "q") == "{}"
    assert {event.agent for event in events(running, Channel.CHILD_TOOL_ARGS)} == {"kid"}


def test_a_lone_surrogate_is_recorded() -> None:
    """Hostile text reaches the record, whatever a client would do with it."""
    running = case(TurnPlan(0, "hi"))
    running.begin(0)
    running.record(Channel.LOG, "boss", "odd \ud83d")
    assert running.recorder.events[0].data == b"odd \xed\xa0\xbd"


def test_places_of_the_stage_are_counted() -> None:
    """The system's own belong to nobody; those of a turn to its user."""
    running = case(TurnPlan(1, "hi"))
    assert running.static_place("parent.system", -1) == Place("parent.system", -1, -1, -1, 0)
    assert running.static_place("parent.system", -1).n == 1
    assert running.static_place("parent.memory", 0) == Place("parent.memory", 1, -1, 0, 0)


def test_outside_of_a_turn_nothing_is_current() -> None:
    """The task context of the tests themselves belongs to no turn."""
    assert CURRENT_TURN.get() == -1
    assert case(TurnPlan(0, "hi")).turn_of() == -1
