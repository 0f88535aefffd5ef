"""Tools: what of a reply a model may see, and the one way in which parent and child call them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isolation_kit.errors import KitError, StrictJSONError
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.log import write
from isolation_kit.runtime.messages import ToolCall, ToolSpec
from isolation_kit.runtime.text import Digest, canonical, cut, encodable
from isolation_kit.strictjson import loads

if TYPE_CHECKING:
    from isolation_kit.runtime.wiring import Runtime

__all__ = ["ToolText", "call_tool", "filter_tool_result", "refusal"]

_SHORTEST = 16


@dataclass(frozen=True, slots=True)
class ToolText:
    """What a model gets to read of a tool's reply. `reason` is a code if the reply itself was refused."""

    text: str
    dropped: tuple[Dropped, ...] = ()
    reason: str = ""


def refusal(reason: str) -> ToolText:
    """The text that stands for a reply that was not let through."""
    return ToolText(canonical({"error": reason}), reason=reason)


def filter_tool_result(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
    """The declared part of `raw` in at most `limit` characters, valid JSON where JSON was declared.

    A reply that strict JSON refuses (duplicate keys, comments, a tail) gives a reason, none of its text.
    """
    if tool.fields is None:
        text = tool.extract(raw) if tool.extract is not None else raw
        return ToolText(cut(text, min(limit, tool.text_limit))) if encodable(text) else refusal("not_utf8")
    try:
        value = loads(raw)
    except StrictJSONError:
        return refusal("not_strict_json")
    kept = tool.fields.keep(value, digest, embedded=True)
    if not kept.ok:
        return ToolText(canonical({"error": "undeclared_type"}), kept.dropped, "undeclared_type")
    fitted = _fitted(kept.value, limit)
    if fitted is None:
        return ToolText(canonical({"error": "too_large"}), kept.dropped, "too_large")
    return ToolText(fitted, kept.dropped)


def _fitted(value: Any, limit: int) -> str | None:
    """`value` as JSON within `limit`: strings and lists are cut, so the document stays whole."""
    text = canonical(value)
    longest = limit
    while len(text) > limit:
        longest //= 2
        if longest < _SHORTEST:
            return None
        text = canonical(_shortened(value, longest))
    return text


def _shortened(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return cut(value, longest)
    if isinstance(value, list):
        return [_shortened(item, longest) for item in value[:longest]]
    if isinstance(value, dict):
        return {key: _shortened(item, longest) for key, item in value.items()}
    return value


async def call_tool(runtime: Runtime, agent: str, task_id: str, tool: ToolSpec, call: ToolCall) -> str:
    """Call `tool` for `agent` and return what its model may read. Undeclared arguments go nowhere."""
    query = call.arguments.get(tool.parameter)
    if not isinstance(query, str) or not encodable(query):
        return refusal("bad_arguments").text
    runtime.hooks.tool_called(agent, tool.name)
    try:
        raw = await runtime.tool(tool.name, agent)(query)
    except KitError:
        raise
    except Exception as error:  # a tool is foreign code: its model gets a reason, its text goes nowhere
        _log(runtime, agent, "tool_failed", error, query)
        runtime.hooks.tool_replied(agent, tool.name, "tool_failed")
        return refusal("tool_failed").text
    if not isinstance(raw, str):
        runtime.hooks.tool_replied(agent, tool.name, "not_text")
        return refusal("not_text").text
    seen = runtime.parts.filter_tool_result(raw, tool, runtime.limits.tool_output, runtime.digest)
    for dropped in seen.dropped:
        runtime.hooks.pollution(agent, task_id, dropped, tool.name)
    if seen.reason:
        _log(runtime, agent, seen.reason, None, raw)
    runtime.hooks.tool_replied(agent, tool.name, seen.reason)
    return seen.text


def _log(runtime: Runtime, agent: str, reason: str, error: Exception | None, at_hand: str) -> None:
    write(runtime.hooks, agent, logging.ERROR, runtime.parts.error_line(agent, reason, error, at_hand))
