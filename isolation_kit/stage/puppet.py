"""Scripted models: the only brain in a case. A puppet says what the scenario scripts, nothing else.

*Quiet* copies nothing of its context into its output: what leaks then is plumbing. *Parrot* copies all that
it sees into all that it says: what leaks only then is reachable by a model that misbehaves.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from isolation_kit.content import names_a_person
from isolation_kit.scenario import Act, Answer, Delegate, Place, Say, Temperament, UseTool, places_in
from isolation_kit.target import Declaration, Via

__all__ = ["Delegation", "ModelCall", "ModelReply", "Puppet", "ToolUse"]

_EXHAUSTED = "done"
_PARROT_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model: who asks, with which messages (OpenAI chat form), tools and headers.

    `extra` holds every other field of the request: a user name, metadata or a response schema may leak too.
    """

    agent: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of a model's reply."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model says: text, tool calls, or both."""

    text: str
    calls: tuple[ToolUse, ...] = ()


@dataclass(slots=True)
class Delegation:
    """One handing over of a task: the child, its running number in the case, its script and its places."""

    agent: str
    instance: int
    turn: int
    plan: Delegate
    queue: deque[Act]
    places: frozenset[Place]
    by: tuple[str, int] = ("", -1)  # the child that handed the task over, and its instance; else the root
    done: bool = False
    returned: bool = False  # its result was recorded
    calls: int = 0
    replies: deque[str] = field(default_factory=deque)

    @classmethod
    def of(cls, agent: str, instance: int, turn: int, plan: Delegate, by: tuple[str, int]) -> Delegation:
        """The delegation that `plan` asks for."""
        places = frozenset(places_in(plan.task)) | frozenset(places_in(plan.constants))
        return cls(agent, instance, turn, plan, deque(plan.acts), places, by)


class Puppet:
    """Turns the next acts of a queue into a reply that fits what the request offers."""

    def __init__(
        self,
        declaration: Declaration,
        fill: Callable[..., str],
        on_delegate: Callable[[str, Delegate, tuple[str, int]], str],
        call_id: Callable[[], str],
        somebody_else: Callable[[], str] = lambda: "",
    ) -> None:
        self._declaration = declaration
        self._somebody_else = somebody_else
        self._fill = fill
        self._on_delegate = on_delegate
        self._id = call_id
        self.problems: list[str] = []

    def reply(
        self,
        call: ModelCall,
        queue: deque[Act],
        temperament: Temperament,
        replies: deque[str],
        instance: int = -1,
    ) -> tuple[ModelReply, bool]:
        """The next reply of `call.agent` and whether it was its answer (the queue's end).

        Texts beside a tool call (`Say`) go into its message; before an answer they are left out, for there
        they would be part of the answer. An exhausted queue answers.
        """
        echo = _all_text(call) if temperament is Temperament.PARROT else ""
        filled = partial(self._fill, agent=call.agent, instance=instance)
        said: list[str] = []
        while queue:
            act = queue.popleft()
            if isinstance(act, Say):
                said.append(act.text)
            elif isinstance(act, Answer):
                return ModelReply(_join(filled(act.text), echo)), True
            else:
                uses = self._act(call, act, echo, replies, filled, instance)
                if uses is not None:
                    return ModelReply(_join(*map(filled, said), echo), (uses,)), False
        return ModelReply(_join(_EXHAUSTED, echo)), True

    def _act(
        self,
        call: ModelCall,
        act: UseTool | Delegate,
        echo: str,
        replies: deque[str],
        filled: Callable[[str], str],
        instance: int,
    ) -> ToolUse | None:
        if isinstance(act, Delegate):
            return self._delegate(call, act, echo, filled, instance)
        there = {_name(tool): tool for tool in call.tools}
        own = self._declaration.agents[call.agent].tools
        offered = [there[tool.name] for tool in own if tool.name in there]
        if not offered:
            return None
        tool = offered[act.tool % len(offered)]
        replies.append(act.reply)
        query = _join(filled(act.query), echo)
        return ToolUse(self._id(), _name(tool), {**_arguments(tool, "query", query), **self._posing(tool)})

    def _posing(self, tool: Mapping[str, Any]) -> dict[str, str]:
        """Another user's name for each parameter that asks whose data is meant: who is served is not for a
        model to say, so no system may heed it."""
        return {name: self._somebody_else() for name in _properties(tool) if names_a_person(name)}

    def _delegate(
        self, call: ModelCall, act: Delegate, echo: str, filled: Callable[[str], str], instance: int
    ) -> ToolUse | None:
        children = self._declaration.agents[call.agent].children
        if not children:
            return None
        names = tuple(children)
        child = names[act.child % len(names)]
        via: Via = children[child]
        tool = next((tool for tool in call.tools if _name(tool) == via.tool), None)
        if tool is None:
            self.problems.append(f"the request of {call.agent!r} did not offer the declared way {via.tool!r}")
            return None
        suffix = self._on_delegate(child, act, (call.agent, instance))
        task = _join(filled(act.task), filled(act.constants), suffix, echo)
        arguments = _arguments(tool, via.argument, task) if via.argument else {}
        if via.selector:
            arguments = {**arguments, via.selector: child}
        return ToolUse(self._id(), via.tool, arguments)


def _join(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _name(tool: Mapping[str, Any]) -> str:
    inner = tool.get("function", tool)
    return str(inner.get("name", "")) if isinstance(inner, dict | Mapping) else ""


def _schema(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = tool.get("function", tool)
    return inner.get("parameters") or inner.get("input_schema") or {}


def _properties(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    return _schema(tool).get("properties") or {}


def _arguments(tool: Mapping[str, Any], wanted: str, text: str) -> dict[str, Any]:
    """Put `text` where the offered schema can hold it: the wanted parameter, else the first free string."""
    properties = _properties(tool)
    if wanted in properties or not properties:
        return {wanted: text} if properties else {}
    required = [name for name in _schema(tool).get("required", ()) if name in properties] or list(properties)
    strings = [name for name in required if properties[name].get("type", "string") == "string"]
    return {strings[0]: text} if strings else {}


def _all_text(call: ModelCall) -> str:
    parts = [_text_of(message.get("content")) for message in call.messages]
    parts += [_text_of(message.get("tool_calls")) for message in call.messages if "tool_calls" in message]
    # Each line once: a parrot that also repeats its own repetitions doubles its context with every call.
    lines = dict.fromkeys(line for part in parts if part for line in part.splitlines())
    return "\n".join(lines)[-_PARROT_LIMIT:]


def _json(text: str) -> Any:
    if not text.startswith(("{", "[", '"')):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text_of(content: Any) -> str:
    """The words of a message; JSON in strings is read, for a copy of a copy would double its escapes."""
    if isinstance(content, str):
        return _text_of(inner) if (inner := _json(content)) is not None else content
    if isinstance(content, Mapping):
        return "\n".join(filter(None, (_text_of(value) for value in content.values())))
    if isinstance(content, list | tuple):
        return "\n".join(filter(None, (_text_of(item) for item in content)))
    return ""
