"""Tools: what of a reply a model may see, and the one way in which parent and child call them."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime.brief import is_identifier_field
from isolation_kit.runtime.contract import Contract, inner_timeout_ms
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.foreign import contained
from isolation_kit.runtime.log import write
from isolation_kit.runtime.messages import ToolCall, ToolSpec
from isolation_kit.runtime.result import read_limit
from isolation_kit.runtime.text import Digest, canonical, cut, encodable
from isolation_kit.strictjson import loads

if TYPE_CHECKING:
    from isolation_kit.runtime.wiring import Runtime

__all__ = ["TOOL_CODES", "ToolText", "call_tool", "filter_tool_result", "refusal", "tool_query"]

_SHORTEST = 16


TOOL_CODES = frozenset(
    {
        "bad_arguments",
        "extract_failed",
        "forbidden_tool",
        "not_strict_json",
        "not_text",
        "tool_failed",
        "tool_timeout",
        "undeclared_type",
        "unknown_tool",
    }
)
"""Why a call of a tool gave nothing to read, beside the reasons of `result.Reason`."""


@dataclass(frozen=True, slots=True)
class ToolText:
    """What a model gets to read of a tool's reply. `reason` is a code if the reply itself was refused."""

    text: str
    dropped: tuple[Dropped, ...] = ()
    reason: str = ""


def refusal(reason: str) -> ToolText:
    """The text that stands for a reply that was not let through."""
    return ToolText(canonical({"error": reason}), reason=reason)


def tool_query(tool: ToolSpec, call: ToolCall) -> object:
    """What of a call reaches the tool: the one declared parameter."""
    return call.arguments.get(tool.parameter)


def filter_tool_result(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
    """The declared part of `raw` in at most `limit` characters, valid JSON where JSON was declared.

    A reply that strict JSON refuses (duplicate keys, comments, a tail) gives a reason, none of its text. So
    does one of more than 16 times the limit and 100,000 characters, before any work is done on it.
    """
    if len(raw) > read_limit(limit):
        return refusal("too_large")
    if tool.fields is None:
        return _text_part(raw, tool, limit)
    try:
        value = loads(raw)
    except StrictJSONError:
        return refusal("not_strict_json")
    kept = tool.fields.keep(value, digest, embedded=True)
    if not kept.ok:
        return replace(refusal("undeclared_type"), dropped=kept.dropped)
    fitted = _fitted(kept.value, limit)
    if fitted is None:
        return replace(refusal("too_large"), dropped=kept.dropped)
    return ToolText(fitted, kept.dropped)


def _text_part(raw: str, tool: ToolSpec, limit: int) -> ToolText:
    if tool.extract is None:  # a tool that delegates has no reply of its own
        return refusal("not_text")
    try:
        text = tool.extract(raw)
    except Exception:  # an extractor meets what nobody foresaw: its error may quote the page
        return refusal("extract_failed")
    if not isinstance(text, str) or not encodable(text):
        return refusal("not_utf8" if isinstance(text, str) else "extract_failed")
    return ToolText(cut(text, min(limit, tool.text_limit)))


def _fitted(value: Any, limit: int) -> str | None:
    """`value` as JSON within `limit`: free texts are cut, with a mark, so the document stays whole.

    Identifiers and numbers are not cut, and no item of a list is left out, for that would show nowhere.
    """
    text = canonical(value)
    if len(text) <= limit:
        return text
    shortest = canonical(_shortened(value, _SHORTEST))
    if len(shortest) > limit:
        return None
    longest = limit
    while len(text) > limit and longest > _SHORTEST:
        longest //= 2
        text = canonical(_shortened(value, longest))
    return text if len(text) <= limit else shortest


def _shortened(value: Any, longest: int, name: str = "") -> Any:
    if isinstance(value, str):
        return value if is_identifier_field(name) else cut(value, longest)
    if isinstance(value, list):
        return [_shortened(item, longest, name) for item in value]
    if isinstance(value, dict):
        return {key: _shortened(item, longest, key) for key, item in value.items()}
    return value


async def call_tool(
    runtime: Runtime,
    agent: str,
    task_id: str,
    tool: ToolSpec,
    call: ToolCall,
    contract: Contract | None = None,
    ends: float = math.inf,
) -> str:
    """Call `tool` for `agent` and return what its model may read. Undeclared arguments go nowhere.

    Whatever a tool does wrong becomes a reason code; nothing that it raised or sent is in it.

    Args:
        contract: of a child: its inner time limit and its log level hold. A parent has none.
        ends: the event loop's time at which the child's inner limit is reached, where its beginning is known.
    """
    query = runtime.parts.tool_query(tool, call)
    if not isinstance(query, str) or not encodable(query):
        return refusal("bad_arguments").text
    runtime.hooks.tool_called(agent, tool.name)
    ends = min(ends, _latest(runtime, tool, contract))
    raw, reason, error = await _raw_reply(runtime, agent, tool, query, ends)
    if not reason:
        seen = runtime.parts.filter_tool_result(raw, tool, runtime.limits.tool_output, runtime.digest)
        for dropped in seen.dropped:
            runtime.hooks.pollution(agent, task_id, dropped, tool.name)
    else:
        seen = refusal(reason)
    if seen.reason:
        line = runtime.parts.error_line(agent, seen.reason, error, raw or query)
        write(runtime.hooks, agent, logging.ERROR, line, contract.log_threshold if contract else 0)
    runtime.hooks.tool_replied(agent, tool.name, seen.reason)
    return seen.text


def _latest(runtime: Runtime, tool: ToolSpec, contract: Contract | None) -> float:
    limit_ms = tool.timeout_ms
    if contract is not None:
        limit_ms = min(limit_ms, inner_timeout_ms(runtime.limits.timeout_of(contract)))
    return asyncio.get_running_loop().time() + limit_ms / 1000


async def _raw_reply(
    runtime: Runtime, agent: str, tool: ToolSpec, query: str, ends: float
) -> tuple[str, str, Exception | None]:
    """The tool's text, or why there is none: reason code and error.

    Time runs out at the tool's next await. One that blocks without awaiting, or swallows its cancellation,
    holds up every agent of this process: only a child in a process of its own can be stopped then.
    """
    clock = asyncio.timeout_at(ends)
    task = asyncio.current_task()
    try:
        async with clock:
            raw: object = await runtime.tool(tool.name, agent)(query)
    except BaseException as error:  # a tool is foreign code: its model gets a reason, its text goes nowhere
        if not contained(error, task):
            raise
        reason = "tool_timeout" if clock.expired() else "tool_failed"
        return "", reason, error if isinstance(error, Exception) else None
    return (raw, "", None) if isinstance(raw, str) else ("", "not_text", None)
