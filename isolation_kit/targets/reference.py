"""The reference runtime as two targets: a parent model that calls `task`, and a parent that routes by rules.

The builders take a function that makes the seams, so that a seeded defect is the same target with one seam
replaced, made anew for each case.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from isolation_kit.runtime import (
    CLEAN,
    AllowList,
    ChildSpec,
    Dropped,
    MemoryStore,
    Message,
    ModelReply,
    ModelRequest,
    NoHooks,
    ParentScope,
    Parts,
    Rule,
    RulesParent,
    RunLimits,
    Runtime,
    StepKey,
    TaskBrief,
    TaskParent,
    ToolCall,
    ToolSpec,
    keyed_digest,
    rules_turn,
    task_tool,
    task_turn,
)
from isolation_kit.runtime.bridge import brief_schema
from isolation_kit.runtime.messages import ToolFunction
from isolation_kit.runtime.result import ANSWER, envelope
from isolation_kit.runtime.text import canonical
from isolation_kit.stage import ModelCall, Stage
from isolation_kit.target import Agent, Tool, Turn, Via, target

__all__ = ["make_reference_rules", "make_reference_task", "reference_rules", "reference_task"]

Say = Callable[[Turn], Awaitable[str]]
Factory = Callable[[Stage], AsyncIterator[Say]]
NewParts = Callable[[], Parts]

_LINE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "amount": {"type": "number"},
        "description": {"type": "string"},
    },
}
LOOKUP_FIELDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "currency": {"type": "string"},
        "date": {"type": "string"},
        "description": {"type": "string"},
        "status": {"type": "string"},
        "items": {"type": "array", "items": _LINE},
        "data": _LINE,
    },
}
SEARCH_FIELDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "snippet": {"type": "string"}},
            },
        },
        "data": _LINE,
    },
}
TASK_INPUTS: dict[str, Any] = {
    "type": "object",
    "required": ["request"],
    "properties": {"request": {"type": "string"}},
}
BILL_INPUTS: dict[str, Any] = {
    "type": "object",
    "required": ["person"],
    "properties": {
        "person": {"type": "string"},
        "request": {"type": "string"},
        "bill_id": {"type": "string", "pattern": r"^[A-Za-z0-9_-]{1,64}$"},
        "question": {"type": "string"},
    },
}

_LOOKUP = ToolSpec("lookup", "Look a record up by its reference.", fields=AllowList(LOOKUP_FIELDS))
_SEARCH = ToolSpec("search", "Search the documents.", fields=AllowList(SEARCH_FIELDS))
_CONSTANTS = "Amounts are in CNY; dates are ISO 8601."
_ANSWER_ONLY = ("The result answers the goal and nothing else.",)

WORKER = ChildSpec(
    name="worker",
    goal="Carry out the request given as input.",
    tools=(_LOOKUP, _SEARCH),
    inputs=TASK_INPUTS,
    acceptance=_ANSWER_ONLY,
    constants=_CONSTANTS,
)
BILL_QUERY = ChildSpec(
    name="bill_query",
    goal="Look the bill up and answer the question about it, if there is one.",
    tools=(_LOOKUP,),
    inputs=BILL_INPUTS,
    acceptance=_ANSWER_ONLY,
    constants=_CONSTANTS,
)
PDF_EXPORT = ChildSpec(
    name="pdf_export",
    goal="Export the bill as a PDF and say where it lies.",
    tools=(_LOOKUP,),
    inputs=BILL_INPUTS,
    acceptance=_ANSWER_ONLY,
    constants=_CONSTANTS,
)

_SUBJECT = r"(?P<subject>(?:(?![的查])[\w·' -]){0,40})"
_REFERENCE = r"编号\s*(?:〔(?P<text>[^〕]*)〕|(?P<id>[0-9A-Za-z_-]+))"
RULES = (
    Rule("query", "billing", "bill_query", re.compile(f"查{_SUBJECT}的账单 {_REFERENCE}")),
    Rule("export", "billing", "pdf_export", re.compile(f"导出{_SUBJECT}的账单 {_REFERENCE}")),
    Rule(
        "cheapest",
        "billing",
        "bill_query",
        re.compile(rf"(?:^|(?<=[^\w·'-])){_SUBJECT}的账单最便宜吗"),
        question="is it the cheapest one?",
    ),
)
TRIGGERS = {
    "bill_query": "查{subject}的账单 编号〔{task}〕",
    "pdf_export": "导出{subject}的账单 编号〔{task}〕",
}
FOLLOW_UPS = {"bill_query": "{subject}的账单最便宜吗"}


def _child(spec: ChildSpec) -> Agent:
    return Agent(
        tools=tuple(Tool(tool.name, tool.fields.schema if tool.fields else None) for tool in spec.tools),
        brief=brief_schema(spec.inputs),
        result=envelope(ANSWER),
    )


class _StageModel:
    """The stage's puppet behind the runtime's model protocol."""

    def __init__(self, stage: Stage, agent: str) -> None:
        self._puppet = stage.model(agent)
        self._tools: dict[tuple[str, ...], tuple[dict[str, Any], ...]] = {}

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Ask the puppet."""
        reply = await self._puppet.reply(
            ModelCall(
                agent=request.agent,
                messages=tuple(_chat_form(message) for message in request.messages),
                tools=self._offered(request.tools),
                headers=request.headers,
            )
        )
        return ModelReply(reply.text, tuple(ToolCall(use.id, use.name, use.arguments) for use in reply.calls))

    def _offered(self, tools: tuple[ToolSpec, ...]) -> tuple[dict[str, Any], ...]:
        names = tuple(tool.name for tool in tools)
        if names not in self._tools:
            self._tools[names] = tuple(_function_form(tool) for tool in tools)
        return self._tools[names]


