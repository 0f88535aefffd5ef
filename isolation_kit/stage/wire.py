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
from typing import Any, Protocol

from isolation_kit.errors import KitError, UsageError
from isolation_kit.stage.case import Case
from isolation_kit.stage.puppet import ModelCall, ModelReply, ToolUse
from isolation_kit.trace import Channel

__all__ = ["MAX_BODY", "UNKNOWN_AGENT", "ASGIApp", "Performer", "Wire"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY = 32 * 1024 * 1024
UNKNOWN_AGENT = "(unknown agent)"

# Set by the HTTP library for the transport alone; a port differs from process to process.
_TRANSPORT = frozenset({"host", "content-length", "connection", "transfer-encoding", "accept-encoding"})
_NEIGHBOURS = frozenset(
    {"responses", "completions", "embeddings", "messages", "conversations", "moderations"}
)


class Performer(Protocol):
    """What the wire needs of a Stage."""

    @property
    def run_id(self) -> str:
        """Stands in the path and in the model names."""

    @property
    def case(self) -> Case:
        """The running case; raises UsageError outside one."""

    def reply(self, call: ModelCall) -> ModelReply:
        """Record a model call and let the puppet answer it."""


class _Refusal(Exception):
    """A request that gets an error: the HTTP status, what was wrong, and OpenAI's `param` and `code`."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code


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
            status, payload = 200, self._route(stage, str(scope["method"]), rest, _headers(scope), body)
        except _Refusal as refusal:
            self._report(stage, f"the endpoint refused a request: {refusal.message}")
            status, payload = refusal.status, _error(refusal)
        except Exception as error:
            # Whatever the kit did wrong must not look like an answer, nor pass unseen.
            self._report(stage, f"the endpoint failed with {type(error).__name__}")
            status, payload = (
                500,
                _error(_Refusal(500, "the puppets' endpoint failed; see the case's problems")),
            )
        await _write(send, status, payload)

    def _route(
        self, stage: Performer | None, method: str, rest: str, headers: Mapping[str, str], body: bytes
    ) -> dict[str, Any]:
        if stage is None:
            raise _Refusal(
                404, "the path names no running run; use stage.base_url as it is", None, "unknown_run"
            )
        if (method, rest) == ("POST", "v1/chat/completions"):
            return _complete(stage, _parse(body), headers, body)
        if (method, rest) == ("GET", "v1/models"):
            return _models(stage)
        tail = rest.rpartition("/")[2]
        named = f"v1/{tail}" if tail in _NEIGHBOURS else "this method and path"
        raise _Refusal(
            404,
            f"{named} is not served; use POST <base_url>/chat/completions or GET <base_url>/models "
            "(set the framework to Chat Completions)",
            None,
            "unknown_url",
        )

    def _report(self, stage: Performer | None, problem: str) -> None:
        """Keep a problem at the run's case; a request of no known run may have come from any running one."""
        for candidate in tuple(self._stages.values()) if stage is None else (stage,):
            case = _running(candidate)
            if case is not None:
                case.recorder.problems.append(problem)


def _running(stage: Performer) -> Case | None:
    try:
        return stage.case
    except UsageError:
        return None


# -- requests --------------------------------------------------------------------------------------------


async def _read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Refusal(400, "the client hung up before its request was complete")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY:
            raise _Refusal(413, f"the body is longer than {MAX_BODY} bytes; shorten the case's texts")
        if not message.get("more_body", False):
            return b"".join(parts)


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name not in _TRANSPORT:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _parse(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise _Refusal(400, "the body is no JSON document with unique keys", None, "invalid_json") from None
    if not isinstance(request, dict):
        raise _Refusal(400, 'the body must be a JSON object, for example {"model": ..., "messages": [...]}')
    for name, needed in (("messages", True), ("tools", False)):
        value = request.get(name)
        if (value is None and not needed) or _are_objects(value):
            continue
        raise _Refusal(400, f"'{name}' must be an array of objects", name, "invalid_type")
    if not isinstance(request.get("model"), str):
        raise _Refusal(400, "'model' must be a string; use stage.model_name(agent)", "model", "invalid_type")
    return request


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of `pairs`: of two equal keys one would go unread, and so would a canary in it."""
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("duplicate key")
    return out


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


# -- answers ---------------------------------------------------------------------------------------------


def _complete(
    stage: Performer, request: Mapping[str, Any], headers: Mapping[str, str], body: bytes
) -> dict[str, Any]:
    case = _running(stage)
    if case is None:
        raise _Refusal(400, "no case is running on this stage", None, "no_case")
    run_id, mark, agent = request["model"].partition("~")
    known = bool(mark) and run_id == stage.run_id and agent in case.declaration.agents
    call = ModelCall(
        agent if known else UNKNOWN_AGENT,
        tuple(request["messages"]),
        tuple(request.get("tools") or ()),
        headers,
        {name: request[name] for name in request if name not in ("model", "messages", "tools")},
    )
    if not known:
        stage.reply(call)  # a foreign canary in a call of nobody is still a leak, so it is recorded
        raise _Refusal(
            404,
            "the model names no agent of this run; use stage.model_name(agent) with one of: "
            f"{', '.join(case.declaration.agents)}",
            "model",
            "model_not_found",
        )
    if request.get("stream"):
        root = agent == case.declaration.root
        case.record(Channel.PARENT_REQUEST if root else Channel.CHILD_REQUEST, agent, body)
        raise _Refusal(400, "streaming is not served; set stream to false", "stream", "unsupported_value")
    return _completion(request["model"], stage.reply(call))


def _completion(model: str, reply: ModelReply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["content"] = reply.text or None
        message["tool_calls"] = [_tool_call(use) for use in reply.calls]
    finish = "tool_calls" if reply.calls else "stop"
    # Times, ids and token counts are constants: they must not differ between paired runs.
    return {
        "id": "chatcmpl-puppet",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _tool_call(use: ToolUse) -> dict[str, Any]:
    arguments = json.dumps(use.arguments, ensure_ascii=True, separators=(",", ":"))
    return {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": arguments}}


def _models(stage: Performer) -> dict[str, Any]:
    case = _running(stage)
    names = tuple(case.declaration.agents) if case is not None else ()
    models = [
        {"id": f"{stage.run_id}~{name}", "object": "model", "created": 0, "owned_by": "isolation-kit"}
        for name in names
    ]
    return {"object": "list", "data": models}


def _error(refusal: _Refusal) -> dict[str, Any]:
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
