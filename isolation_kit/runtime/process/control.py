"""The parent's end of a zygote: start it, order children, hear of their ends, see it off."""

from __future__ import annotations

import asyncio
import contextlib
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

__all__ = ["Birth", "Zygote", "available"]

_BOOT = (
    "import os, sys; sys.path[:] = os.read(0, 1 << 20).decode('utf-8', 'surrogateescape').split(chr(0)); "
    "from isolation_kit.runtime.process.zygote import main; main()"
)
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
_START_SECONDS = 60.0
_END_SECONDS = 5.0
_PAUSE = 0.002


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
    """A child process that was ordered. `gone` gets its last report; `pid` is 0 until it is born."""

    number: int
    gone: asyncio.Future[Report]
    pid: int = 0


@dataclass(slots=True, weakref_slot=True)
class Zygote:
    """A running zygote, of the event loop in which it was started. `lost` is set once it is dead."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    ready: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop
    lost: bool = False
    _births: dict[int, Birth] = field(default_factory=dict)
    _count: int = 0

    @classmethod
    async def started(cls, preload: tuple[str, ...]) -> Zygote:
        """Start a zygote and wait until it can fork.

        Args:
            preload: names of modules that every child needs, loaded once.

        Raises:
            UsageError: on a platform that cannot do it, or if a module cannot be loaded.
        """
        if problem := available():
            raise UsageError(problem)
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(  # noqa: S603  # a fixed command, no shell
                [sys.executable, "-I", "-S", "-c", _BOOT],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_ENVIRONMENT,
                start_new_session=True,
            )
        ours.setblocking(False)
        path = "\0".join(os.path.abspath(entry) for entry in sys.path)
        ours.send(path.encode("utf-8", "surrogateescape"))
        ours.send("\0".join(preload).encode() or b"\0")
        zygote = cls(process, ours, loop.create_future(), loop)
        finalize(zygote, _see_off, ours, process)  # also at the interpreter's end
        loop.add_reader(ours, zygote._hear)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await asyncio.shield(zygote.ready)
        except BaseException:
            await zygote.close()
            raise
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
            KitError: if the zygote does not do it in time; it is killed then, and with it all children.
        """
        while not birth.gone.done():
            try:
                self.control.send(pack_request(Request(Order.END, birth.number)))
                break
            except BlockingIOError:
                await asyncio.sleep(_PAUSE)
            except OSError:
                break  # it is dead, and `_hear` is about to say so
        try:
            async with asyncio.timeout(_END_SECONDS):
                return await asyncio.shield(birth.gone)
        except TimeoutError:
            self._lose()
            raise KitError(
                f"a child process was not gone {_END_SECONDS:g} s after it was killed; the zygote and its "
                "children were killed: look for a process that hangs in the kernel (state D)"
            ) from None

    async def close(self) -> None:
        """Let the zygote kill its children and go; it is killed itself if it takes too long."""
        self._let_go()
        waited = 0.0
        while self.process.poll() is None:
            if waited > _END_SECONDS:
                self.process.kill()
            await asyncio.sleep(_PAUSE)
            waited += _PAUSE
        self._tell_all()

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
            self.ready.set_result(None)
        elif birth is not None and report.event is Event.BORN:
            birth.pid = report.value
        elif birth is not None:
            del self._births[report.child]
            birth.gone.set_result(report)

    def _lose(self) -> None:
        """The zygote is dead or unfit: nobody else can find what its children leave behind now."""
        self._let_go()
        self.process.kill()
        self.process.wait()
        for birth in self._births.values():
            if birth.pid:  # the kernel has killed the child by now; its group is another matter
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(birth.pid, signal.SIGKILL)
        self._tell_all()

    def _let_go(self) -> None:
        if self.lost:
            return
        self.lost = True
        self.loop.remove_reader(self.control)
        self.control.close()

    def _tell_all(self) -> None:
        if not self.ready.done():
            self.ready.set_exception(
                UsageError(
                    "the zygote ended before it was ready; every module in preload must be importable from "
                    "sys.path, for example ProcessHost(preload=('my_app.children',))"
                )
            )
        for birth in self._births.values():
            birth.gone.set_result(Report(Event.GONE, birth.number, signal.SIGKILL))
        self._births.clear()


def _see_off(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """Let a zygote go whose owner forgot to close it: it ends by itself when nobody holds the other end."""
    control.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
