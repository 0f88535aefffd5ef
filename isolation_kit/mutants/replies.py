"""Defects in the filter between a tool's reply and the child, and in the result that goes up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from isolation_kit.errors import StrictJSONError
from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import NOISE, TASK, case, tool_reply, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import CLEAN, AllowList, Dropped, Message, Parts, Status, SubAgentResult, ToolSpec
from isolation_kit.runtime.bridge import seen_result
from isolation_kit.runtime.text import Digest, canonical
from isolation_kit.runtime.tools import ToolText, filter_tool_result
from isolation_kit.strictjson import loads
from isolation_kit.trace import Channel

__all__ = ["MUTANTS", "as_it_came"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _tool_reply_whole() -> Parts:
    def whole(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
        return ToolText(raw[:limit])

    return replace(CLEAN, filter_tool_result=whole)


def _top_level_only() -> Parts:
    def shallow(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
        value = _object(raw)
        if value is None or tool.fields is None:
            return filter_tool_result(raw, tool, limit, digest)
        return ToolText(canonical({key: item for key, item in value.items() if key in tool.fields.names}))

    return replace(CLEAN, filter_tool_result=shallow)


def _lenient_parser() -> Parts:
    def lenient(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
        seen = filter_tool_result(raw, tool, limit, digest)
        bare = _COMMENT.sub("", raw).strip()
        if seen.reason != "not_strict_json" or tool.fields is None or not bare.startswith("{"):
            return seen
        try:
            value, end = json.JSONDecoder().raw_decode(bare)
        except ValueError:
            return seen
        kept = tool.fields.keep(value, digest)
        rest = " ".join([*_COMMENT.findall(raw), bare[end:]])
        return ToolText(f"{canonical(kept.value)} {rest}"[:limit], kept.dropped)

    return replace(CLEAN, filter_tool_result=lenient)


def _filter_before_decoding() -> Parts:
    def late(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
        seen = filter_tool_result(raw, tool, limit, digest)
        value = _object(raw)
        if value is None or seen.reason:
            return seen
        # A name that is still encoded looks like no known one, so it is left to the decoder, too late.
        decoded = {unquote(key): item for key, item in value.items() if "%" in key}
        return ToolText(canonical({**json.loads(seen.text), **decoded}), seen.dropped) if decoded else seen

    return replace(CLEAN, filter_tool_result=late)


def _debug_in_result() -> Parts:
    def with_debug(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        raw = result.to_dict()
        debug = {"rounds": len(memory), "roles": [message.role for message in memory]}
        return {**raw, "key_outputs": {**raw["key_outputs"], "debug": debug}}

    return replace(CLEAN, pack_result=with_debug, read_result=as_it_came)


def as_it_came(
    data: bytes, declared: AllowList, digest: Digest
) -> tuple[SubAgentResult, tuple[Dropped, ...]]:
    """A parent that takes all that a result says."""
    raw = seen_result(data)
    lists = {name: tuple(raw.get(name, ())) for name in ("artifacts", "errors")}
    return SubAgentResult(**{**raw, **lists, "status": Status(raw["status"])}), ()


def _object(raw: str) -> dict[str, Any] | None:
    try:
        value = loads(raw)
    except StrictJSONError:
        return None
    return value if isinstance(value, dict) else None


m10_tool_reply_whole = leaky("task", "m10_tool_reply_whole", _tool_reply_whole)
m11_top_level_only = leaky("task", "m11_top_level_only", _top_level_only)
m14_lenient_parser = leaky("task", "m14_lenient_parser", _lenient_parser)
m17_filter_before_decoding = leaky("task", "m17_filter_before_decoding", _filter_before_decoding)
m49_debug_in_result = leaky("task", "m49_debug_in_result", _debug_in_result)

MUTANTS = (
    Mutant(
        10,
        "m10_tool_reply_whole",
        "a tool's reply reaches the child whole",
        "task",
        m10_tool_reply_whole,
        oracle="canary",
        slot="child.tool.noise",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="article 000 section 2.2",
        smallest=tool_reply(f'{{"amount": 1, "trace_id": "{NOISE}"}}'),
    ),
    Mutant(
        11,
        "m11_top_level_only",
        "the allow-list is applied to the top level only",
        "task",
        m11_top_level_only,
        oracle="canary",
        slot="child.tool.noise",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="article 000 section 3.2",
        smallest=tool_reply(f'{{"items": [{{"name": "a", "debug": "{NOISE}"}}]}}'),
    ),
    Mutant(
        14,
        "m14_lenient_parser",
        "a lenient parser hands comments and tails on",
        "task",
        m14_lenient_parser,
        oracle="contract",
        slot="field.(not strict JSON)",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="article 000 section 4.7",
        smallest=tool_reply('{"amount": 129.5} // rounded'),
    ),
    Mutant(
        17,
        "m17_filter_before_decoding",
        "names are filtered before they are percent-decoded",
        "task",
        m17_filter_before_decoding,
        oracle="canary",
        slot="child.tool.noise",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        smallest=tool_reply(f'{{"amount": 1, "%74race_id": "{NOISE}"}}'),
    ),
    Mutant(
        49,
        "m49_debug_in_result",
        "the result carries a debug field past its contract",
        "task",
        m49_debug_in_result,
        oracle="contract",
        slot="field.debug",
        channel=Channel.RESULT,
        direction=Direction.UP,
        link="https://github.com/anthropics/claude-code/issues/14118",
        smallest=case(turn(TASK)),
    ),
)
