"""The isolation level `process`: each child in a process of its own, forked from one clean zygote.

    async with ProcessHost() as host:
        runtime = Runtime(..., launch=host.launch)

What that gives beyond `inline`: a child's memory dies with its process; it is ended by force at its time
limit, above its memory limit or when it floods its pipe, and with it all that it forked; of the parent's
memory, environment, arguments and descriptors it has nothing.

What it does not give, for a child runs as the same user, and that takes a container:

- Code that means harm can read that user's files and reach the network.
- It can signal any process of that user. Killing the zygote ends all children of this host, told as
  `killed`, and leaves nothing behind; so does killing the zygote's keeper. Killing both at once can leave a
  process that has fled from its child.
- `file_bytes=0` keeps bytes out of files that it writes to. It does not prevent empty files, folders,
  symbolic links and their names, attributes, or a change of an existing file through a memory map.
- Memory is looked at every 20 ms, and a child may pass its limit for so long. Not counted are clean pages of
  files and what the kernel holds for it (buffers of pipes and sockets). Memory that a child shares with what
  it forked counts in each of them, unless the parent is root and they are eight at most.
- System V segments that it made are removed after it; those that a short-lived process of its own made
  perhaps not; semaphores and message queues not.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from isolation_kit.errors import UsageError
from isolation_kit.runtime.bridge import TaskRequest, encode_result
from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.hooks import Ending
from isolation_kit.runtime.launch import begun
from isolation_kit.runtime.log import write
from isolation_kit.runtime.parts import CLEAN, ParentScope, Parts
from isolation_kit.runtime.process.control import Birth, Zygote, unavailable
from isolation_kit.runtime.process.converse import Conversation
from isolation_kit.runtime.process.endings import bug_of
from isolation_kit.runtime.process.entries import check_entries
from isolation_kit.runtime.process.frames import FrameError, FrameReader
from isolation_kit.runtime.process.orders import Event, Report
from isolation_kit.runtime.process.pipe import Pipe
from isolation_kit.runtime.result import Reason, Status, SubAgentResult
from isolation_kit.runtime.wiring import Runtime

__all__ = ["ProcessHost", "ProcessLimits"]

_T = TypeVar("_T")
_MIB = 1024 * 1024
_GRACE_SECONDS = 0.1
_REFUSED = {
    Reason.OUTPUT_LIMIT: Status.KILLED,
    Reason.ROUND_LIMIT: Status.NEEDS_REVIEW,
    Reason.WINDOW_FULL: Status.NEEDS_REVIEW,
}
_CRASHES = (Reason.CHILD_CRASHED, Reason.PROGRAM_ERROR)
_IN_THE_CHILD = ("new_child", "child_context", "pack_result")


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a child's process may take, beside its contract's time and memory.

    Args:
        frame_bytes: bytes of one message to the parent.
        total_bytes: bytes of all its messages to the parent.
        file_bytes: bytes of a file that it writes; 0 lets it write none.
        frames: number of all its messages to the parent.
        calls: of its tools, its own children and the shelf, together. Its model calls are `RunLimits.rounds`.
    """

    frame_bytes: int = 4 * _MIB
    total_bytes: int = 64 * _MIB
    file_bytes: int = 0
    frames: int = 20_000
    calls: int = 1000


