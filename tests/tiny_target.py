"""The smallest parent/child system that is clean, with seams that a test replaces by one leak each."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Literal

from isolation_kit.errors import StrictJSONError
from isolation_kit.scenario import Act, Answer, Delegate, Place, Say, Scenario, TurnPlan, UseTool
from isolation_kit.stage import ModelCall, Stage
from isolation_kit.strictjson import loads
from isolation_kit.target import Agent, Tool, Turn, Via, target

SystemSay = Callable[[Turn], Awaitable[str]]
Factory = Callable[[Stage], AsyncIterator[SystemSay]]
Message = dict[str, Any]

FIELDS = {"type": "object", "properties": {"note": {"type": "string"}}}
BRIEF = {"type": "object", "properties": {"task": {"type": "string"}}}
RESULT = {"type": "object", "properties": {"answer": {"type": "string"}}}


def offer(name: str, argument: str) -> Mapping[str, Any]:
    """A tool with one string argument, as a model request offers it."""
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def declared(raw: str) -> str:
    """The clean way with a tool's reply: its one declared field, or a refusal of what is no object."""
    try:
        value = loads(raw)
    except StrictJSONError:
        value = None
    if not isinstance(value, dict):
        return '{"error": "unreadable reply"}'
    note = value.get("note")
    return json.dumps({"note": note if isinstance(note, str) else ""}, ensure_ascii=False)


def tiny(
    *,
    brief: Callable[[str, list[str]], str] = lambda task, history: task,
    headers: Callable[[list[str]], Mapping[str, str]] = lambda history: {},
    tools: Callable[[list[str]], str] = lambda history: "find",
    reply: Callable[[str], str] = declared,
    result: Callable[[str, list[Message]], Mapping[str, Any]] = lambda answer, work: {"answer": answer},
    delegates: bool = True,
    scope: Literal["case", "campaign"] = "case",
) -> Factory:
    """A target: `boss` hands tasks to `kid`, which may `find`. Each seam is clean unless replaced.

    Args:
        brief: what the child's first message says, from the task and all that the user ever said.
        headers: what goes out with the child's model requests.
        tools: the name of the tool that the child is offered.
        reply: what the child's model sees of a tool's raw reply.
        result: what goes up, from the child's answer and its messages.
        delegates: False for a parent that never hands anything over.
    """

    @target(
        root="boss",
        agents={
            "boss": Agent({"kid": Via("task")}),
            "kid": Agent(tools=(Tool("find", FIELDS),), brief=BRIEF, result=RESULT),
        },
        taps=("child.context", "result"),
        scope=scope,
    )
    async def system(stage: Stage) -> AsyncIterator[SystemSay]:
        find = stage.tool("find", "kid")
        said: dict[str, list[str]] = {}

        async def child(task: str, history: list[str]) -> str:
            if any("\ud800" <= char <= "\udfff" for char in task):
                stage.refuse("a task that is no UTF-8 text")
            text = brief(task, history)
            stage.record("child.context", "kid", json.dumps({"task": text}, ensure_ascii=False))
            work: list[Message] = [{"role": "user", "content": text}]
            offered = (offer(tools(history), "query"),)
            for number in range(9):
                call = ModelCall("kid", tuple(work), offered, headers(history))
                answer = await stage.model("kid").reply(call)
                if not answer.calls:
                    break
                work.append({"role": "assistant", "content": answer.text, "tool_calls": _calls(answer.calls)})
                raw = await find(answer.calls[0].arguments["query"])
                name = f"{answer.calls[0].id}"
                work.append({"role": "tool", "tool_call_id": name, "content": reply(raw), "n": number})
            up = json.dumps(result(answer.text, work), ensure_ascii=False)
            stage.record("result", "kid", up)
            return up

        async def say(turn: Turn) -> str:
            history = said.setdefault(f"{turn.user}/{turn.session}", [])
            history.append(turn.text)
            messages: list[Message] = [{"role": "user", "content": text} for text in history]
            ways = (offer("task", "task"),) if delegates else ()
            for _ in range(9):
                answer = await stage.model("boss").reply(ModelCall("boss", tuple(messages), ways))
                if not answer.calls:
                    break
                messages.append({"role": "assistant", "content": answer.text})
                for call in answer.calls:
                    up = await child(call.arguments["task"], history)
                    messages.append({"role": "tool", "content": up})
            return answer.text

        yield say

    return system


def _calls(calls: tuple[Any, ...]) -> list[Message]:
    return [
        {"id": call.id, "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in calls
    ]


def at(slot: str, user: int = 0, turn: int = 0) -> str:
    """The placeholder of a place."""
    return Place(slot, user, -1, turn).placeholder


def full_turn(user: int = 0, turn: int = 0, session: str = "s") -> TurnPlan:
    """A turn that plants every slot which the tiny system can hold."""
    raw = json.dumps(
        {"note": at("child.tool.result", user, turn), "trace": at("child.tool.noise", user, turn)}
    )
    acts: tuple[Act, ...] = (
        Say(f"I plan {at('child.text', user, turn)}"),
        UseTool(0, f"q {at('child.tool.args', user, turn)}", raw),
        Answer(f"found {at('child.answer', user, turn)}"),
    )
    mine: tuple[Act, ...] = (
        Say(f"plan {at('parent.text', user, turn)}"),
        Delegate(0, f"look up {at('task.input', user, turn)}", acts),
        Answer("done"),
    )
    return TurnPlan(user, f"hello {at('user.current', user, turn)}", mine, session)


def full_case(**changes: Any) -> Scenario:
    """One user, one turn, every slot."""
    return Scenario(**{"family": "f", "attack": "a", "seed": 1, "turns": (full_turn(),), **changes})


def two_users(**changes: Any) -> Scenario:
    """Two users, a turn each, in sessions of their own."""
    turns = (full_turn(0, 0, "s0"), full_turn(1, 1, "s1"))
    return full_case(turns=turns, users=("u_a", "u_b"), **changes)
