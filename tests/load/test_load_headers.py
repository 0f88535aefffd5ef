"""A header or a cookie is judged as the body is: another user's token in it is a LEAK."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote

import pytest
from geventhttpclient import HTTPClient

from isolation_kit.finding import Direction, Finding, Verdict
from isolation_kit.load.bodies import head_of
from isolation_kit.load.heard import Heard
from tests.load.test_load_check import Two


@contextmanager
def cookies(*, shared: bool) -> Iterator[int]:
    """A server whose cookie repeats what was said last: by anybody, or by who asks."""
    said = {"": ""}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            user = "" if shared else self.headers["X-User"]
            before = said.get(user, "")
            said[user] = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.send_response(200)
            self.send_header("Set-Cookie", "theme=dark")
            self.send_header("Set-Cookie", f"last={before}")
            self.send_header("Content-Length", str(len(said[user])))
            self.end_headers()
            self.wfile.write(said[user].encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_port
        server.shutdown()


def found_at(port: int, kind: str) -> list[Finding]:
    """What two users that speak in turn find; the clean parts of their talk are whole."""
    two, found = Two(), []
    with closing(HTTPClient("127.0.0.1", port)) as client:
        for user in (two.ann, two.bob) * 3:
            turn = user.next()
            said = quote(turn.text) if kind == "plain" else base64.b64encode(turn.text.encode()).decode()
            response = client.post("/", said, headers={"X-User": turn.user})
            data, _ = Heard(response).body()
            found += two.judge.response(turn, data, complete=True, head=head_of(response)).findings
    return found


@pytest.mark.parametrize("kind", ["plain", "base64"])
def test_a_cookie_that_all_users_share_is_a_leak_and_an_own_one_is_none(kind: str) -> None:
    """Over the wire, the second cookie of an answer, as it is and in base64; the form says where it stood."""
    with cookies(shared=True) as leaky, cookies(shared=False) as clean:
        assert found_at(clean, kind) == []
        found = found_at(leaky, kind)
    assert {(item.kind, item.fingerprint.direction) for item in found} == {(Verdict.LEAK, Direction.ACROSS)}
    assert {item.form.partition(">")[0] for item in found} == {"header"}


def test_no_answer_has_no_header() -> None:
    """A connection that failed shows nothing; own tokens in a header are no substitute for a body."""
    two = Two()
    turn = two.ann.next()
    assert head_of(None) == b""
    seen = two.judge.response(turn, b"done", complete=True, head=turn.required[0].encode())
    assert [item.kind for item in seen.findings] == [Verdict.LOSS]
