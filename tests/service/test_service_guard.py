"""Heads of requests are bounded in size and time, and who sends too much sees why."""

from __future__ import annotations

import asyncio
import socket

import pytest
import uvicorn

from isolation_kit.service import ServiceSettings, guard
from isolation_kit.service.web import application

_HEAD = b"POST /v1/sessions/s/turns HTTP/1.1\r\nhost: x\r\nx-user: u\r\n"


async def _answered(*parts: bytes) -> bytes:
    """The status line that a client sees which reads only after it has sent everything."""
    app = guard.limited(application(ServiceSettings(parents=1)))
    config = uvicorn.Config(
        app,
        http=guard.GuardedProtocol,
        ws="none",
        log_level="critical",
        h11_max_incomplete_event_size=1 << 16,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        served = asyncio.ensure_future(server.serve([listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        try:
            async with asyncio.timeout(20):
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                return await reader.readline()
        finally:
            writer.close()
            server.should_exit = True
            await served


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ((b"GET /health HTTP/1.1\r\nhost: x\r\nx-a: ", b"a" * 20_000, b"\r\n\r\n"), b"200"),
        ((_HEAD + b"x-a: " + b"a" * 40_000 + b"\r\ncontent-length: 2\r\n\r\n{}",), b"431"),
        ((_HEAD + b"x-a: " + b"a" * 40_000,), b"431"),
        ((_HEAD,), b"408"),
        ((_HEAD + b"content-length: 9000000\r\n\r\n", *[b"a" * 90_000] * 100), b"413"),
    ],
    ids=["long enough", "whole", "endless", "half", "body"],
)
def test_a_head_is_bounded(parts: tuple[bytes, ...], status: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too long is 431, too slow 408, a body that is too long 413; none is a connection that just breaks."""
    monkeypatch.setattr(guard, "_SLOW", 0.3 if status == b"408" else 10.0)
    assert asyncio.run(_answered(*parts)).split()[1] == status
