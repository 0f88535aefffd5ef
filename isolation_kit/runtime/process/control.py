"""The parent's end of a zygote: start it, order children, hear of their ends, see it off."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from weakref import finalize

from isolation_kit.errors import KitError, UsageError
from isolation_kit.runtime.process.orders import (
    REPORT_BYTES,
    Event,
    Order,
    Report,
    Request,
    pack_request,
    report_of,
)

__all__ = ["Birth", "Zygote", "available", "unavailable"]

_BOOT = (
    "import os, sys; sys.path[:] = os.read(0, 1 << 20).decode('utf-8', 'surrogateescape').split(chr(0)); "
    "from isolation_kit.runtime.process.zygote import main; main()"
)
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
_START_SECONDS = 60.0
_END_SECONDS = 5.0
_LAST_SECONDS = 1.0
_PAUSE = 0.002
_ENDED = (
    "the zygote ended before it was ready; every module in preload must be importable from sys.path, for "
    "example ProcessHost(preload=('my_app.children',)), and the system must have processes and memory left"
)
_LATE = (
    f"the zygote was not ready after {_START_SECONDS:g} s; look for a module in preload that waits for "
    "something while it is imported, and move that work into a function"
)


def available() -> str:
    """Why there can be no child processes here, or ""."""
    missing = [name for name in ("fork", "pidfd_open") if not hasattr(os, name)]
    if sys.platform == "linux" and not missing:
        return ""
    return (
        f"the isolation level `process` needs Linux 5.4 or later, and this is {sys.platform}: elsewhere no "
        "kernel finds what a child leaves behind; use `Runtime(launch=inline)` here"
    )


@dataclass(slots=True)
class Birth:
    """A child process that was ordered. `gone` gets its last report."""

    number: int
    gone: asyncio.Future[Report]


@dataclass(slots=True, weakref_slot=True)
class Zygote:
    """A running zygote, of the event loop in which it was started. `lost` is set once it is dead.

    `process` is its keeper, `pid` its own.
    """

    process: subprocess.Popen[bytes]
    control: socket.socket
    ready: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop
    lost: bool = False
    pid: int = 0
    _pidfd: int = -1
    _let_pidfd_go: finalize[..., Zygote] | None = None
    _births: dict[int, Birth] = field(default_factory=dict)
    _count: int = 0

    @classmethod
    async def started(cls, preload: tuple[str, ...]) -> Zygote:
        """Start a zygote and wait until it can fork.

        Args:
            preload: names of modules that every child needs, loaded once.

        Raises:
            UsageError: on a platform that cannot do it, or if a module cannot be loaded, or not in time.
            KitError: if the system has no descriptor or process left.
        """
        if problem := available():
            raise UsageError(problem)
        loop = asyncio.get_running_loop()
        ours, process = _spawned()
        zygote = cls(process, ours, loop.create_future(), loop)
        finalize(zygote, _see_off, ours, process)  # also at the interpreter's end
        loop.add_reader(ours, zygote._hear)
        path = "\0".join(os.path.abspath(entry) for entry in sys.path)
        with contextlib.suppress(OSError):  # it is dead then, and `_hear` is about to say so
            ours.send(path.encode("utf-8", "surrogateescape"))
            ours.send("\0".join(preload).encode() or b"\0")
        try:
            await asyncio.wait([zygote.ready], timeout=_START_SECONDS)
        except BaseException:
            await zygote.close()
            raise
        if not zygote.ready.done() or zygote.lost:
            late = not zygote.ready.done()
            await zygote.close()
            raise UsageError(_LATE if late else _ENDED)
        return zygote

    async def order(self, channel: socket.socket, memory_mib: int, file_bytes: int) -> Birth:
        """Have a child born that holds `channel`.

        Raises:
            ConnectionError: if the zygote is dead.
        """
        self._count += 1
        birth = Birth(self._count, self.loop.create_future())
        request = pack_request(Request(Order.START, birth.number, memory_mib, file_bytes))
        while True:
            try:
                socket.send_fds(self.control, [request], [channel.fileno()])
                break
            except BlockingIOError:
                await asyncio.sleep(_PAUSE)
        self._births[birth.number] = birth
        return birth

    async def end(self, birth: Birth) -> Report:
        """Kill a child with all that it has forked, unless it is gone; return once nothing of it is left.

        Raises:
            KitError: if the kernel keeps it alive. A zygote that does not do it in time is killed, and with
                it all children.
        """
        while not birth.gone.done():
            try:
                self.control.send(pack_request(Request(Order.END, birth.number)))
                break
            except BlockingIOError:
                await asyncio.sleep(_PAUSE)
            except OSError:
                break  # it is dead, and `_hear` is about to say so
        await asyncio.wait([birth.gone], timeout=_END_SECONDS)
        if not birth.gone.done() and not self._lose():
            raise KitError(
                f"a child process was not gone {_END_SECONDS:g} s after it was killed, nor was its zygote: "
                "look for a process that hangs in the kernel (state D)"
            )
        return birth.gone.result()

    async def close(self) -> None:
        """Let the zygote kill its children and go; it is killed itself if it takes too long."""
        self._let_go()
        waited = 0.0
        while self.process.poll() is None and waited < _END_SECONDS:
            await asyncio.sleep(_PAUSE)
            waited += _PAUSE
        self._lose()

    def _hear(self) -> None:
        while True:
            try:
                data = self.control.recv(256)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if len(data) != REPORT_BYTES:
                self._lose()
                return
            self._take(report_of(data))

    def _take(self, report: Report) -> None:
        birth = self._births.get(report.child)
        if report.event is Event.READY:
            self.pid = report.value
            with contextlib.suppress(OSError):  # dead already: the end of the socket follows
                self._pidfd = os.pidfd_open(report.value)
                self._let_pidfd_go = finalize(self, os.close, self._pidfd)
            self.ready.set_result(None)
        elif birth is not None and report.event is not Event.BORN:
            del self._births[report.child]
            birth.gone.set_result(report)

    def _lose(self) -> bool:
        """The zygote is dead or unfit: see to it that nothing of it is left. False if that fails.

        Its keeper kills what it leaves, and ends then; only one that does not is killed, and the zygote ends.
        """
        self._let_go()
        if self._let_pidfd_go is not None and self._let_pidfd_go.alive:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            self._let_pidfd_go()
        gone = _ended(self.process)
        self._tell_all()
        return gone

    def _let_go(self) -> None:
        if self.lost:
            return
        self.lost = True
        self.loop.remove_reader(self.control)
        self.control.close()

    def _tell_all(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)  # and `lost` tells the rest
        for birth in self._births.values():
            birth.gone.set_result(Report(Event.LOST, birth.number, signal.SIGKILL))
        self._births.clear()


def _spawned() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The parent's end of the control socket, and the process at the other end."""
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                process = subprocess.Popen(  # noqa: S603  # a fixed command, no shell
                    [sys.executable, "-I", "-S", "-c", _BOOT],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=_ENVIRONMENT,
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
    except OSError as error:
        raise unavailable(error) from None
    ours.setblocking(False)
    return ours, process


def unavailable(error: OSError) -> KitError:
    """What to say where the system has no descriptor, process or memory left for a child."""
    name = errno.errorcode.get(error.errno or 0, "unknown")
    return KitError(
        f"the system refused a child process what it needs ({name}): raise the limits of open files and "
        "processes (ulimit -n, ulimit -u), run fewer delegations at once, or use launch=inline"
    )


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Wait a moment for a process that is about to end, kill it if it does not; False if that fails too."""
    for _ in range(2):
        try:
            process.wait(_LAST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        else:
            return True
    return False


def _see_off(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """Let a zygote go whose owner forgot to close it: it ends by itself when nobody holds the other end."""
    control.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    _ended(process)
