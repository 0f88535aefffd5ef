"""Refuses and reports connections off the loopback that the system under test makes while a case runs.

The models are puppets and the tools are scripted, so nothing has to leave the machine: a connection that does
is telemetry, a trace exporter, or a client that was not pointed at the stage.

It sees what CPython announces by audit events (connect, sendto, sendmsg and name lookups of `socket`), in the
watched thread and in threads that are born while a case runs (Python 3.11 announces no thread, so birth is
all there is to go by). It does not see child processes, nor libraries with sockets of their own in C (gRPC,
uvloop, curl).
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["Guard", "is_local"]

_ADDRESSED = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
_EVENTS = _ADDRESSED | _LOOKUPS
# A canary has 20 characters: a part of a host name that could hold one is shown by its length alone.
_LONG_LABEL = re.compile(r"[^.]{20,}")


class Guard:
    """Guards the threads of one worker; inert but inside `active`."""

    def __init__(self) -> None:
        self._report: Callable[[str], None] | None = None
        self._others: frozenset[threading.Thread] = frozenset()

    def watch(self) -> None:
        """Guard the calling thread, and with it every thread that is born while a case runs."""
        _watch().owners[threading.current_thread()] = self

    @contextlib.contextmanager
    def active(self, report: Callable[[str], None]) -> Iterator[None]:
        """Refuse connections off the loopback while inside; `report` gets one sentence for each."""
        watch = _watch()
        self._others = frozenset(threading.enumerate())
        self._report = report
        watch.active = (*watch.active, self)
        try:
            yield
        finally:
            watch.active = tuple(guard for guard in watch.active if guard is not self)
            self._report = None
            for thread in threading.enumerate():
                if self.bore(thread):
                    # It may sleep in a pool now and connect in a later case.
                    watch.owners.setdefault(thread, self)
            self._others = frozenset()

    def bore(self, thread: threading.Thread) -> bool:
        """True if `thread` did not exist when the case began: then the case started it."""
        return thread not in self._others

    def check(self, host: object, port: object) -> None:
        """Let a local address pass.

        Raises:
            ConnectionRefusedError: for any other address while the guard is active.
        """
        report = self._report
        if report is None or is_local(host):
            return
        place = f"{_shown(host)}:{port if isinstance(port, int) else _shown(port)}"
        report(f"the target tried to reach {place}, off the loopback; the connection was refused")
        raise ConnectionRefusedError(errno.ECONNREFUSED, f"isolation-kit refused a connection to {place}")


def is_local(host: object) -> bool:
    """True for loopback and unspecified addresses and for this machine's own names."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
    if name is None or name == "":
        return True
    if not isinstance(name, str):
        return False
    lowered = name.lower().rstrip(".")
    if lowered == "localhost" or lowered.endswith(".localhost") or lowered == socket.gethostname().lower():
        return True
    address = _address(lowered)
    if address is None:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _shown(part: object) -> str:
    text = part.decode("ascii", "replace") if isinstance(part, bytes | bytearray) else str(part)
    masked = _LONG_LABEL.sub(lambda match: f"<{len(match[0])} characters>", text[:300])
    return "".join(char if char.isprintable() else "?" for char in masked)[:100]


class _Watch:
    """Whose thread is whose, and which guards are active."""

    def __init__(self) -> None:
        self.owners: WeakKeyDictionary[threading.Thread, Guard] = WeakKeyDictionary()
        self.active: tuple[Guard, ...] = ()

    def guard(self) -> Guard | None:
        """The guard of the calling thread."""
        thread = threading.current_thread()
        owner = self.owners.get(thread)
        # The newest first: an abandoned case keeps its guard, and every later thread is younger than it.
        return owner or next((guard for guard in reversed(self.active) if guard.bore(thread)), None)


@cache
def _watch() -> _Watch:
    """The watch of this process, with the audit hook that reads it installed at the first call.

    An audit hook is one per process and cannot be removed, so the watch is one too.
    """
    watch = _Watch()

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in _EVENTS and watch.active:
            guard = watch.guard()
            if guard is not None and event in _LOOKUPS:
                _check_lookup(guard, args)
            elif guard is not None:
                _check_address(guard, args)

    sys.addaudithook(hook)
    return watch


def _check_lookup(guard: Guard, args: tuple[Any, ...]) -> None:
    """A name lookup asks a server off the machine, and offline it fails before any connect is seen."""
    host = args[0]
    text = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
    if isinstance(text, str) and _address(text) is not None:
        return  # no lookup takes place; the connect that follows is judged
    guard.check(host, args[1] if len(args) > 1 else "?")


def _check_address(guard: Guard, args: tuple[Any, ...]) -> None:
    connection, address = args[0], args[1]
    if connection.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple) and address:
        guard.check(address[0], address[1] if len(address) > 1 else "?")
