"""No observer's output holds a text that passed by, in clear or encoded; only `raw` does, in a 0600 file."""

from __future__ import annotations

import base64
import codecs
import hashlib
import html
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from isolation_kit.runtime import Message, ModelReply, ToolCall
from isolation_kit.runtime.hooks import Decision

SECRETS = {
    place: f"sk-{place}-7f3a9c秘密"
    for place in (
        "history",
        "request",
        "reply",
        "tool",
        "field",
        "key",
        "called",
        "argument",
        "error",
        "name",
    )
}


def forms(secret: str) -> Iterator[str]:
    """A secret in clear and in the forms in which it could stand in an output."""
    data = secret.encode()
    yield from (secret, secret.upper(), secret[::-1], quote(secret), html.escape(secret))
    yield from (json.dumps(secret)[1:-1], data.hex(), base64.b64encode(data).decode().rstrip("="))
    yield from (
        base64.urlsafe_b64encode(data).decode().rstrip("="),
        base64.b32encode(data).decode().rstrip("="),
    )
    yield from (codecs.encode(secret, "rot13"), secret.split("-")[2], "秘密")
    # A digest without a key can be looked up: as bad as the text, if that is short.
    yield from (hash_(data).hexdigest()[:16] for hash_ in (hashlib.sha256, hashlib.md5, hashlib.sha1))
    yield hashlib.blake2b(data, digest_size=8).hexdigest()


def found(text: str) -> list[str]:
    """The places whose secret stands in `text` in some form."""
    return [place for place, secret in SECRETS.items() if any(form in text for form in forms(secret))]


def hostile_run(watched: Any, calls: Callable[..., ModelReply], **options: Any) -> Any:
    """Delegations with a secret in each place that a hostile target can reach: one ends well, one fails."""
    reply = json.dumps({"note": SECRETS["tool"], SECRETS["key"]: SECRETS["field"]})

    def tool(query: str) -> str:
        if query == "raise":
            raise RuntimeError(SECRETS["error"])
        return reply

    script = [
        calls(query=SECRETS["argument"]),
        ModelReply(SECRETS["reply"], (ToolCall(SECRETS["called"], SECRETS["called"], {"query": "q"}),)),
        calls(query="raise"),
        ModelReply(SECRETS["reply"]),
        ModelReply('{"answer": "\ud800"}'),
    ]
    made = watched({"worker": script}, tool=tool, **options)
    history = (Message("user", SECRETS["history"]), Message("tool", SECRETS["history"]))
    hooks, secret = made.watching.hooks, SECRETS["name"]
    hooks.state_entered("parent", "idle")
    hooks.state_entered("parent", secret)
    hooks.decided(secret, Decision("route", secret, (secret, "worker"), secret))
    hooks.alarm("worker", secret, secret)
    hooks.memory_peaked(secret, 1)
    made.run(SECRETS["request"], history)
    made.run(SECRETS["request"], history)
    hooks.state_entered("parent", "done")
    made.flush()
    return made


def outputs(made: Any) -> str:
    """All that the observers wrote and show."""
    files = [f"{path}\n{path.read_text()}" for path in made.folder.rglob("*") if path.is_file()]
    watching = made.watching
    return "\n".join([*files, watching.metrics.text(), repr(watching.curve.points), repr(watching)])


def test_observers_show_no_secret(
    watched: Any, calls: Callable[..., ModelReply], caplog: pytest.LogCaptureFixture
) -> None:
    """Files, metrics, curve and logs are full, and hold none of ten secrets in any of 17 forms."""
    with caplog.at_level(logging.DEBUG):
        made = hostile_run(watched, calls, share=1.0)
    shown = outputs(made)
    assert len(shown) > 5_000
    assert made.watching.metrics.polluted.total == 1
    assert found(shown + caplog.text) == []


def test_raw_is_asked_for_and_only_its_owner_can_read_it(
    watched: Any, calls: Callable[..., ModelReply]
) -> None:
    """The search above can find: raw files of a failing trace hold the texts, mode 0600; no name does."""
    made = hostile_run(watched, calls, raw=True)
    (raw,) = [path for path in made.folder.iterdir() if path.stem not in ("snapshots", "decisions", "traces")]
    assert raw.stat().st_mode & 0o777 == 0o600
    assert {"request", "reply", "tool", "argument", "called"} <= set(found(raw.read_text()))
    assert found(str(raw)) == []


def test_files_are_their_owners(watched: Any, calls: Callable[..., ModelReply]) -> None:
    """What holds digests is no public matter either."""
    made = hostile_run(watched, calls)
    modes = {path.stat().st_mode & 0o777 for path in Path(made.folder).iterdir()}
    assert modes == {0o600}
