"""OpenAI's Chat Completions, not streaming: a request body to a ModelCall, a ModelReply to a body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from isolation_kit.errors import UsageError
from isolation_kit.stage.case import Case
from isolation_kit.stage.puppet import ModelCall, ModelReply, ToolUse
from isolation_kit.trace import Channel

__all__ = ["UNKNOWN_AGENT", "Performer", "Refusal", "complete", "models", "running"]

UNKNOWN_AGENT = "(unknown agent)"


class Performer(Protocol):
    """What the wire needs of a Stage."""

    @property
    def run_id(self) -> str:
        """Stands in the path and in the model names."""

    @property
    def case(self) -> Case:
        """The running case; raises UsageError outside one."""

    async def answer(self, call: ModelCall) -> ModelReply:
        """Record a model call and let the puppet answer it, when the case's schedule lets it."""


class Refusal(Exception):
    """A request that gets an error: the HTTP status, what was wrong, and OpenAI's `param` and `code`."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code


def running(stage: Performer) -> Case | None:
    """The case that runs on `stage`, if one does."""
    try:
        return stage.case
    except UsageError:
        return None


def _parse(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise Refusal(400, "the body is no JSON document with unique keys", None, "invalid_json") from None
    if not isinstance(request, dict):
        raise Refusal(400, 'the body must be a JSON object, for example {"model": ..., "messages": [...]}')
    for name, needed in (("messages", True), ("tools", False)):
        value = request.get(name)
        if (value is None and not needed) or _are_objects(value):
            continue
        raise Refusal(400, f"'{name}' must be an array of objects", name, "invalid_type")
    if not isinstance(request.get("model"), str):
        raise Refusal(400, "'model' must be a string; use stage.model_name(agent)", "model", "invalid_type")
    return request


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of `pairs`: of two equal keys one would go unread, and so would a canary in it."""
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("duplicate key")
    return out


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


async def complete(stage: Performer, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """Answer one POST to /chat/completions.

    Raises:
        Refusal: for a malformed body, a model that names no agent of this run, streaming, and a call that the
            case's schedule lets run out of time.
    """
    request = _parse(body)
    case = running(stage)
    if case is None:
        raise Refusal(400, "no case is running on this stage", None, "no_case")
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
        await stage.answer(call)  # a foreign canary in a call of nobody is still a leak, so it is recorded
        raise Refusal(
            404,
            "the model names no agent of this run; use stage.model_name(agent) with one of: "
            f"{', '.join(case.declaration.agents)}",
            "model",
            "model_not_found",
        )
    if request.get("stream"):
        root = agent == case.declaration.root
        case.record(Channel.PARENT_REQUEST if root else Channel.CHILD_REQUEST, agent, body)
        raise Refusal(400, "streaming is not served; set stream to false", "stream", "unsupported_value")
    try:
        reply = await stage.answer(call)
    except TimeoutError as late:
        raise Refusal(504, str(late), None, "timeout") from None
    return _completion(request["model"], reply)


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


def models(stage: Performer) -> dict[str, Any]:
    """Answer one GET of /models: a model for each declared agent."""
    case = running(stage)
    names = tuple(case.declaration.agents) if case is not None else ()
    offered = [
        {"id": f"{stage.run_id}~{name}", "object": "model", "created": 0, "owned_by": "isolation-kit"}
        for name in names
    ]
    return {"object": "list", "data": offered}
