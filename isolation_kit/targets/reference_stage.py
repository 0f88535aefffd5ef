"""What joins the reference runtime to a stage: puppets as models, scripted tools, recording hooks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from isolation_kit.runtime import (
    Dropped,
    Hooks,
    MemoryStore,
    Message,
    ModelReply,
    ModelRequest,
    NoHooks,
    ParentScope,
    Parts,
    RunLimits,
    Runtime,
    StepKey,
    SubAgentResult,
    TaskBrief,
    ToolCall,
    ToolSpec,
    keyed_digest,
)
from isolation_kit.runtime.clock import SteppedClock
from isolation_kit.runtime.launch import Launch, inline
from isolation_kit.runtime.messages import ToolFunction
from isolation_kit.runtime.several import Several
from isolation_kit.runtime.text import canonical
from isolation_kit.stage import ModelCall, Stage
from isolation_kit.target import Turn

Watch = Callable[[Stage], Iterable[Hooks]]  # who watches beside the stage, made anew for each case

__all__ = ["Session", "StageHooks", "StageModel", "System", "Watch", "logging_at_info"]


class StageModel:
    """The stage's puppet behind the runtime's model protocol."""

    def __init__(self, stage: Stage, agent: str) -> None:
        self._puppet = stage.model(agent)
        self._tools: dict[tuple[str, ...], tuple[dict[str, Any], ...]] = {}
        self._forms: dict[int, tuple[Message, dict[str, Any]]] = {}

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Ask the puppet."""
        reply = await self._puppet.reply(
            ModelCall(
                agent=request.agent,
                messages=tuple([self._chat(message) for message in request.messages]),
                tools=self._offered(request.tools),
                headers=request.headers,
            )
        )
        return ModelReply(reply.text, tuple(ToolCall(use.id, use.name, use.arguments) for use in reply.calls))

    def forget(self) -> None:
        """Let go of all messages: a child has ended."""
        self._forms.clear()

    def _chat(self, message: Message) -> dict[str, Any]:
        """A message's chat form; the next request repeats it, so it is kept until a child ends."""
        known = self._forms.get(id(message))
        if known is None or known[0] is not message:
            known = self._forms[id(message)] = (message, _chat_form(message))
        return known[1]

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
                "function": {"name": call.name, "arguments": call.text},
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


class StageHooks(NoHooks):
    """Tells the stage what only the runtime can see, and the models when to forget."""

    unguarded = True  # a moment that the stage could not record must break the case, not vanish from it

    def __init__(self, stage: Stage, root: str, models: Mapping[str, StageModel]) -> None:
        self._stage = stage
        self._root = root
        self._models = models

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """Record the brief as the child's context."""
        self._stage.record("child.context", agent, canonical(brief.to_dict()))

    def context_died(self, agent: str, ending: str) -> None:
        """Record the child's end."""
        if agent in self._models:
            self._models[agent].forget()
        self._stage.ended(agent)

    def result_up(self, agent: str, result: SubAgentResult) -> None:
        """Record the result that the parent accepted."""
        self._stage.record("result", agent, canonical(result.to_dict()))
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
class Session:
    """One user's session at the parent; its turns run one after another."""

    scope: ParentScope
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class System:
    """What both targets have in common: the wired runtime, the store, the sessions by user and name."""

    def __init__(
        self, stage: Stage, root: str, parts: Parts, launch: Launch = inline, watch: Watch | None = None
    ) -> None:
        models: dict[str, StageModel] = {}
        hooks: Hooks = StageHooks(stage, root, models)
        if watch is not None:
            hooks = Several(hooks, *watch(stage))
        tools: dict[tuple[str, str], ToolFunction] = {}
        limits = stage.limits

        def model(agent: str) -> StageModel:
            return models.setdefault(agent, StageModel(stage, agent))

        def tool(name: str, agent: str) -> ToolFunction:
            if (name, agent) not in tools:
                tools[name, agent] = stage.tool(name, agent)
            return tools[name, agent]

        self._stage = stage
        self._sessions: dict[tuple[str, str], Session] = {}
        self.store = MemoryStore(hooks.store_written)
        self.runtime = Runtime(
            model=model,
            tool=tool,
            # A fixed key: the same case must give the same bytes. A deployment draws its own.
            digest=keyed_digest(b"isolation-kit reference"),
            hooks=hooks,
            parts=parts,
            launch=launch,
            clock=SteppedClock(),  # nobody waits for a retry, and the same case has the same times
            limits=RunLimits(limits.window, limits.tool_output, limits.rounds, limits.timeout_ms),
        )

    async def session(self, turn: Turn, *opening: Message) -> Session:
        """The session of a turn; a new one starts with `opening`, the user's memory and a stored state."""
        key = (self.runtime.parts.user_key(turn.user), turn.session)
        session = self._sessions.get(key)
        if session is None:
            text = self._stage.text
            scope = ParentScope(
                user=key[0],
                session=text("parent.session_id", "session", turn=turn),
                history=[*opening, Message("system", text("parent.memory", "Known of the user:", turn=turn))],
                metadata={"x-session-tenant": text("parent.metadata", "tenant", turn=turn)},
            )
            session = self._sessions[key] = Session(scope)
            await self.store.append(
                scope.user, scope.session, {"state": text("parent.state", "greeted", turn=turn)}
            )
        return session


@contextmanager
def logging_at_info() -> Iterator[None]:
    """Let the runtime log at INFO, so that the log channel has something to show."""
    logger = logging.getLogger("isolation_kit.runtime")
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
