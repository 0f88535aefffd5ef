"""The puppets' model API as one plain ASGI app: OpenAI Chat Completions over HTTP, to Stage.reply and back.

    POST /<run_id>/v1/chat/completions      model: "<run_id>~<agent>", not streaming
    GET  /<run_id>/v1/models

The same app is served on 127.0.0.1 (`isolation_kit.stage.server`) and mounted in process, for example with
`httpx.ASGITransport(app=stage.app)`. What it cannot serve gets a 4xx in OpenAI's error shape, and the running
case keeps it as a problem: a request that nobody saw proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

from isolation_kit.errors import KitError
from isolation_kit.stage.chat_completions import Performer, Refusal, complete, models, running

__all__ = ["MAX_BODY", "ASGIApp", "Wire"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY = 32 * 1024 * 1024

# Set by the HTTP library for the transport alone; a port differs from process to process.
_TRANSPORT = frozenset({"host", "content-length", "connection", "transfer-encoding", "accept-encoding"})
_NEIGHBOURS = frozenset(
    {"responses", "completions", "embeddings", "messages", "conversations", "moderations"}
)


class Wire:
    """An ASGI app that serves the puppets of every stage added to it."""

    def __init__(self, stages: Iterable[Performer] = ()) -> None:
        self._stages: dict[str, Performer] = {stage.run_id: stage for stage in stages}

    def add(self, stage: Performer) -> str:
        """Serve `stage`, in place of an earlier one of the same run; returns its path, `/<run_id>/v1`."""
        self._stages[stage.run_id] = stage
        return f"/{stage.run_id}/v1"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request.

        Raises:
            KitError: for a connection that is no HTTP request.
        """
        if scope["type"] != "http":
            raise KitError(f"the endpoint serves http alone, got a {str(scope['type'])[:20]!r} connection")
        run_id, _, rest = str(scope["path"]).lstrip("/").partition("/")
        stage = self._stages.get(run_id)
        try:
            body = await _read(receive)
            status, payload = 200, await self._route(stage, str(scope["method"]), rest, _headers(scope), body)
        except Refusal as refusal:
            self._report(stage, f"the endpoint refused a request: {refusal.message}")
            status, payload = refusal.status, _error(refusal)
        except Exception as error:
            # Whatever the kit did wrong must not look like an answer, nor pass unseen.
            self._report(stage, f"the endpoint failed with {type(error).__name__}")
            status, payload = (
                500,
                _error(Refusal(500, "the puppets' endpoint failed; see the case's problems")),
            )
        await _write(send, status, payload)

    async def _route(
        self, stage: Performer | None, method: str, rest: str, headers: Mapping[str, str], body: bytes
    ) -> dict[str, Any]:
        if stage is None:
            raise Refusal(
                404, "the path names no running run; use stage.base_url as it is", None, "unknown_run"
            )
        if (method, rest) == ("POST", "v1/chat/completions"):
            return await complete(stage, headers, body)
        if (method, rest) == ("GET", "v1/models"):
            return models(stage)
        tail = rest.rpartition("/")[2]
        named = f"v1/{tail}" if tail in _NEIGHBOURS else "this method and path"
        raise Refusal(
            404,
            f"{named} is not served; use POST <base_url>/chat/completions or GET <base_url>/models "
            "(set the framework to Chat Completions)",
            None,
            "unknown_url",
        )

    def _report(self, stage: Performer | None, problem: str) -> None:
        """Keep a problem at the run's case; a request of no known run may have come from any running one."""
        for candidate in tuple(self._stages.values()) if stage is None else (stage,):
            case = running(candidate)
            if case is not None:
                case.recorder.problems.append(problem)


# -- requests --------------------------------------------------------------------------------------------


async def _read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "the client hung up before its request was complete")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY:
            raise Refusal(413, f"the body is longer than {MAX_BODY} bytes; shorten the case's texts")
        if not message.get("more_body", False):
            return b"".join(parts)


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name not in _TRANSPORT:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


# -- answers ---------------------------------------------------------------------------------------------


def _error(refusal: Refusal) -> dict[str, Any]:
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.code}}


async def _write(send: Send, status: int, payload: Mapping[str, Any]) -> None:
    body = json.dumps(payload, ensure_ascii=True, separators=(",", ":")).encode()
    # A client that keeps connections open would hold one socket per case of a long campaign.
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
