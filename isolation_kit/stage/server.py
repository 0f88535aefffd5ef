"""Serves the puppets' endpoint on 127.0.0.1, from a daemon thread, for systems that want a URL."""

from __future__ import annotations

import socket
import threading
from contextvars import Context
from typing import TYPE_CHECKING

from isolation_kit.closing import Closing
from isolation_kit.errors import KitError
from isolation_kit.stage.chat_completions import Performer
from isolation_kit.stage.wire import Wire

if TYPE_CHECKING:
    import uvicorn

__all__ = ["Endpoint"]

_STOP_SECONDS = 5.0


class Endpoint(Closing):
    """One server for all stages of a process; it starts at the first `url`.

    endpoint = Endpoint()
    runner = Runner(declaration, ledger, endpoint=endpoint.url)
    """

    def __init__(self) -> None:
        self._wire = Wire()
        self._lock = threading.Lock()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    @property
    def running(self) -> bool:
        """True between the first `url` and `close`."""
        return self._server is not None

    def url(self, stage: Performer) -> str:
        """The base URL of a stage's puppets, for example `http://127.0.0.1:49152/r0/v1`.

        Raises:
            KitError: where this machine does not let the kit listen on the loopback.
        """
        path = self._wire.add(stage)
        with self._lock:
            if self._server is None:
                self._start()
        return f"http://127.0.0.1:{self._port}{path}"

    def close(self) -> None:
        """Stop the server and free its port; a later `url` starts a new one."""
        with self._lock:
            server, thread = self._server, self._thread
            self._server = self._thread = None
        if server is not None and thread is not None:
            server.should_exit = True
            thread.join(_STOP_SECONDS)

    def _start(self) -> None:
        import uvicorn  # here: a campaign whose systems all run in process never pays for it

        config = uvicorn.Config(
            self._wire,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
        )
        # As an argument this would also empty the handlers of a uvicorn that the system under test runs.
        config.access_log = False
        # Bound and listening before the thread starts, so that no caller has to wait for it.
        listener = _listen()
        self._port = listener.getsockname()[1]
        server = self._server = uvicorn.Server(config)
        # A context of its own: the turn of the case that happened to start it is not the turn of later calls.
        self._thread = threading.Thread(
            target=Context().run,
            args=(server.run, [listener]),
            name="isolation-endpoint",
            daemon=True,
        )
        self._thread.start()


def _listen() -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", 0), backlog=128)
    except OSError as error:
        raise KitError(
            f"the puppets' endpoint cannot listen on 127.0.0.1 ({error.strerror}); allow local sockets here, "
            "or mount the endpoint in process, for example httpx.ASGITransport(app=stage.app)"
        ) from None