def _chat_form(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        out["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": canonical(dict(call.arguments))},
            }
            for call in message.calls
        ]
    if message.call_id:
        out["tool_call_id"] = message.call_id
    return out


def _function_form(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
    }


class _StageHooks(NoHooks):
    """Tells the stage what only the runtime can see."""

    def __init__(self, stage: Stage, root: str) -> None:
        self._stage = stage
        self._root = root

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """Record the brief as the child's context."""
        self._stage.record("child.context", agent, canonical(brief.to_dict()))

    def context_died(self, agent: str, ending: str) -> None:
        """Record the child's end."""
        self._stage.ended(agent)

    def result_up(self, agent: str, data: bytes) -> None:
        """Record the result that the parent accepted."""
        self._stage.record("result", agent, data)
        self._stage.responded()

    def pollution(self, agent: str, task_id: str, dropped: Dropped, source_tool: str) -> None:
        """Pass POLLUTION_DETECTED on."""
        self._stage.polluted(
            task=task_id,
            path=dropped.path,
            kind=dropped.kind,
            length=dropped.length,
            digest=dropped.digest,
            source_tool=source_tool,
        )

    def store_written(self, key: StepKey, data: bytes) -> None:
        """Record what was stored, with the step's number as key."""
        self._stage.record("store", self._root, data, key=f"step {key.step}")

    def refused(self, agent: str, reason: str) -> None:
        """Record that a child did not start."""
        self._stage.refused(agent, reason)


