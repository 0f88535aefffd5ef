"""The HTTP face: strict about what comes in, and silent about it in every error.

- `POST /v1/sessions/{session}/turns` with the header `X-User` (who that is, the gateway in front has proved)
  and `{"text": ..., "reply": ...}`; `reply`, the raw reply of the child's tool, may be left out. Answers
  `{"answer": ...}`. A client that goes away cancels its turn.
- `DELETE /v1/sessions/{session}`, `GET /health`, `GET /metrics`.
- `GET /v1/recording`: the side channel. 404 unless it is on, 403 from anywhere but the loopback, 401 with
  another token, 409 for a second listener.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from json import dumps
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime.text import encodable
from isolation_kit.service.desk import BusyError, FullError
from isolation_kit.service.recording import Recording
from isolation_kit.service.script import DEFAULT_REPLY, Asked, went_wrong
from isolation_kit.service.settings import ServiceSettings
from isolation_kit.service.sharded import OverloadError, Service, opened
from isolation_kit.strictjson import loads

__all__ = ["application"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_SLOW = 10.0  # seconds for a request's body
_FIELDS = frozenset({"text", "reply"})


class _RefusedError(Exception):
    """A request that gets no turn: its status, and what to tell, which holds nothing of the request."""

    def __init__(self, status: int, code: str, say: str) -> None:
        super().__init__(code)
        self.status, self.code, self.say = status, code, say


class _Gone(Exception):
    """The client went away: nobody is left to answer."""


def application(
    settings: ServiceSettings, recording: Recording | None = None, going_on: Callable[[], bool] = lambda: True
) -> Starlette:
    """The service as an ASGI application.

    Args:
        recording: the side channel; None, the default, leaves it off.
        going_on: False once the server stops, so that the side channel ends.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with opened(settings, recording) as service:
            app.state.service = service
            yield

    async def health(request: Request) -> Response:
        return JSONResponse(_service(request.scope).health())

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(
            _service(request.scope).metrics.text(), media_type="text/plain; version=0.0.4"
        )

    async def stream(request: Request) -> Response:
        return _recorded(request, recording, going_on)

    turns = "/v1/sessions/{session}/turns"
    return Starlette(
        routes=[
            Route(turns, _Turns(), methods=["POST"]),
            Route("/v1/sessions/{session}", _ended, methods=["DELETE"]),
            Route("/v1/recording", stream, methods=["GET"]),
            Route("/health", health, methods=["GET"]),
            Route("/metrics", metrics, methods=["GET"]),
        ],
        lifespan=lifespan,
    )


def _service(scope: Scope) -> Service:
    service: Service = scope["app"].state.service
    return service


