"""What stands in for models and tools: each answers from what it is asked, and from nothing else.

A user's text may mark its task, `... 〔what is to be done〕 ...`; without marks the whole text is the task. A
request may bring the raw reply of the child's tool, noise and all. The parent's model hands the task to its
child, the child's model looks it up and answers with the task and the reply's description, the parent passes
that on and recalls the turn before, as an assistant with a memory does: so a mixed-up task, reply or session
is heard in the answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from json import loads

from isolation_kit.runtime import Message, ModelReply, ModelRequest, ToolCall
from isolation_kit.runtime.messages import ToolFunction
from isolation_kit.runtime.planning import AGAIN

__all__ = ["ASKED", "Asked", "Backend", "ChildModel", "ParentModel", "tool_of", "went_wrong"]

DEFAULT_REPLY = '{"description": "on record", "status": "open", "amount": 42}'
_TASK = re.compile("〔([^〔〕]*)〕")
_WRONG = re.compile(r"That did not work: \w+\.(?:\n|\Z)")
_RECALLED = 200  # characters of the turn before


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Asked:
    """One turn as it was asked for. `reply`: the raw reply of the child's tool in this turn."""

    user: str
    session: str
    text: str
    reply: str = DEFAULT_REPLY


ASKED: ContextVar[Asked] = ContextVar("asked")  # the turn in whose task a piece of code runs


class Backend:
    """The system of records behind the child's tool, and the way to the models: one wait each.

    Args:
        latency: seconds of a call.
    """

    def __init__(self, latency: float) -> None:
        self.latency = latency

    async def wait(self) -> None:
        """Take as long as a call takes; others go on meanwhile."""
        await asyncio.sleep(self.latency)

    async def fetch(self, asked: Asked) -> str:
        """The raw reply for the turn `asked`."""
        await self.wait()
        return asked.reply


def tool_of(backend: Backend) -> ToolFunction:
    """The child's one tool."""

    async def lookup(query: str) -> str:
        return await backend.fetch(ASKED.get())

    return lookup


class ChildModel:
    """Looks the task up once, then answers."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer one request."""
        await self._backend.wait()
        last = request.messages[-1]
        asked = _inputs(request.messages)
        if last.role != "tool":
            return ModelReply("", (ToolCall("c1", "lookup", {"query": asked}),))
        return ModelReply(f"{asked}: {_description(last.content)}")


class ParentModel:
    """Hands the task down, then passes the answer on."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer one request."""
        await self._backend.wait()
        result = _fresh_result(request.messages)
        said = [message.content for message in request.messages if message.role == "user"]
        if result is None:
            marked = _TASK.findall(said[-1])
            return ModelReply("", (ToolCall("p1", "task", {"task": marked[-1] if marked else said[-1]}),))
        before = said[-3:-2]  # the goal of this turn is stated twice, see `runtime.planning`
        recalled = f"\nBefore that you asked: {before[0][:_RECALLED]}" if before else ""
        return ModelReply(f"{_answer(result)}{recalled}")


def _fresh_result(messages: Sequence[Message]) -> str | None:
    """The result that this turn's child brought, if it has ended."""
    last = messages[-1]
    if last.role == "user" and last.content.startswith(AGAIN):
        last = messages[-2]  # a cancelled turn leaves a tool's reply behind, but no goal stated again
    return last.content if last.role == "tool" else None


def _answer(report: str) -> str:
    value = loads(report)
    outputs = value.get("key_outputs") or {}
    return str(outputs.get("answer") or f"That did not work: {value.get('status', 'failed')}.")


def went_wrong(answer: str) -> bool:
    """True if `answer` tells that the child failed or was killed, and nothing else."""
    return _WRONG.match(answer) is not None


def _inputs(messages: Sequence[Message]) -> str:
    """The newest task among the messages; a clean child has one."""
    text = next(message.content for message in reversed(messages) if message.role == "user")
    inputs: dict[str, str] = loads(text)
    return " ".join(inputs[name] for name in ("request", "bill_id", "question") if inputs.get(name))


def _description(reply: str) -> str:
    try:
        value = loads(reply)
    except ValueError:
        return reply
    return str(value.get("description", "done")) if isinstance(value, dict) else "done"
