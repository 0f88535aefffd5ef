"""The HTTP face refuses what is wrong with a clear status, and tells nothing of anybody in an error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from isolation_kit.service.recording import Recording
from isolation_kit.service.script import Asked
from isolation_kit.service.settings import ServiceSettings
from isolation_kit.service.sharded import Service
from isolation_kit.service.web import application

TOKEN = "side-channel-token"
USER = {"x-user": "u_1"}
PATH = "/v1/sessions/s_1/turns"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A service that records."""
    settings = ServiceSettings(latency=0, turns=3, body=10_000)
    app = application(settings, Recording(TOKEN), lambda: False)
    with TestClient(app, client=("127.0.0.1", 5000)) as found:
        yield found


def test_a_turn_is_answered_and_counted(client: TestClient) -> None:
    """An answer, the user's shard, sessions in health, pollution in the metrics."""
    said = {"text": "hello 〔do it〕", "reply": '{"description": "found", "trace_id": "t1"}'}
    answer = client.post(PATH, json=said, headers=USER)
    assert (answer.status_code, answer.json()) == (200, {"answer": "do it: found"})
    assert answer.headers["x-shard"] == "8"
    assert client.get("/health").json()["sessions"] >= 1
    assert 'pollution_detected_total{agent="worker",source="lookup"} 1' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("path", "headers", "body", "status"),
    [
        (PATH, {}, b'{"text": "secret-word"}', 401),
        (PATH, {"x-user": "u 1"}, b'{"text": "secret-word"}', 401),
        (PATH, {"x-user": "../u"}, b'{"text": "secret-word"}', 401),
        ("/v1/sessions/..%2F..%2Fetc/turns", USER, b'{"text": "secret-word"}', 404),
        ("/v1/sessions/..%5C..%5Cetc/turns", USER, b'{"text": "secret-word"}', 400),
        ("/v1/sessions/s%00/turns", USER, b'{"text": "secret-word"}', 400),
        (f"/v1/sessions/{'s' * 65}/turns", USER, b'{"text": "secret-word"}', 400),
        (PATH, USER, b"secret-word", 400),
        (PATH, USER, b'{"text": "a", "text": "secret-word"}', 400),
        (PATH, USER, b'{"text": "a", "more": "secret-word"}', 400),
        (PATH, USER, b'{"text": ["secret-word"]}', 400),
        (PATH, USER, b'{"text": "secret-word \\ud83d"}', 400),
        (PATH, USER, b"[" * 9_000, 400),
        (PATH, USER, b"\xff\xfe", 400),
        (PATH, USER, b'{"text": "' + b"secret-word" * 1_000 + b'"}', 413),
        ("/v1/nothing", USER, b"", 404),
    ],
    ids=lambda value: str(value)[:24] if isinstance(value, (str, int)) else "",
)
def test_a_wrong_request_is_refused(
    client: TestClient, path: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    """Its status says what is wrong; the answer holds nothing of what was sent."""
    answer = client.post(path, content=body, headers=headers)
    assert answer.status_code == status
    assert "secret-word" not in answer.text
    assert len(answer.content) < 300


def test_a_body_in_pieces_is_bounded(client: TestClient) -> None:
    """Without a declared length the pieces are counted."""
    pieces: Any = (b"x" * 1_000 for _ in range(20))
    assert client.post(PATH, content=pieces, headers=USER).status_code == 413


def test_a_full_session_is_told_apart(client: TestClient) -> None:
    """409 after the last turn; DELETE ends it, and it can be opened anew."""
    path, said = "/v1/sessions/full/turns", {"text": "one"}
    statuses = [client.post(path, json=said, headers=USER).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 409]
    assert client.delete("/v1/sessions/full", headers=USER).status_code == 204
    assert client.delete("/v1/sessions/full", headers={"x-user": "u_2"}).status_code == 404
    assert client.post(path, json=said, headers=USER).status_code == 200


def test_the_side_channel_wants_its_token(client: TestClient) -> None:
    """401 without it or with another one; with it, views by number and nothing of the token."""
    for header in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}):
        refused = client.get("/v1/recording", headers=header)
        assert (refused.status_code, TOKEN in refused.text) == (401, False)
    client.post("/v1/sessions/seen/turns", json={"text": "〔look here〕"}, headers=USER)
    heard = client.get("/v1/recording", headers={"authorization": f"Bearer {TOKEN}"})
    views = [view for line in heard.text.splitlines() for view in json.loads(line)["views"]]
    assert views[-1]["user"] == "u_1"
    assert "look here" in views[-1]["text"]


def test_the_side_channel_is_off_by_default_and_stays_on_the_loopback() -> None:
    """404 where it is off; 403 for a caller from elsewhere, whatever token it shows."""
    header = {"authorization": f"Bearer {TOKEN}"}
    with TestClient(application(ServiceSettings(parents=1))) as off:
        assert off.get("/v1/recording", headers=header).status_code == 404
    app = application(ServiceSettings(parents=1), Recording(TOKEN))
    with TestClient(app, client=("192.0.2.7", 5000)) as far:
        assert far.get("/v1/recording", headers=header).status_code == 403


def test_a_client_that_goes_away_cancels_its_turn() -> None:
    """Nothing is sent, the child is cancelled, and the next turn of the session is answered."""
    body: Any = {"type": "http.request", "body": b'{"text": "one"}', "more_body": False}

    async def run() -> tuple[list[Any], int]:
        recording, sent = Recording(TOKEN), []
        settings = ServiceSettings(parents=1, latency=0.02)
        app = application(settings, recording)
        async with app.router.lifespan_context(app):
            scope = {"type": "http", "method": "POST", "path": PATH, "headers": [(b"x-user", b"u_1")]}
            for delay in (0.03, 60.0):
                messages = [body, {"type": "http.disconnect"}]

                async def receive(messages: list[Any] = messages, delay: float = delay) -> Any:
                    if len(messages) == 1:
                        await asyncio.sleep(delay)
                    return messages.pop(0)

                async def send(message: Any) -> None:
                    sent.append(message)

                await app({**scope, "app": app, "query_string": b"", "root_path": ""}, receive, send)
        endings = [view["ending"] for view in json.loads(recording.batch(empty=True))["views"]]
        assert endings == ["cancelled", "ended"]
        return sent, len(sent)

    sent, count = asyncio.run(run())
    assert (count, sent[0]["status"]) == (2, 200)


def test_too_many_turns_at_once_are_refused() -> None:
    """503, at once, and the service goes on."""
    with TestClient(application(ServiceSettings(parents=1, in_flight=1, latency=0))) as client:
        service: Any = (
            client.app.state["service"] if isinstance(client.app, dict) else client.app.state.service
        )
        service.in_flight = 1
        assert client.post(PATH, json={"text": "one"}, headers=USER).status_code == 503
        service.in_flight = 0
        assert client.post(PATH, json={"text": "one"}, headers=USER).status_code == 200


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("That did not work: killed.", 502),
        ("That did not work: failed.\nBefore that you asked: x", 502),
        ("It did not work: x.", 200),
    ],
)
def test_a_failed_child_is_a_failure(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    """Not a whole answer in which something is missing: a load test counts it as a failure, not as a loss."""

    async def turn(service: Service, asked: Asked) -> str:
        return answer

    monkeypatch.setattr(Service, "turn", turn)
    assert client.post(PATH, json={"text": "one"}, headers=USER).status_code == status
