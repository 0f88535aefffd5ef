"""What uvicorn leaves open: how long the head of a request may take to come, and how long it may be.

It has a limit for its plain parser only. A connection is closed when no whole head came within ten seconds.
The rest of a body that was refused is read and thrown away for as long, so that its sender sees the answer.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["GuardedProtocol", "limited"]

_HEAD = 32 << 10  # bytes of a request's line and headers
_REST = 64 << 20  # bytes of a refused body that are thrown away before the connection is
_SLOW = 10.0  # seconds
_TOO_LARGE = (
    b'{"error": "head_too_large", "say": "the line and headers of a request have at most 32768 bytes"}'
)
_TOO_SLOW = b'{"error": "too_slow", "say": "the head of the request did not come within 10 seconds"}'
_Base: Any = AutoHTTPProtocol  # httptools' or h11's, whichever is installed


class GuardedProtocol(_Base):  # type: ignore[misc]
    """Uvicorn's protocol, with a limit and a deadline for a head that is not complete."""

    _deadline: TimerHandle | None = None
    _waiting = 0  # bytes that came since the last whole head and its body

    def connection_made(self, transport: Transport) -> None:
        """Await the first head."""
        super().connection_made(transport)
        self._await()

    def data_received(self, data: bytes) -> None:
        """Parse; what is no whole head yet counts against both limits."""
        cycle = self.cycle
        between = cycle is None or cycle.response_complete or not cycle.more_body
        super().data_received(data)
        if self.cycle is not cycle or not between:
            self._settle()
            return
        self._waiting += len(data)
        if self._waiting > (_REST if cycle is not None and cycle.more_body else _HEAD):
            self._refuse(b"431 Request Header Fields Too Large", _TOO_LARGE)
        elif self._deadline is None:
            self._await()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._settle()
        super().connection_lost(exc)

    def _await(self) -> None:
        self._deadline = self.loop.call_later(_SLOW, self._late, self.cycle)

    def _late(self, cycle: object) -> None:
        if self.cycle is cycle:
            self._refuse(b"408 Request Timeout", _TOO_SLOW)
        else:  # the plain parser took a head from its buffer
            self._settle()

    def _settle(self) -> None:
        self._waiting = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: bytes, told: bytes) -> None:
        silent = not self._waiting or self.cycle is not None  # no answer may stand in another one's place
        self._settle()
        if self.transport.is_closing():
            return
        if not silent:
            head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n" % (
                status,
                len(told),
            )
            self.transport.write(head + b"connection: close\r\n\r\n" + told)
        self.transport.close()


def limited(app: ASGIApp) -> ASGIApp:
    """The same for heads that came whole, in one piece of the network's."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _size(scope) <= _HEAD:
            await app(scope, receive, send)
            return
        lines = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(_TOO_LARGE))]
        lines.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": 431, "headers": lines})
        await send({"type": "http.response.body", "body": _TOO_LARGE})

    return call


def _size(scope: Scope) -> int:
    line = len(scope["raw_path"]) + len(scope["query_string"])
    return line + sum(len(name) + len(value) for name, value in scope["headers"])