class _Turns:
    """One turn, from bytes to bytes: plain ASGI, because it must hear the client go away."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = _service(scope)
        headers = {"content-type": "application/json"}
        try:
            async with asyncio.timeout(_SLOW):
                data = await _body(scope, receive, service.settings.body)
            asked = _asked(scope, data)
            headers["x-shard"] = str(service.shard(asked.user))
            answer = await _answered(service, asked, receive)
            if went_wrong(answer):  # a failure is no answer: whoever asked must not take it for one
                raise _RefusedError(502, "child_failed", "the child of this turn failed or was killed")
            status, told = 200, {"answer": answer}
        except _Gone:
            return
        except TimeoutError:
            status, told = 408, _told("too_slow", "the body did not come within 10 seconds")
        except _RefusedError as error:
            status, told = error.status, _told(error.code, error.say)
        await _send(send, status, headers, told)


async def _answered(service: Service, asked: Asked, receive: Receive) -> str:
    """The answer, unless the client goes away or time runs out; then the turn is cancelled."""
    turn = asyncio.ensure_future(service.turn(asked))
    gone = asyncio.ensure_future(receive())
    gone.add_done_callback(lambda _: turn.cancel())
    try:
        async with asyncio.timeout(service.settings.seconds):
            return await turn
    except asyncio.CancelledError:
        if gone.done() and not gone.cancelled() and turn.cancelled():
            raise _Gone from None
        raise
    except TimeoutError:
        raise _RefusedError(504, "timed_out", "the turn took too long and was cancelled") from None
    except OverloadError:
        raise _RefusedError(503, "overload", "too many turns at once; try again later") from None
    except BusyError:
        raise _RefusedError(503, "no_session_free", "all sessions are in use; try again later") from None
    except FullError:
        raise _RefusedError(
            409, "session_full", "the session has had all of its turns; open another"
        ) from None
    except Exception as error:
        code = type(error).__name__ if type(error).__module__.startswith("isolation_kit.") else "fault"
        raise _RefusedError(500, code, "the turn failed; the service's log has the type") from None
    finally:
        gone.cancel()


async def _body(scope: Scope, receive: Receive, limit: int) -> bytes:
    declared = _header(scope, b"content-length")
    too_long = _RefusedError(413, "too_large", f"a body has at most {limit} bytes")
    if declared.isdigit() and int(declared[:20]) > limit:
        raise too_long
    parts: list[bytes] = []
    size = 0
    while True:
        message: Message = await receive()
        if message["type"] != "http.request":
            raise _Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise too_long
        if not message.get("more_body", False):
            return b"".join(parts)


def _asked(scope: Scope, data: bytes) -> Asked:
    user = _header(scope, b"x-user")
    session = scope["path_params"]["session"]
    for name, given, status in (("user", user, 401), ("session", session, 400)):
        if not _NAME.match(given):
            say = f"a {name} is 1 to 64 letters, digits, '_' and '-', for example u_17"
            raise _RefusedError(status, f"no_{name}", say)
    try:
        value = loads(data, max_bytes=len(data))
    except StrictJSONError as error:
        raise _RefusedError(400, "no_json", f"the body is no strict JSON: {error}") from None
    if not isinstance(value, dict) or not value.keys() <= _FIELDS:
        raise _RefusedError(400, "wrong_fields", 'the body is {"text": "...", "reply": "..."}')
    text, reply = value.get("text"), value.get("reply", DEFAULT_REPLY)
    if not isinstance(text, str) or not isinstance(reply, str) or not text.strip():
        raise _RefusedError(400, "no_text", '"text" is a text that says something, "reply" is a text')
    if not encodable(text) or not encodable(reply):
        raise _RefusedError(400, "no_text", "a lone surrogate is no text")
    return Asked(user, session, text, reply)


def _header(scope: Scope, name: bytes) -> str:
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1") if len(found) == 1 else ""


def _told(code: str, say: str) -> dict[str, str]:
    return {"error": code, "say": say}


async def _send(send: Send, status: int, headers: Mapping[str, str], told: Mapping[str, Any]) -> None:
    body = dumps(told, ensure_ascii=False).encode()
    lines = [(name.encode(), value.encode()) for name, value in headers.items()]
    lines.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


async def _ended(request: Request) -> Response:
    user, session = request.headers.get("x-user", ""), request.path_params["session"]
    if not _NAME.match(user) or not _NAME.match(session):
        return JSONResponse(_told("no_name", "name a user and a session"), 400)
    closed = _service(request.scope).sessions.close(user, session)
    return Response(status_code=204 if closed else 404)


def _recorded(request: Request, recording: Recording | None, going_on: Callable[[], bool]) -> Response:
    if recording is None:
        return JSONResponse(_told("off", "the side channel is off"), 404)
    if request.client is None or not _is_loopback(request.client.host):
        return JSONResponse(_told("not_here", "the side channel is for the loopback only"), 403)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme != "Bearer" or not recording.opens_for(token):
        return JSONResponse(_told("no_token", "the side channel wants its token"), 401)
    if recording.listening:
        return JSONResponse(_told("taken", "somebody listens already"), 409)
    return StreamingResponse(recording.stream(going_on), media_type="application/x-ndjson")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
