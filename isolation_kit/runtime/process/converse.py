"""The parent's side of a child's pipe: answer what the child asks, record on receipt, trust nothing.

A child can say what its messages are, and nothing else of itself: its name, its tools, its headers and its
limits are the parent's. What it may not say is refused by a `FrameError`, and its process is ended.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from isolation_kit.runtime.bridge import TaskRequest
from isolation_kit.runtime.child import Child, offered
from isolation_kit.runtime.contract import inner_timeout_ms
from isolation_kit.runtime.faults import PROGRAM_ERRORS, NoReplyError
from isolation_kit.runtime.fields import REPORTS, Dropped
from isolation_kit.runtime.foreign import contained, said_by
from isolation_kit.runtime.log import write
from isolation_kit.runtime.messages import ModelReply, ModelRequest, ToolCall, ToolSpec
from isolation_kit.runtime.process.allowance import Allowance
from isolation_kit.runtime.process.frames import Frame, FrameError, Kind, packed, values
from isolation_kit.runtime.process.pipe import Pipe
from isolation_kit.runtime.process.plain import (
    CODES,
    PROGRAM_ERROR,
    call_of,
    drops_of,
    messages_of,
    plain_reply,
    plain_start,
    text_of,
)
from isolation_kit.runtime.text import encodable
from isolation_kit.runtime.tools import call_tool, refusal
from isolation_kit.runtime.wiring import Runtime

__all__ = ["Conversation"]

_MOST_DROPPED = 4 * REPORTS  # of a child; an honest one has one result to drop from
_ASKING = frozenset({Kind.MODEL, Kind.TOOL, Kind.HAND_DOWN, Kind.SHELVE})


def _plain(reply: ModelReply) -> list[Any]:
    """A reply as a frame takes it.

    Raises:
        NoReplyError: for what has no place in a frame.
    """
    try:
        answer = plain_reply(reply)
        packed(Kind.REPLY, answer)
    except Exception:
        raise NoReplyError from None
    return answer


@dataclass(slots=True)
class Conversation:
    """One child's conversation with its parent.

    Args:
        child: what the parent holds of the child; its process holds the rest.
        headers: of the child's model requests.
        entry: `module:function` to run instead of the usual child, or "".
        calls: of tools and the like, at most.
        born: True once the child has begun.
        over: True once it is gone: what it has sent before still counts, but nobody waits for an answer.
        asking: True while the parent works on an answer.
    """

    runtime: Runtime
    child: Child
    request: TaskRequest
    headers: Mapping[str, str]
    pipe: Pipe
    calls: int
    entry: str = ""
    born: bool = False
    over: bool = False
    asking: bool = False
    _allowed: Allowance = field(init=False, repr=False)
    _dropped: int = 0
    _ends: float = math.inf
    _error: Exception | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        contract, limits = self.child.spec.contract, self.runtime.limits
        window, count = contract.context_window_size, self.runtime.count
        self._allowed = Allowance(limits.rounds, self.calls, window, self._offered(), count)

    async def result(self) -> bytes | None:
        """Serve the child until it sends the bytes of its result; None if it closes its pipe before.

        Raises:
            FrameError: with a reason code, if it breaks the protocol or a limit.
        """
        runtime, child = self.runtime, self.child
        shelves = child.shelve is not None
        start = plain_start(
            self.request.brief, child.spec, runtime.count, runtime.limits, self.entry, shelves
        )
        await self.pipe.send(Kind.START, start)
        while (frame := await self.pipe.receive()) is not None:
            if frame.kind is Kind.RESULT:
                return frame.data
            if frame.kind not in _ASKING:
                self._note(frame)
            elif self.over:
                return None
            else:
                self.asking = True
                await self._answer(frame)
                self.asking = False
        return None

    async def _answer(self, frame: Frame) -> None:
        raw = values(frame)
        if frame.kind is not Kind.MODEL:
            self._allowed.take_call()
        match frame.kind, raw:
            case Kind.MODEL, [int(same), new] if 0 <= same <= len(self.child.memory):
                messages = messages_of(new)
                self._allowed.take_round(same, messages)
                self.child.memory[same:] = messages
                await self._ask_model()
            case Kind.HAND_DOWN, _:
                await self._hand_down(call_of(raw))
            case Kind.SHELVE, str(text) if self.child.shelve is not None and encodable(text):
                await self._reply(self.child.shelve(text))
            case Kind.TOOL, [str(name), str(query)]:
                await self._call_tool(name, query)
            case _:
                raise FrameError("bad_frame")

    def _note(self, frame: Frame) -> None:
        match frame.kind, values(frame):
            case Kind.BORN, raw if not self.born:
                context = messages_of(raw)
                self.born = True
                limit_ms = self.runtime.limits.timeout_of(self.child.spec.contract)
                self._ends = asyncio.get_running_loop().time() + inner_timeout_ms(limit_ms) / 1000
                self.runtime.hooks.context_born(self.child.spec.name, self.request.brief, context)
            case Kind.ALARM, str(reason) if reason in CODES:
                task_id = self.request.brief.task_id
                self.runtime.hooks.alarm(self.child.spec.name, reason, self.child.chain.trace_id or task_id)
            case Kind.POLLUTION, raw:
                self._report(drops_of(raw))
            case Kind.LOG, [int(level), line]:
                self._log(level, text_of(line))
            case _:
                raise FrameError("bad_frame")

    def _report(self, drops: list[Dropped]) -> None:
        """Tell what was dropped, up to a number that an honest child keeps."""
        self._dropped += len(drops)
        if self._dropped > _MOST_DROPPED:
            raise FrameError("output_limit")
        for dropped in drops:
            value = dropped.digest.encode("utf-8", "surrogatepass")
            digest = self.runtime.digest(value) if dropped.kind != "rest" else ""
            task_id = self.request.brief.task_id
            self.runtime.hooks.pollution(self.child.spec.name, task_id, replace(dropped, digest=digest), "")

    @property
    def _threshold(self) -> int:
        return self.child.spec.contract.log_threshold

    async def _ask_model(self) -> None:
        runtime, name = self.runtime, self.child.spec.name
        request = ModelRequest(name, tuple(self.child.memory), self._offered(), self.headers)
        runtime.hooks.request_built(request)
        if self._threshold <= logging.INFO:
            line = runtime.parts.request_line(request, runtime.digest)
            write(runtime.hooks, name, logging.INFO, line)
        reply: ModelReply | None = None
        answer: list[Any] | str | None = None
        task = asyncio.current_task()
        try:
            reply = await runtime.model(name).reply(request)
            answer = _plain(reply)
            said = said_by(reply)
            self._allowed.take_reply(said)
        except BaseException as error:  # a model client is foreign code: its text must not go down
            if not contained(error, task):
                raise
            reply, self._error = None, error if isinstance(error, Exception) else None
            answer = PROGRAM_ERROR if isinstance(error, PROGRAM_ERRORS) else None
        else:
            self._error = NoReplyError()  # if the child calls this a failure, it could not count it
            self.child.memory.append(said)
        runtime.hooks.model_replied(name, reply)
        await self._reply(answer)

    async def _call_tool(self, name: str, query: str) -> None:
        tool = next((tool for tool in self._offered() if tool.name == name), None)
        if tool is None:
            text = refusal("unknown_tool").text
        else:
            call = ToolCall("", name, {tool.parameter: query})
            spec, task_id = self.child.spec, self.request.brief.task_id
            text = await call_tool(self.runtime, spec.name, task_id, tool, call, spec.contract, self._ends)
        await self._reply(text)

    async def _hand_down(self, call: ToolCall) -> None:
        way = next((way for way in self.child.spec.children if way.tool.name == call.name), None)
        if way is None or way.tool not in self._offered():
            raise FrameError("bad_frame")
        await self._reply(await way.hand_down(self.runtime, self.child, call))

    async def _reply(self, value: object) -> None:
        await self.pipe.send(Kind.REPLY, value)

    def _offered(self) -> tuple[ToolSpec, ...]:
        return offered(self.child.spec, self.request.brief)

    def _log(self, level: int, line: str) -> None:
        """Write what the child says of itself: a reason code as it is, any other text as size and digest."""
        runtime, name = self.runtime, self.child.spec.name
        if level == 0 and line in CODES:
            text = runtime.parts.error_line(name, line, self._error, "")
            write(runtime.hooks, name, logging.ERROR, text, self._threshold)
            return
        digest = runtime.digest(line.encode("utf-8", "surrogatepass"))
        text = f"log agent={name} characters={len(line)} digest={digest}"
        write(runtime.hooks, name, min(max(level, logging.DEBUG), logging.CRITICAL), text, self._threshold)
