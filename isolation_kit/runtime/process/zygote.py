"""The zygote: a clean process that forks one child for each delegation and buries it.

It was exec'd, so nothing of its parent's memory is in it; it holds one socket; it never sees a task, so no
child can inherit another one's. It has one thread, as what forks must. It adopts orphans: a process that a
child forked, and that fled into a session of its own, becomes the zygote's when its parent dies; and what is
the zygote's but was not forked by it is killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
from dataclasses import dataclass
from typing import NoReturn

from isolation_kit.runtime.process import inside
from isolation_kit.runtime.process.linux import (
    adopt_orphans,
    children_of,
    die_with_parent,
    limit,
    memory_of,
    unreadable,
)
from isolation_kit.runtime.process.orders import Event, Order, Report, Request, pack_report, request_of

__all__ = ["CONTROL", "main"]

CONTROL = 0  # the parent's socket comes as standard input: no number has to be told
_CHANNEL = 3
_WATCH_MS = 20
_MIB = 1024 * 1024
_PRELOAD_BYTES = 64 * 1024


@dataclass(slots=True)
class _Living:
    """A child that was forked and not yet reaped. `most` is in bytes."""

    number: int
    pid: int
    pidfd: int
    most: int
    over_memory: bool = False


def main() -> None:
    """Serve the parent until it closes its end or dies."""
    control = socket.socket(fileno=os.dup(CONTROL))
    _silence(CONTROL)
    adopt_orphans()
    unreadable()
    for name in filter(None, control.recv(_PRELOAD_BYTES).decode().split("\0")):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, every page of its zygote
    control.send(pack_report(Report(Event.READY, 0, os.getpid())))
    _Zygote(control).serve()


def _silence(*descriptors: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(null, descriptor)
    os.close(null)


class _Zygote:
    """The children that live, by the descriptor that tells of their end."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._parent = os.pidfd_open(os.getppid())
        self._living: dict[int, _Living] = {}
        self._born_with = memory_of(os.getpid())
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(self._parent, select.POLLIN)

    def serve(self) -> None:
        """Fork, watch, bury; at the parent's end kill all that is left."""
        open_ = True
        while open_:
            for descriptor, _ in self._poll.poll(_WATCH_MS if self._living else None):
                if descriptor in self._living:
                    self._bury(self._living[descriptor])
                elif descriptor == self._control.fileno():
                    open_ = self._obey()
                elif descriptor == self._parent:
                    open_ = False
            self._watch_memory()
        for child in list(self._living.values()):
            _kill_group(child.pid)
            self._bury(child)

    def _obey(self) -> bool:
        """Do what the next request says; False at the end of requests."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, 256, 1)
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
        own = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(channel)
            self._tell(Event.NOT_BORN, request.child, error.errno or 0)
            return
        if pid == 0:
            _be_born(request, channel, own)
        os.close(channel)
        most = request.memory_mib * _MIB
        child = _Living(request.child, pid, os.pidfd_open(pid), most)
        self._living[child.pidfd] = child
        self._poll.register(child.pidfd, select.POLLIN)
        self._tell(Event.BORN, child.number, pid)

    def _watch_memory(self) -> None:
        for child in self._living.values():
            if not child.over_memory and memory_of(child.pid, self._born_with) > child.most:
                child.over_memory = True
                _kill_group(child.pid)

    def _bury(self, child: _Living) -> None:
        """Reap a child that has ended, after what is left of its group, before what has fled from it."""
        # Before it is reaped: until then its number, which is the group's, can be nobody else's.
        _kill_group(child.pid)
        _, status = os.waitpid(child.pid, 0)
        self._poll.unregister(child.pidfd)
        os.close(child.pidfd)
        del self._living[child.pidfd]
        self._kill_strays()
        over = child.over_memory or inside.ran_out_of_memory(status)
        self._tell(Event.GONE_OVER_MEMORY if over else Event.GONE, child.number, status)

    def _kill_strays(self) -> None:
        own = {child.pid for child in self._living.values()}
        while strays := [pid for pid in children_of(os.getpid()) if pid not in own]:
            for pid in strays:
                try:
                    os.kill(pid, signal.SIGKILL)
                except PermissionError:  # it became another user by a setuid program
                    own.add(pid)
                else:
                    os.waitpid(pid, 0)

    def _tell(self, event: Event, child: int, value: int) -> None:
        with contextlib.suppress(ConnectionError):  # the parent is gone; the next look at its end tells
            self._control.send(pack_report(Report(event, child, value)))


def _kill_group(pid: int) -> None:
    """Kill a child and its group; the child alone where it has not come to form one yet."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _be_born(request: Request, channel: int, zygote: int) -> NoReturn:
    """Become a child: a session of its own, one descriptor, limits; and never return."""
    try:
        os.setsid()
        die_with_parent()
        if os.getppid() != zygote:  # it died before the line above
            os._exit(inside.CRASHED)
        os.dup2(channel, _CHANNEL)
        os.closerange(_CHANNEL + 1, max(os.sysconf("SC_OPEN_MAX"), channel + 1))
        limit(2 * request.memory_mib, request.file_bytes)
        inside.live(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=_CHANNEL))
    except MemoryError:
        os._exit(inside.OUT_OF_MEMORY)
    except BaseException:
        os._exit(inside.CRASHED)
    os._exit(0)
