"""Puppets: they say what the script says, call what is offered and theirs, and copy only as parrots."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.scenario import Act, Answer, Delegate, Place, Say, Temperament, UseTool, fill
from isolation_kit.stage.puppet import ModelCall, ModelReply, Puppet
from isolation_kit.target import Agent, Declaration, Tool, Via

QUIET, PARROT = Temperament.QUIET, Temperament.PARROT
SECRET = Place("user.current").placeholder
DECLARATION = Declaration(
    "t",
    "boss",
    {
        "boss": Agent(
            {"kid": Via("task"), "peer": Via("transfer", argument=""), "pick": Via("route", "goal", "to")}
        ),
        "kid": Agent(tools=(Tool("find"), Tool("sum"))),
        "peer": Agent(),
        "pick": Agent(),
    },
)


def offer(name: str, *required: str, **properties: str) -> Mapping[str, Any]:
    """A tool as a request offers it."""
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(required),
    }
    return {"type": "function", "function": {"name": name, "parameters": schema}}


FIND, SUM = offer("find", query="string"), offer("sum", query="string")


class Played:
    """A puppet with its script, and what it was told and started."""

    def __init__(self, *acts: Act, temper: Temperament = QUIET) -> None:
        self.queue = deque(acts)
        self.replies: deque[str] = deque()
        self.started: list[str] = []
        self.temper = temper
        self.ids = 0
        self.puppet = Puppet(DECLARATION, self.filled, self.on_delegate, self.call_id)

    def filled(self, text: str, agent: str = "", instance: int = -1) -> str:
        """Placeholders as the slot in brackets."""
        return fill(text, lambda place: f"<{place.slot}>")

    def on_delegate(self, child: str, plan: Delegate, by: tuple[str, int]) -> str:
        """Note the child."""
        self.started.append(child)
        return ""

    def call_id(self) -> str:
        """Counted."""
        self.ids += 1
        return f"call_{self.ids:06d}"

    def ask(self, agent: str, *tools: Mapping[str, Any], messages: Any = ()) -> tuple[ModelReply, bool]:
        """The next reply."""
        return self.puppet.reply(
            ModelCall(agent, tuple(messages), tools), self.queue, self.temper, self.replies
        )


def test_texts_stand_beside_the_next_act() -> None:
    """What is said before an act goes into the same message."""
    played = Played(Say("first"), Say(f"then {SECRET}"), UseTool(0, "q", "r"), Answer("end"))
    reply, done = played.ask("kid", FIND)
    assert (reply.text, done) == ("first\nthen <user.current>", False)
    assert [(call.name, call.arguments) for call in reply.calls] == [("find", {"query": "q"})]
    assert list(played.replies) == ["r"]
    assert played.ask("kid", FIND) == (ModelReply("end"), True)


def test_an_exhausted_script_answers() -> None:
    """However often it is asked: no target can be kept running by it. A thought is no answer."""
    played = Played(Say("thinking"))
    assert played.ask("kid") == (ModelReply("done"), True)
    assert played.ask("kid") == (ModelReply("done"), True)


@pytest.mark.parametrize(
    ("number", "offered", "called"),
    [
        (0, (FIND, SUM), "find"),
        (1, (FIND, SUM), "sum"),
        (7, (FIND, SUM), "sum"),
        (1, (FIND,), "find"),
        (0, (offer("delete_all", query="string"), SUM), "sum"),
    ],
    ids=["first", "second", "modulo", "only-one", "foreign-first"],
)
def test_only_declared_tools_are_called(number: int, offered: Any, called: str) -> None:
    """The number counts the declared tools that the request offers; a foreign one is never called."""
    reply, _ = Played(UseTool(number, "q", "r")).ask("kid", *offered)
    assert [call.name for call in reply.calls] == [called]


@pytest.mark.parametrize("offered", [(), (offer("delete_all", query="string"),)], ids=["none", "foreign"])
def test_a_tool_that_is_not_offered_is_skipped(offered: Any) -> None:
    """The script goes on with the next act, and its scripted reply is not left for another tool."""
    played = Played(UseTool(0, "q", "r"), Answer("end"))
    assert played.ask("kid", *offered) == (ModelReply("end"), True)
    assert not played.replies


@pytest.mark.parametrize(
    ("child", "tool", "arguments"),
    [
        (0, offer("task", task="string"), {"task": "go"}),
        (0, offer("task", "input", note="string", input="string"), {"input": "go"}),
        (0, offer("task", "n", n="integer", text="string"), {}),
        (1, offer("transfer"), {}),
        (2, offer("route", goal="string", to="string"), {"goal": "go", "to": "pick"}),
    ],
    ids=["named", "first-required-string", "no-string", "handoff", "selector"],
)
def test_a_delegation_takes_the_way_that_is_offered(child: int, tool: Any, arguments: Any) -> None:
    """A task tool, an agent as tool, a handoff without parameters, a router."""
    played = Played(Delegate(child, "go"))
    reply, done = played.ask("boss", tool)
    assert [dict(call.arguments) for call in reply.calls] == [arguments]
    assert not done
    assert played.started == [("kid", "peer", "pick")[child]]


def test_a_way_that_is_not_offered_is_a_problem() -> None:
    """It is told, nothing is started, and the script goes on."""
    played = Played(Delegate(0, "go"), Answer("end"))
    assert played.ask("boss", FIND) == (ModelReply("end"), True)
    assert played.puppet.problems == ["the request of 'boss' did not offer the declared way 'task'"]
    assert played.started == []


def test_a_child_without_children_does_not_delegate() -> None:
    """The act is passed over."""
    assert Played(Delegate(0, "go"), Answer("end")).ask("kid") == (ModelReply("end"), True)


words = st.text("abcdef", min_size=3, max_size=6)
contents = st.one_of(
    words, st.lists(st.builds(lambda text: {"type": "text", "text": text}, words), max_size=2)
)
dialogues = st.lists(st.builds(lambda text: {"role": "user", "content": text}, contents), max_size=4)
scripts = st.sampled_from([(Answer("end"),), (UseTool(0, "q", "r"),), (Delegate(0, "go"),), ()])


@given(dialogues, dialogues, scripts, st.sampled_from(["boss", "kid"]))
def test_a_quiet_puppet_copies_nothing(one: Any, two: Any, acts: tuple[Act, ...], agent: str) -> None:
    """What it says does not depend on what it sees."""
    tools = (FIND, offer("task", task="string"))
    assert Played(*acts).ask(agent, *tools, messages=one) == Played(*acts).ask(agent, *tools, messages=two)


@given(dialogues, scripts, st.sampled_from(["boss", "kid"]))
def test_a_parrot_copies_all_that_it_sees(messages: Any, acts: tuple[Act, ...], agent: str) -> None:
    """Into its text and into what it hands to tools and children."""
    played = Played(*acts, temper=PARROT)
    reply, _ = played.ask(agent, FIND, offer("task", task="string"), messages=messages)
    said = [reply.text, *(str(call.arguments) for call in reply.calls)]
    for message in messages:
        content = message["content"]
        seen = [content] if isinstance(content, str) else [part["text"] for part in content]
        assert all(text in part for text in seen for part in said)


def test_a_parrot_reads_tool_calls_and_json_in_strings() -> None:
    """Arguments of earlier calls and encoded results are part of what it sees."""
    call = {"function": {"name": "find", "arguments": '{"query": "deep \\u5f20"}'}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    reply, _ = Played(Answer("end"), temper=PARROT).ask("kid", messages=messages)
    assert "deep 张" in reply.text


def test_a_parrot_does_not_grow_without_bound() -> None:
    """Its copy of a copy of a flood is cut, so that a case ends."""
    text = "\n".join(f"line {number}" for number in range(9000))
    reply, _ = Played(Answer("end"), temper=PARROT).ask("kid", messages=[{"role": "user", "content": text}])
    assert len(reply.text) < 21_000
    again, _ = Played(Answer("end"), temper=PARROT).ask(
        "kid", messages=[{"role": "user", "content": reply.text}] * 2
    )
    assert len(again.text) < 21_000


def test_call_ids_count_up() -> None:
    """The same case gives the same ids."""
    acts = (UseTool(0, "a", "r"), UseTool(1, "b", "r"))
    for _ in range(2):
        played = Played(*acts)
        ids = [played.ask("kid", FIND, SUM)[0].calls[0].id for _ in acts]
        assert ids == ["call_000001", "call_000002"]
