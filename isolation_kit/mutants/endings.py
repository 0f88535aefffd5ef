"""Defects in what goes up when a child ends: at its step limit, after a failure, or beside its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import at, case, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.mutants.replies import as_it_came
from isolation_kit.runtime import CLEAN, Message, Parts, Reason, Status, SubAgentResult
from isolation_kit.scenario import Answer, Delegate, Limits, Say, UseTool
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


def _last_messages() -> Parts:
    def instead(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        if Reason.ROUND_LIMIT not in result.errors:
            return result.to_dict()
        return {**result.to_dict(), "key_outputs": {"answer": "\n".join(m.content for m in memory[-5:])}}

    return replace(CLEAN, pack_result=instead)


def _debug_info() -> Parts:
    def with_tool_results(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        if result.status is Status.SUCCEEDED:
            return result.to_dict()
        read = [message.content for message in memory if message.role == "tool"]
        return {**result.to_dict(), "key_outputs": {"agent_debug_info": read}}

    return replace(CLEAN, pack_result=with_tool_results, read_result=as_it_came)


def _text_before_the_end() -> Parts:
    def all_that_was_said(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        said = "\n".join(message.content for message in memory if message.role == "assistant")
        answered = result.status is Status.SUCCEEDED
        return {**result.to_dict(), "key_outputs": {"answer": said}} if answered else result.to_dict()

    return replace(CLEAN, pack_result=all_that_was_said)


def _state_merged() -> Parts:
    def merged(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        state = {"messages": [message.role for message in memory], "remaining_steps": 3}
        return {**result.to_dict(), "key_outputs": {**state, **result.key_outputs}}

    return replace(CLEAN, pack_result=merged, read_result=as_it_came)


m50_text_before_end = leaky("task", "m50_text_before_end", _text_before_the_end)
m51_state_merged = leaky("task", "m51_state_merged", _state_merged)
m61_last_messages = leaky("task", "m61_last_messages", _last_messages)
m62_debug_info = leaky("task", "m62_debug_info", _debug_info)

_READ = json.dumps({"description": at("child.tool.result")})
_LOOKED_UP = (UseTool(0, "q", _READ), UseTool(1, "q", "{}"))

MUTANTS = (
    Mutant(
        50,
        "m50_text_before_end",
        "what a child said before its last message is a part of the answer",
        "task",
        m50_text_before_end,
        oracle="canary",
        slot="child.text",
        channel=Channel.RESULT,
        direction=Direction.UP,
        link="https://github.com/anthropics/claude-code/issues/14118",
        smallest=case(turn(Delegate(0, "find it", (Say(at("child.text")), UseTool(0, "q", "{}"))))),
    ),
    Mutant(
        51,
        "m51_state_merged",
        "a child's whole state is merged into its result",
        "task",
        m51_state_merged,
        oracle="contract",
        slot="field.messages",
        channel=Channel.RESULT,
        direction=Direction.UP,
        link="https://github.com/langchain-ai/langgraph/issues/3134",
        smallest=case(turn(Delegate(0, "find it", (Answer("42"),)))),
    ),
    Mutant(
        61,
        "m61_last_messages",
        "at the step limit the last five messages stand for the answer",
        "task",
        m61_last_messages,
        oracle="canary",
        slot="child.tool.result",
        channel=Channel.RESULT,
        direction=Direction.UP,
        link="article 003 section 4.2",
        smallest=replace(case(turn(Delegate(0, "find it", _LOOKED_UP))), limits=Limits(rounds=2)),
    ),
    Mutant(
        62,
        "m62_debug_info",
        "a failed child's tool results go up as debug info",
        "task",
        m62_debug_info,
        oracle="canary",
        slot="child.tool.result",
        channel=Channel.RESULT,
        direction=Direction.UP,
        link="article 003 section 4.4",
        smallest=case(turn(Delegate(0, "find it", (UseTool(0, "q", _READ), Answer("{"))))),
    ),
)
