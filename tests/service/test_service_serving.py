"""The commands `serve` and `load` refuse what cannot work, before anything starts."""

from __future__ import annotations

import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from isolation_kit.cli import main
from isolation_kit.errors import UsageError
from isolation_kit.load.views import Listener, token_of
from isolation_kit.service.recording import Recording
from isolation_kit.service.serving import _token

_NO_LOAD = (
    ("--time banana", "for example --time 30s"),
    ("--time 0s", "allowed are 1s to 168h"),
    ("--time=-3s", "allowed are 1s to 168h"),
    ("--time 1s2", "allowed are 1s to 168h"),
    ("--tolerance nan", "a share of 0 to 1"),
    ("--tolerance=-1", "a share of 0 to 1"),
    ("--families foo", "allowed: cross-user"),
    ("--output /dev/null", "--output cannot be used"),
    ("--output /dev/null/nope", "--output cannot be used"),
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serve", "--twin", "nobody"], "allowed: shared-identity"),
        (["serve", "--target", "both"], "allowed: task, rules"),
        (["serve", "--twin", "pooled-child", "--launch", "process"], "allowed is --launch inline"),
        (["serve", "--parents", "65"], "allowed are 1 to 64"),
        (["serve", "--store", __file__], "the file is no store"),
        (["serve", "--store", "/dev/null/sessions.db"], "--store sessions.db cannot be used"),
        (["serve", "--host", "0.0.0.0", "--record", "token"], "stays on the loopback"),
        (["serve", "--host", "no.such.host.invalid"], "cannot be listened on"),
        (["load", "--host", "127.0.0.1:80"], "--host is no URL"),
        (["load", "--host", "http://[::1"], "--host is no URL"),
        (["load", "--host", "http://ann:word@127.0.0.1:80"], "URL without"),
        (["load", "--host", "http://127.0.0.1:80", "--users", "0"], "at least one user"),
        *((["load", "--host", "http://127.0.0.1:80", *words.split()], said) for words, said in _NO_LOAD),
        (["load", "--host", "http://127.0.0.1:80", "-f", "missing.py"], "name your locustfile"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_words_are_usage_errors(
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit code 2 and what to do; no token file is made for a service that never starts."""
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The message says how to take another one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1])]) == 2
    assert "--port 0" in capsys.readouterr().err


def test_the_token_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    """Mode 0600; a second start reads it; a short one is refused without showing it."""
    path = tmp_path / "token"
    token = _token(path)
    assert (_token(path), token_of(path)) == (token, token)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("short-secret")
    with pytest.raises(UsageError) as told:
        _token(path)
    assert "short-secret" not in str(told.value)


def test_a_listener_counts_what_the_service_dropped() -> None:
    """A gap in the running numbers is what was missed; a service that starts anew is no gap."""
    seen: list[object] = []
    listener = Listener("http://127.0.0.1:1", "token", seen.append)
    for line in (b'{"from":3,"views":[{},{}]}', b'{"from":9,"views":[{}]}', b'{"from":0,"views":[{}]}'):
        listener._batch(line)
    assert (listener.received, listener.missed, len(seen)) == (4, 4, 4)
    listener.on_view = lambda view: seen[view["number"]]
    with suppress(KeyError):
        listener._batch(b'{"from":1,"views":[{"number":0},{},{}]}')
    assert listener.missed == 6
    assert "token" not in repr(listener)


def test_views_that_ended_with_a_killed_service_are_told() -> None:
    """Announced and not received: counted at the next start, or at the end; an orderly run tells nothing."""
    lost, clean = (Listener("http://127.0.0.1:1", "token", lambda view: None, heard=True) for _ in range(2))
    first, second = Recording("x" * 16), Recording("x" * 16)
    for _ in range(3):
        first.keep({"text": "x" * (300 << 10)})
    second.keep({"text": "y"})
    lines = [first.batch(), second.batch()]  # the first start is killed with one view in its buffer
    for line in lines:
        lost._batch(line)
    lost.close()
    clean._batch(lines[1])
    clean._open = True
    clean.close()
    assert (lost.received, lost.lost, lost.missed, lost.ends) == (3, 1, 1, 2)
    assert "were not received: 1;" in lost.told()[0]
    assert (clean.missed, clean.told()) == (0, ())
