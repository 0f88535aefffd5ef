"""The zygote: a clean process that forks one child for each delegation and buries it.

One child is forked ahead and waits for its task, rehearsed, for fork and rehearsal take longer than all the
rest of a start. It is used once, like any other. It is forked when nobody has asked for anything for a few
milliseconds, so that it takes no time from the child that was just started.

It was exec'd, so nothing of its parent's memory is in it; it holds one socket; it never sees a task, so no
child can inherit another one's. It has one thread, as what forks must. It adopts orphans, as each child does:
a process that a child forked, and that fled into a session of its own, stays below that child and becomes the
zygote's when the child dies; and what is the zygote's but was not forked by it is killed. Above it is its
keeper.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import time
from dataclasses import dataclass, field

from isolation_kit.runtime.process import endings
from isolation_kit.runtime.process.birth import REQUEST_BYTES, be_born
from isolation_kit.runtime.process.keeper import keep, kill_strays
from isolation_kit.runtime.process.linux import adopt_orphans, unreadable
from isolation_kit.runtime.process.memory import held, is_over, remove_segments, tree_of
from isolation_kit.runtime.process.orders import (
    Event,
    Order,
    Report,
    Request,
    pack_report,
    pack_request,
    request_of,
)
from isolation_kit.runtime.process.rehearsal import rehearse

__all__ = ["CONTROL", "main"]

CONTROL = 0  # the parent's socket comes as standard input: no number has to be told
_WATCH_MS = 20
_QUIET_MS = 2  # a start takes about as long
_MIB = 1024 * 1024
_PRELOAD_BYTES = 64 * 1024


@dataclass(slots=True)
class _Living:
    """A child that was forked and not yet reaped.

    Args:
        post: where its order goes; None once it has it.
        number: its delegation's; 0 while it waits.
        most: bytes of memory.
        seen: it and what was seen below it.
    """

    pid: int
    pidfd: int
    post: socket.socket | None
    number: int = 0
    most: int = 0
    over_memory: bool = False
    seen: set[int] = field(default_factory=set)


def main() -> None:
    """Serve the parent until it closes its end or dies."""
    parent = os.getppid()
    control = socket.socket(fileno=os.dup(CONTROL))
    _silence(CONTROL)
    adopt_orphans()
    unreadable()
    keeper = os.getpid()
    if zygote := os.fork():
        keep(zygote)
    adopt_orphans()  # this one is not inherited
    for name in filter(None, control.recv(_PRELOAD_BYTES).decode().split("\0")):
        importlib.import_module(name)
    rehearse()  # what is made at first use is made here, once, for all children
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, every page of its zygote
    control.send(pack_report(Report(Event.READY, 0, os.getpid())))
    _Zygote(control, parent, keeper).serve()


def _silence(*descriptors: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(null, descriptor)
    os.close(null)


class _Zygote:
    """The children that live, by the descriptor that tells of their end."""

    def __init__(self, control: socket.socket, parent: int, keeper: int) -> None:
        self._control = control
        self._above = (os.pidfd_open(parent), os.pidfd_open(keeper))
        self._living: dict[int, _Living] = {}
        self._waiting: _Living | None = None
        self._born_with = held(os.getpid())
        self._look = 0.0
        self._silent = False
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        for pidfd in self._above:
            self._poll.register(pidfd, select.POLLIN)

    def serve(self) -> None:
        """Fork, watch, bury; at the parent's or the keeper's end kill all that is left."""
        open_ = True
        while open_:
            events = self._poll.poll(self._patience())
            for descriptor, _ in events:
                if descriptor in self._living:
                    self._bury(self._living[descriptor])
                elif descriptor == self._control.fileno():
                    open_ = self._obey()
                elif descriptor in self._above:
                    open_ = False
            if time.monotonic() >= self._look:
                self._watch_memory()
                self._look = time.monotonic() + _WATCH_MS / 1000  # after it, so that there is time for others
            if not events and self._waiting is None:
                with contextlib.suppress(OSError):  # whoever needs the child tries again, and tells
                    self._waiting = self._fork(ahead=True)
        self._silent = (
            True  # the parent hears of these by the end of the socket, when none can be ordered more
        )
        for child in list(self._living.values()):
            _kill_group(child.pid)
            self._bury(child)

    def _patience(self) -> int | None:
        """Milliseconds to wait for an event, None for without end."""
        if self._waiting is None:
            return _QUIET_MS
        return _WATCH_MS if any(child.number for child in self._living.values()) else None

    def _obey(self) -> bool:
        """Do what the next request says; False at the end of requests."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, REQUEST_BYTES, 1)
        except ConnectionError:
            return False
        if not data:
            return False
        request = request_of(data)
        if request.order is Order.START:
            self._start(request, descriptors[0])
        else:
            for child in self._living.values():
                if child.number == request.child:
                    _kill_group(child.pid)
        return True

    def _start(self, request: Request, channel: int) -> None:
        try:
            child = self._waiting or self._fork()
        except OSError as error:
            self._tell(Event.NOT_BORN, request.child, error.errno or 0)
        else:
            self._waiting = None
            child.number, child.most = request.child, request.memory_mib * _MIB
            assert child.post is not None
            with child.post as post, contextlib.suppress(OSError):  # if it has died, its burial tells
                socket.send_fds(post, [pack_request(request)], [channel])
            child.post = None
            self._tell(Event.BORN, child.number, child.pid)
        os.close(channel)

    def _fork(self, *, ahead: bool = False) -> _Living:
        own = os.getpid()
        post, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                pid = os.fork()
            except OSError:
                post.close()
                raise
            if pid == 0:
                be_born(theirs.fileno(), own, ahead=ahead)
        child = _Living(pid, os.pidfd_open(pid), post)
        self._living[child.pidfd] = child
        self._poll.register(child.pidfd, select.POLLIN)
        return child

    def _watch_memory(self) -> None:
        for child in self._living.values():
            if child.number and not child.over_memory:
                pids = tree_of(child.pid)
                child.seen.update(pids)
                if is_over(pids, child.most, self._born_with):
                    child.over_memory = True
                    _kill_group(child.pid)
        self._kill_strays()  # a living child's are below it, unless it gave them up to hide their memory

    def _bury(self, child: _Living) -> None:
        """Reap a child that has ended, after what is left of its group, before what has fled from it."""
        # Before it is reaped: until then its number, which is the group's, can be nobody else's.
        _kill_group(child.pid)
        _, status, usage = os.wait4(child.pid, 0)
        self._poll.unregister(child.pidfd)
        os.close(child.pidfd)
        del self._living[child.pidfd]
        self._kill_strays()
        remove_segments(child.seen | {child.pid})
        if child.post is not None:
            child.post.close()
        if child is self._waiting:
            self._waiting = None
            return
        over = child.over_memory or endings.ran_out_of_memory(status)
        # With the pages of mapped files, so rather too much: it feeds an alarm, the limit has its own count.
        peak = max(0, usage.ru_maxrss * 1024 - self._born_with)
        self._tell(Event.GONE_OVER_MEMORY if over else Event.GONE, child.number, status, peak)

    def _kill_strays(self) -> None:
        """Kill what dead children left: what living ones forked is below those."""
        kill_strays({child.pid for child in self._living.values()})

    def _tell(self, event: Event, child: int, value: int, peak: int = 0) -> None:
        if self._silent:
            return
        with contextlib.suppress(ConnectionError):  # the parent is gone; the next look at its end tells
            self._control.send(pack_report(Report(event, child, value, peak)))


def _kill_group(pid: int) -> None:
    """Kill a child and its group; the child alone where it has not come to form one yet."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
