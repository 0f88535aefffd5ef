"""The side channel of a load run: judged under a ramp too, refused at the start where nobody can listen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from json import dumps
from pathlib import Path

import pytest

from isolation_kit.cli import main
from isolation_kit.errors import UsageError
from isolation_kit.load.control import Control
from isolation_kit.load.settings import LoadSettings
from isolation_kit.load.views import Listener
from tests.load.conftest import loaded, served


def test_a_ramp_finds_what_children_only_see(tmp_path: Path) -> None:
    """A pooled child keeps what other users said: no answer tells; the views do, from two users on."""
    options = ("--ramp", "--step-seconds", "0.5", "--users", "2", "--recording", "token")
    with served(tmp_path, "--twin", "pooled-child", "--record", "token", "--parents", "4") as url:
        code, told, text = loaded(tmp_path, url, *options)
    assert code == 1, text
    assert "load-recorded-views" in text
    assert "the smallest number of users that leaked is 2" in text
    assert {row["users"] for row in told["by_users"]} >= {1}


def test_views_that_still_wait_are_known() -> None:
    """A batch tells how many there are: a ramp's step waits for its own before it is called clean."""
    listener = Listener("http://127.0.0.1:1", "token", lambda view: None)
    late = []
    for first, views, following in ((0, [{}], 1), (1, [{}], 9), (2, [{}] * 7, 9)):
        listener._batch(dumps({"boot": "b", "from": first, "views": views, "next": following}).encode())
        late.append(listener.behind)
    assert late == [False, True, False]


@contextmanager
def refusing(status: int) -> Iterator[str]:
    """A service that answers everything with `status`."""

    class Refusal(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "refused the token of tok; .*serve --record tok"), (403, "own machine"), (404, "does not record")],
)
def test_a_service_that_refuses_to_be_heard_ends_the_run_at_its_start(
    status: int, said: str, tmp_path: Path
) -> None:
    """One sentence that says what to do, before anybody is loaded and before any folder is made."""
    (tmp_path / "tok").write_text("another-token", "ascii")
    with refusing(status) as url:
        control = Control(LoadSettings(7, output=tmp_path / "out", recording=tmp_path / "tok", url=url))
        with pytest.raises(UsageError, match=said) as refused:
            control.watch()
        assert main(["load", "--host", url, "--recording", str(tmp_path / "tok")]) == 2
    assert "another-token" not in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("held", ["", "two\nlines"])
def test_a_file_without_a_token_is_refused(held: str, tmp_path: Path) -> None:
    """An empty one once meant that nobody listened, without a word."""
    (tmp_path / "tok").write_text(held, "ascii")
    with pytest.raises(UsageError, match="holds no token"):
        Control(LoadSettings(7, recording=tmp_path / "tok")).listen()
