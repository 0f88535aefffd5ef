"""Defects modelled on public reports: what comes up from a child and its tools, or stands in a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import NOISE, TASK, at, case, tool_reply, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import CLEAN, Message, ModelRequest, Parts, SubAgentResult, ToolSpec
from isolation_kit.runtime.text import Digest, canonical
from isolation_kit.runtime.tools import ToolText, filter_tool_result
from isolation_kit.scenario import Answer, Delegate, Say, UseTool
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


def _transcript_of_the_second() -> Parts:
    numbers = count()

    def whole_but_the_first(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        raw = result.to_dict()
        if next(numbers) == 0 or "answer" not in raw["key_outputs"]:
            return raw
        said = " ".join(message.content for message in memory if message.role == "assistant")
        return {**raw, "key_outputs": {**raw["key_outputs"], "answer": said}}

    return replace(CLEAN, pack_result=whole_but_the_first)


def _error_with_its_cause() -> Parts:
    def explained(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
        seen = filter_tool_result(raw, tool, limit, digest)
        if not seen.reason:
            return seen
        return ToolText(canonical({"error": f"{seen.reason}: {raw[:limit]}"}), seen.dropped, seen.reason)

    return replace(CLEAN, filter_tool_result=explained)


def _calls_on_the_console() -> Parts:
    def with_arguments(request: ModelRequest, digest: Digest) -> str:
        calls = [call for message in request.messages for call in message.calls]
        return " ".join(f"{call.name}({canonical(dict(call.arguments))})" for call in calls)

    return replace(CLEAN, request_line=with_arguments)


def _appended_twice() -> Parts:
    def twice(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
        seen = filter_tool_result(raw, tool, limit, digest)
        return replace(seen, text=seen.text + seen.text)

    return replace(CLEAN, filter_tool_result=twice)


m123_transcript_of_the_second = leaky("task", "m123_transcript_of_the_second", _transcript_of_the_second)
m196_error_with_its_cause = leaky("task", "m196_error_with_its_cause", _error_with_its_cause)
m217_calls_on_the_console = leaky("task", "m217_calls_on_the_console", _calls_on_the_console)
m223_appended_twice = leaky("task", "m223_appended_twice", _appended_twice)

_THINKS = (Say(f"so {at('child.text', turn=1)}"), UseTool(0, "q", '{"amount": 1}'), Answer("42"))
_ASKS = (UseTool(0, f"q {at('child.tool.args')}", '{"amount": 1}'), Answer("42"))

MUTANTS = (
    Mutant(
        123,
        "m123_transcript_of_the_second",
        "one child returns its answer, a second one its transcript",
        "task",
        m123_transcript_of_the_second,
        oracle="canary",
        slot="child.text",
        channel=Channel.RESULT,
        direction=Direction.UP,
        link="https://github.com/anthropics/claude-code/issues/18351",
        smallest=case(turn(TASK), turn(Delegate(0, "find it", _THINKS))),
    ),
    Mutant(
        196,
        "m196_error_with_its_cause",
        "an error that the model is told quotes what the tool sent",
        "task",
        m196_error_with_its_cause,
        oracle="canary",
        slot="child.tool.noise",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="https://github.com/modelcontextprotocol/typescript-sdk/issues/1429",
        smallest=tool_reply(f'{{"amount": 1}} // {NOISE}'),
    ),
    Mutant(
        217,
        "m217_calls_on_the_console",
        "telemetry prints the arguments of every call",
        "task",
        m217_calls_on_the_console,
        oracle="canary",
        slot="child.tool.args",
        channel=Channel.LOG,
        direction=Direction.OUT,
        link="https://github.com/ogx-ai/ogx/issues/3499",
        smallest=case(turn(Delegate(0, "find it", _ASKS))),
    ),
    Mutant(
        223,
        "m223_appended_twice",
        "a reply is added to itself, and two objects are no JSON",
        "task",
        m223_appended_twice,
        oracle="contract",
        slot="field.(not strict JSON)",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="https://github.com/simonw/llm/issues/1130",
        smallest=tool_reply('{"amount": 1}'),
    ),
)