@dataclass(slots=True)
class ProcessHost:
    """Owns one zygote, started at the first launch; every child of `launch` is forked from it.

    It belongs to one event loop. If the zygote dies, the children that live die, and the next launch starts a
    new one.

    Args:
        entries: `module:function` by a child's name: code of the user's that runs in the child's process
            instead of the usual rounds: `def run(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]`,
            which returns the child's key outputs (see `Entry`).
        preload: modules that the zygote loads once, so that no child has to. Name "jsonschema" where output
            schemas use more than the everyday keywords of `runtime.rules`: each child would load it.

    Raises:
        UsageError: for an entry whose module cannot be found. (It is looked up, not imported.)
    """

    limits: ProcessLimits = field(default_factory=ProcessLimits)
    entries: Mapping[str, str] = field(default_factory=dict)
    preload: tuple[str, ...] = ()
    _zygote: Zygote | None = field(default=None, repr=False)
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    def __post_init__(self) -> None:
        check_entries(self.entries)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Kill the children that live, and the zygote. A later launch starts a new one."""
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await zygote.close()

    async def launch(
        self, runtime: Runtime, scope: ParentScope, spec: ChildSpec, request: TaskRequest
    ) -> bytes:
        """The bytes of the result of a child that lived and died in a process of its own.

        Raises:
            UsageError: if this platform cannot do it, or a seam was replaced that lies within the child.
            KitError: if the system has no descriptor or process left for it.
        """
        _check_seams(runtime.parts)
        child, headers = begun(runtime, scope, spec, request.brief)
        ours, birth, zygote = await self._born(spec)
        pipe = Pipe(ours, FrameReader(self.limits.frame_bytes, self.limits.total_bytes), self.limits.frames)
        entry = self.entries.get(spec.name, "")
        talk = Conversation(runtime, child, request, headers, pipe, self.limits.calls, entry)
        ending: Ending = "cancelled"
        try:
            outcome = await _outcome(talk, birth, request.timeout_ms / 1000)
            ending = "ended"
        finally:
            ours.close()
            report, cancelled = await _to_its_end(zygote.end(birth))
            if report.peak:
                runtime.hooks.memory_peaked(spec.name, report.peak)
            if talk.born:
                runtime.hooks.context_died(spec.name, ending)
        if cancelled is not None:
            raise cancelled
        if isinstance(outcome, bytes) and report.event is not Event.LOST:
            return outcome
        # Without a zygote nobody can say whether it was the child that sent a result.
        status, reason = _cause(report) if isinstance(outcome, bytes) else outcome
        if reason in _CRASHES:
            line = runtime.parts.error_line(spec.name, reason, bug_of(report.value), "")
            write(runtime.hooks, spec.name, logging.ERROR, line, spec.contract.log_threshold)
        return encode_result(SubAgentResult(request.brief.task_id, status, errors=(reason,)).to_dict())

    async def _born(self, spec: ChildSpec) -> tuple[socket.socket, Birth, Zygote]:
        """The pipe, the birth and the zygote of a new child. A dead zygote is replaced, once."""
        for attempt in range(2):
            zygote = await self._ready()
            try:
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            except OSError as error:
                raise unavailable(error) from None
            ours.setblocking(False)
            with theirs:
                try:
                    birth = await zygote.order(theirs, spec.contract.memory_limit_mb, self.limits.file_bytes)
                    return ours, birth, zygote
                except BaseException as error:
                    ours.close()
                    if not isinstance(error, OSError):
                        raise
                    if attempt:
                        raise unavailable(error) from None
        raise AssertionError("two attempts return or raise")

    async def _ready(self) -> Zygote:
        async with self._starting:
            zygote = self._zygote
            if zygote is not None and zygote.loop is not asyncio.get_running_loop():
                raise UsageError(
                    "this ProcessHost was started in another event loop; give each loop its own host, for "
                    "example `async with ProcessHost() as host:` inside asyncio.run"
                )
            if zygote is None or zygote.lost:
                zygote = self._zygote = await Zygote.started(self.preload)
            return zygote


async def _to_its_end(work: Coroutine[Any, Any, _T]) -> tuple[_T, asyncio.CancelledError | None]:
    """The value of `work`, which nothing cuts short, and the last cancellation that came meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    return task.result(), cancelled


async def _outcome(talk: Conversation, birth: Birth, seconds: float) -> bytes | tuple[Status, Reason]:
    """The bytes of the child's result, or how it ended without one."""
    clock = asyncio.timeout(seconds)

    def cut_short(gone: asyncio.Future[Report]) -> None:
        """A dead child's last frames count and its questions do not; without a zygote nothing counts."""
        talk.over = True
        if talk.asking or gone.result().event is Event.LOST:
            with contextlib.suppress(RuntimeError):  # it has just ended by itself
                clock.reschedule(asyncio.get_running_loop().time())

    try:
        async with clock:
            birth.gone.add_done_callback(cut_short)
            result = await talk.result()
            if result is not None:
                return result
            # A process takes a moment to end after its pipe; one that only closed the pipe goes on living.
            await asyncio.wait([birth.gone], timeout=_GRACE_SECONDS)
    except TimeoutError:
        if not talk.over:
            return Status.TIMEOUT, Reason.TIMEOUT
    except FrameError as error:
        reason = Reason(str(error))
        return _REFUSED.get(reason, Status.FAILED), reason
    finally:
        birth.gone.remove_done_callback(cut_short)
    return _cause(birth.gone.result() if birth.gone.done() else None)


def _cause(report: Report | None) -> tuple[Status, Reason]:
    """Why a child ended that sent no result; None stands for one that lives on."""
    if report is None:
        return Status.FAILED, Reason.PIPE_CLOSED
    if report.event is Event.LOST:
        return Status.KILLED, Reason.KILLED
    if report.event is Event.GONE_OVER_MEMORY:
        return Status.KILLED, Reason.MEMORY_LIMIT
    if report.event is Event.NOT_BORN:
        return Status.FAILED, Reason.CHILD_CRASHED
    if os.WIFSIGNALED(report.value):
        return Status.KILLED, Reason.KILLED
    if bug_of(report.value) is not None:
        return Status.FAILED, Reason.PROGRAM_ERROR
    return Status.FAILED, Reason.PIPE_CLOSED if report.value == 0 else Reason.CHILD_CRASHED


def _check_seams(parts: Parts) -> None:
    replaced = [name for name in _IN_THE_CHILD if getattr(parts, name) is not getattr(CLEAN, name)]
    if replaced:
        raise UsageError(
            f"the seams {', '.join(replaced)} were replaced, but they lie within the child, and a child in a "
            "process of its own runs the clean ones; use launch=inline with these parts"
        )