@dataclass(slots=True)
class _Session:
    """One user's session at the parent; its turns run one after another."""

    scope: ParentScope
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class _System:
    """What both targets have in common: the wired runtime, the store, the sessions by user and name."""

    def __init__(self, stage: Stage, root: str, parts: Parts) -> None:
        hooks = _StageHooks(stage, root)
        models: dict[str, _StageModel] = {}
        tools: dict[tuple[str, str], ToolFunction] = {}
        limits = stage.limits

        def model(agent: str) -> _StageModel:
            return models.setdefault(agent, _StageModel(stage, agent))

        def tool(name: str, agent: str) -> ToolFunction:
            if (name, agent) not in tools:
                tools[name, agent] = stage.tool(name, agent)
            return tools[name, agent]

        self._stage = stage
        self._sessions: dict[tuple[str, str], _Session] = {}
        self.store = MemoryStore(hooks.store_written)
        self.runtime = Runtime(
            model=model,
            tool=tool,
            # A fixed key: the same case must give the same bytes. A deployment draws its own.
            digest=keyed_digest(b"isolation-kit reference"),
            hooks=hooks,
            parts=parts,
            limits=RunLimits(limits.window, limits.tool_output, limits.rounds, limits.timeout_ms),
        )

    async def session(self, turn: Turn, *opening: Message) -> _Session:
        """The session of a turn; a new one starts with `opening`, the user's memory and a stored state."""
        key = (turn.user, turn.session)
        session = self._sessions.get(key)
        if session is None:
            text = self._stage.text
            scope = ParentScope(
                user=turn.user,
                session=text("parent.session_id", "session", turn=turn),
                history=[*opening, Message("system", text("parent.memory", "Known of the user:", turn=turn))],
                metadata={"x-session-tenant": text("parent.metadata", "tenant", turn=turn)},
            )
            session = self._sessions[key] = _Session(scope)
            await self.store.append(
                scope.user, scope.session, {"state": text("parent.state", "greeted", turn=turn)}
            )
        return session


@contextmanager
def _logging() -> Iterator[None]:
    """Let the runtime log at INFO, so that the log channel has something to show."""
    logger = logging.getLogger("isolation_kit.runtime")
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)


def make_reference_task(new_parts: NewParts, name: str) -> Factory:
    """The target of article 001, a parent model that calls `task`, with the seams that `new_parts` makes."""

    async def reference(stage: Stage) -> AsyncIterator[Say]:
        system = _System(stage, "parent", new_parts())
        description = stage.text("parent.tool.description", "Hand a task to a worker with a fresh context.")
        parent = TaskParent(
            name="parent",
            system=stage.text("parent.system", "Plan, delegate by `task`, and answer the user."),
            tools=(_SEARCH,),
            delegations={"task": (task_tool(description), WORKER)},
        )

        async def say(turn: Turn) -> str:
            session = await system.session(turn, Message("system", parent.system))
            async with session.lock:
                return await task_turn(system.runtime, parent, session.scope, turn.text)

        with _logging():
            yield say

    reference.__name__ = reference.__qualname__ = name
    agents = {
        "parent": Agent(children={"worker": Via("task")}, tools=(Tool("search", SEARCH_FIELDS),)),
        "worker": _child(WORKER),
    }
    return target(root="parent", agents=agents, taps=("child.context", "result", "store"))(reference)


def make_reference_rules(new_parts: NewParts, name: str) -> Factory:
    """The target of article 000, a parent that routes by rules, with the seams that `new_parts` makes."""

    async def reference(stage: Stage) -> AsyncIterator[Say]:
        system = _System(stage, "parent", new_parts())
        children = {spec.name: spec for spec in (BILL_QUERY, PDF_EXPORT)}
        parent = RulesParent("parent", RULES, children, system.store)

        async def say(turn: Turn) -> str:
            session = await system.session(turn)
            async with session.lock:
                return await rules_turn(system.runtime, parent, session.scope, turn.text)

        with _logging():
            yield say

    reference.__name__ = reference.__qualname__ = name
    agents = {
        "parent": Agent(children={"bill_query": Via(""), "pdf_export": Via("")}),
        "bill_query": _child(BILL_QUERY),
        "pdf_export": _child(PDF_EXPORT),
    }
    return target(
        root="parent",
        agents=agents,
        triggers=TRIGGERS,
        follow_ups=FOLLOW_UPS,
        taps=("child.context", "result", "store"),
    )(reference)


def _clean() -> Parts:
    return CLEAN


reference_task = make_reference_task(_clean, "reference_task")
reference_rules = make_reference_rules(_clean, "reference_rules")
