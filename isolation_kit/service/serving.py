"""Serves the application with uvicorn until it is told to stop."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from isolation_kit.errors import UsageError
from isolation_kit.runtime.store_errors import StoreError
from isolation_kit.service.guard import GuardedProtocol, limited
from isolation_kit.service.recording import Recording
from isolation_kit.service.settings import ServiceSettings
from isolation_kit.service.twins import seams_of
from isolation_kit.service.web import application

__all__ = ["serve"]

_BACKLOG = 2048
_LEAST = 16  # characters of a token


def serve(
    settings: ServiceSettings,
    host: str,
    port: int,
    *,
    record: Path | None = None,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Heads of requests are bounded in size and time (`guard`). The number of connections is not, nor the time
    in which a client takes its answer: leave that to a proxy in front.

    Args:
        port: 0 for any that is free.
        record: turns the side channel on: the file that holds its token, made with mode 0600 if it is absent.
        ready: called with the service's URL once it listens.

    Raises:
        UsageError: if the address cannot be listened on, the store cannot be used, or the side channel would
            not stay on the loopback.
    """
    # A wrong name is told before anything starts.
    seams_of(settings.twin, settings.target, settings.latency, settings.launch)
    _check_store(settings.store)
    recording = None
    if record is not None:
        if not _stays_here(host):
            raise UsageError(
                f"--record with --host {host[:60]}: the side channel shows what children saw, so it stays on "
                "the loopback; leave --host out, or --record"
            )
        recording = Recording(_token(record))
    listener = _listen(host, port)
    server: uvicorn.Server
    app = application(settings, recording, lambda: not server.should_exit)
    server = uvicorn.Server(
        uvicorn.Config(
            limited(app),
            http=GuardedProtocol,
            h11_max_incomplete_event_size=1 << 16,  # above the guard's, whose answer says why
            log_level="warning",
            access_log=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=3,
        )
    )
    address = listener.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    ready(f"http://{shown}:{address[1]}")
    server.run([listener])
    if not server.started:
        raise UsageError("the service could not start; its log says why")


def _check_store(path: Path | None) -> None:
    """Open it once: what fails within the server ends as a traceback of its own."""
    if path is None:
        return
    from isolation_kit.runtime.store_sqlite import SqliteStore

    try:
        SqliteStore(path).close()
    except StoreError as error:
        raise UsageError(
            f"--store {path.name[:60]} cannot be used: {error}; or name a new file in a folder of yours, for "
            "example --store sessions.db"
        ) from None


def _stays_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise UsageError(
            f"{host[:60]} port {port} cannot be listened on ({why}); take another, for example --port 0 for "
            "any that is free"
        ) from None


def _token(path: Path) -> str:
    try:
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32))
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--record {path.name} cannot be read or made ({type(error).__name__}); name a file in a folder "
            "of yours, for example --record .isolation-record"
        ) from None
    if len(token) < _LEAST:
        raise UsageError(
            f"--record {path.name} holds {len(token)} characters; a token has at least {_LEAST}; remove the "
            "file, and a fresh one is made"
        )
    return token
