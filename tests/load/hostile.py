"""Services that answer badly, each in a leaky and a clean twin, and what a run of two users makes of them.

A process of its own, because Locust patches sockets: prints JSON, by service and twin.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gevent.server import StreamServer

from isolation_kit.content import Attack, load_attacks
from isolation_kit.load.control import Control
from isolation_kit.load.environment import KEY
from isolation_kit.load.locusts import Environment
from isolation_kit.load.session import Session
from isolation_kit.load.settings import LoadSettings
from isolation_kit.load.user import IsolationUser

TURNS = 4


def answer(status: str, body: bytes, *lines: bytes, length: int = -1) -> bytes:
    """A whole answer, or one of another length than it says."""
    size = b"Content-Length: %d" % (len(body) if length < 0 else length)
    return b"\r\n".join((b"HTTP/1.1 " + status.encode(), size, *lines)) + b"\r\n\r\n" + body


def line(said: bytes) -> bytes:
    """`said` in one line."""
    return said.replace(b"\n", b" ")


def chunked(body: bytes, *, extension: bytes = b"", trailer: bytes = b"-") -> bytes:
    """An answer of one chunk, with something beside it."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x;x=%s\r\n%s\r\n0\r\nX-T: %s\r\n\r\n" % (len(body), extension, body, trailer)


SERVICES: dict[str, Callable[[bytes], bytes]] = {
    "error 500": lambda said: answer("500 Internal Server Error", said),
    "error 404": lambda said: answer("404 Not Found", b"\xff" + said),  # no UTF-8
    "half": lambda said: answer("200 OK", said, length=len(said) + 50),
    "no head": lambda said: b"\0 " + said + b"\r\n\r\n",
    "trailer": lambda said: chunked(b"fine", trailer=line(said)),
    "extension": lambda said: chunked(b"fine", extension=re.sub(rb"\W", b"_", said)),
    "interim": lambda said: (
        b"HTTP/1.1 103 Early Hints\r\nLink: %s\r\n\r\n" % line(said) + answer("200 OK", b"fine")
    ),
    "long head": lambda said: answer(
        "200 OK", b"fine", b"X-A: " + line(said), *(b"X-B: " + b"b" * 1000,) * 300
    ),
}


class Twin:
    """Says what was said last, by anybody or by who asks."""

    def __init__(self, make: Callable[[bytes], bytes], *, leaky: bool) -> None:
        self.make = make
        self.leaky = leaky
        self.said: dict[bytes, bytes] = {}

    def serve(self, connection: Any, _: Any) -> None:
        """Answer until the client is gone."""
        with suppress(OSError), connection, connection.makefile("rb") as lines:
            while lines.readline():
                size = 0
                while line := lines.readline().strip():
                    name, _, value = line.lower().partition(b":")
                    size = int(value) if name == b"content-length" else size
                told = json.loads(lines.read(size))
                user = b"" if self.leaky else told["user"].encode()
                sent = self.make(self.said.get(user, b""))
                self.said[user] = told["text"].encode()
                connection.sendall(sent)
                if self.make in (SERVICES["half"], SERVICES["no head"], SERVICES["long head"]):
                    return


class User(IsolationUser):
    """Every answer is awaited."""

    echoes = False
    abandon = slow = reconnect = 0.0
    abstract = True

    def say(self, turn: Any, how: Any) -> Any:
        """Send one turn."""
        return self.client.post("/", json={"user": turn.user, "text": turn.text}, **how)


def counted(twin: Twin, attacks: tuple[Attack, ...], folder: Path) -> dict[str, Any]:
    """What two users that speak in turn count."""
    server = StreamServer(("127.0.0.1", 0), twin.serve)
    server.start()
    environment = Environment(user_classes=[User])
    control = Control(LoadSettings(7, output=folder), attacks=attacks)
    environment.__dict__[KEY] = control
    User.host = f"http://127.0.0.1:{server.server_port}"
    users = [User(environment), User(environment)]
    for user in users:
        user.on_start()
    for turn in range(TURNS):
        users[turn % 2].converse()
    server.stop()
    counts = control.run.counts
    failed = {key[0]: count for key, count in counts.keys("failed")}
    forms = sorted({hit[2] for hit, _ in counts.hits()})
    return {"leaks": counts.leaks(), "failed": failed, "forms": forms}


def refused() -> list[bool]:
    """Whether anything came: from a service, and after it is gone."""
    server = StreamServer(("127.0.0.1", 0), Twin(SERVICES["error 500"], leaky=False).serve)
    server.start()
    session = Session(f"http://127.0.0.1:{server.server_port}", Environment().events.request, None)
    more = {"json": {"user": "", "text": ""}, "catch_response": True, "stream": True}
    first = session.post("/", **more)
    came = first.heard.body() and bool(session._connections.record.data)
    server.stop()
    session.client.close()
    return [came, bool(session.post("/", **more).heard.head())]


def main() -> None:
    """All of them."""
    attacks = load_attacks()
    with tempfile.TemporaryDirectory() as folder:
        told: dict[str, Any] = {
            name: {
                twin: counted(Twin(make, leaky=twin == "leaky"), attacks, Path(folder, name, twin))
                for twin in ("leaky", "clean")
            }
            for name, make in SERVICES.items()
        }
    json.dump(told | {"refused": refused()}, sys.stdout)


if __name__ == "__main__":
    main()
