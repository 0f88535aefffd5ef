"""The life of a child in a process of its own, as the child sees it.

It holds its brief, its messages and one pipe. Models and tools are at the other end: what it asks for
is sent, and the parent, which has the credentials, the script and the recorder, answers. The key of
digests stays there too, so the parent writes the log: the child only says the code of what happened.
"""

from __future__ import annotations

import asyncio
import logging
import pkgutil
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from isolation_kit.runtime.bridge import encode_result
from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.child import Child, run_child
from isolation_kit.runtime.context import build_child_context
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.hooks import NoHooks
from isolation_kit.runtime.log import CHILD_LOGGER
from isolation_kit.runtime.messages import Message, ModelReply, ModelRequest, ToolCall, ToolSpec
from isolation_kit.runtime.parts import CLEAN
from isolation_kit.runtime.process.frames import (
    Kind,
)
from isolation_kit.runtime.process.link import ChildLink, Entry
from isolation_kit.runtime.process.plain import brief_of, plain_call, plain_messages, spec_of
from isolation_kit.runtime.result import Status, SubAgentResult
from isolation_kit.runtime.text import Digest
from isolation_kit.runtime.tools import ToolText
from isolation_kit.runtime.wiring import RunLimits, Runtime

__all__ = ["live"]

_BATCH = 100
_BATCH_SIZE = 64 * 1024  # characters


def live(pipe: socket.socket) -> None:
    """Read the task, do it, send the result."""
    link = ChildLink(pipe)
    start = link.receive(Kind.START)
    brief = brief_of(start["brief"])
    context = () if start["entry"] else build_child_context(brief)
    link.send(Kind.BORN, plain_messages(context))
    logging.getLogger(CHILD_LOGGER).disabled = True
    logging.basicConfig(level=start["log_level"], handlers=[_Forwarding(link)], force=True)
    if start["entry"]:
        entry: Entry = pkgutil.resolve_name(start["entry"])
        result = SubAgentResult(brief.task_id, Status.SUCCEEDED, entry(brief, link))
    else:
        with closing(asyncio.new_event_loop()) as loop:
            result = loop.run_until_complete(_run(link, start, brief, context))
    link.send(Kind.RESULT, encode_result(result.to_dict()))


async def _run(
    link: ChildLink, start: Mapping[str, Any], brief: TaskBrief, context: tuple[Message, ...]
) -> SubAgentResult:
    telling = _Telling(link)
    runtime = Runtime(
        model=lambda agent: _RemoteModel(link),
        tool=lambda name, agent: partial(_remote_tool, link, name),
        digest=_itself,
        hooks=telling,
        parts=replace(
            CLEAN, request_line=_unwritten, filter_tool_result=_filtered_already, error_line=_code_only
        ),
        limits=RunLimits(**start["limits"]),
        count=pkgutil.resolve_name(start["count"]),
    )
    child = Child(spec_of(start["spec"], partial(_RemoteWay, link)))
    if start["shelves"]:
        child.shelve = partial(_remote_shelf, link)
    result = await run_child(runtime, child, brief, context, {})
    telling.flush()
    return result


@dataclass(frozen=True, slots=True)
class _RemoteModel:
    link: ChildLink

    async def reply(self, request: ModelRequest) -> ModelReply:
        # It blocks, as this process has nothing else to do; its parent keeps the time.
        return self.link.model(request.messages)


async def _remote_tool(link: ChildLink, name: str, query: str) -> str:
    return link.tool(name, query)


def _remote_shelf(link: ChildLink, text: str) -> str:
    return str(link.ask(Kind.SHELVE, text))


@dataclass(frozen=True, slots=True)
class _RemoteWay:
    """A way to a child of this child: the parent knows it, and starts it beside this one."""

    link: ChildLink
    tool: ToolSpec

    async def hand_down(self, runtime: Runtime, layer: Child, call: ToolCall) -> str:
        return str(self.link.ask(Kind.HAND_DOWN, plain_call(call)))


@dataclass(slots=True)
class _Telling(NoHooks):
    """Tells the parent what only the child knows; the rest the parent sees on receipt."""

    link: ChildLink
    unguarded: ClassVar[bool] = True  # a child that cannot tell its parent has no business to go on
    _untold: list[list[Any]] = field(default_factory=list)
    _size: int = 0

    def pollution(self, agent: str, task_id: str, dropped: Dropped, source_tool: str) -> None:
        self._untold.append([dropped.path, dropped.kind, dropped.length, dropped.digest])
        self._size += len(dropped.digest)
        if len(self._untold) == _BATCH or self._size > _BATCH_SIZE:
            self.flush()

    def flush(self) -> None:
        """Send what was dropped and is not told yet."""
        if self._untold:
            self.link.send(Kind.POLLUTION, self._untold)
        self._untold, self._size = [], 0

    def alarm(self, agent: str, reason: str, trace_id: str) -> None:
        self.link.send(Kind.ALARM, reason)

    def log_line(self, agent: str, line: str) -> None:
        if line:
            self.link.send(Kind.LOG, [0, line])


class _Forwarding(logging.Handler):
    """Sends what code in the child logs to the parent, which writes its size and digest."""

    def __init__(self, link: ChildLink) -> None:
        super().__init__()
        self._link = link

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except Exception:  # arguments that do not fit: a library's slip, and no reason for a child to die
            text = record.msg if isinstance(record.msg, str) else ""
        self._link.send(Kind.LOG, [max(1, record.levelno), text])


def _itself(data: bytes) -> str:
    """In place of a digest the value: the parent makes the digest, for only it has the key."""
    return data.decode("utf-8", "surrogatepass")


def _unwritten(request: ModelRequest, digest: Digest) -> str:
    return ""


def _filtered_already(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
    return ToolText(raw)


def _code_only(agent: str, reason: str, error: Exception | None, at_hand: str) -> str:
    return reason
