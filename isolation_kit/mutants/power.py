"""Defects in what a child may do: whose data it may ask for, what its answers set in motion."""

from __future__ import annotations

from dataclasses import replace

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import TASK, case, tool_reply, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import (
    CLEAN,
    Child,
    ChildSpec,
    ParentScope,
    Parts,
    Runtime,
    ToolCall,
    ToolSpec,
    inline,
)
from isolation_kit.runtime.bridge import TaskRequest, seen_result
from isolation_kit.runtime.text import canonical
from isolation_kit.targets.reference import clean_parts, make_reference_task
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


class _ForAnyUser(ToolSpec):
    """A tool that also asks whose data is meant."""

    @property
    def schema(self) -> dict[str, object]:
        return {
            "type": "object",
            "properties": {self.parameter: {"type": "string"}, "user_id": {"type": "string"}},
            "required": [self.parameter],
        }


def _user_by_argument() -> Parts:
    def addressed(spec: ChildSpec) -> Child:
        tools = tuple(_ForAnyUser(tool.name, tool.description, fields=tool.fields) for tool in spec.tools)
        return Child(replace(spec, tools=tools))

    def as_asked(tool: ToolSpec, call: ToolCall) -> object:
        return canonical(dict(call.arguments))

    return replace(CLEAN, new_child=addressed, tool_query=as_asked)


async def _obeying(runtime: Runtime, scope: ParentScope, spec: ChildSpec, request: TaskRequest) -> bytes:
    """A launcher that takes a tool call in a child's answer for one of the parent's."""
    up = await inline(runtime, scope, spec, request)
    answer = seen_result(up).get("key_outputs", {}).get("answer", "")
    return await inline(runtime, scope, spec, request) if "<tool_call>" in answer else up


m41_user_by_argument = leaky("task", "m41_user_by_argument", _user_by_argument)
m71_answer_obeyed = make_reference_task(clean_parts, "m71_answer_obeyed", _obeying)

MUTANTS = (
    Mutant(
        41,
        "m41_user_by_argument",
        "a child's tool serves the user that the child names",
        "task",
        m41_user_by_argument,
        oracle="authority",
        slot="field.user_id",
        channel=Channel.CHILD_TOOL_ARGS,
        direction=Direction.ACROSS,
        alone=True,
        link="https://github.com/mem0ai/mem0/issues/4359",
        smallest=tool_reply("{}"),
    ),
    Mutant(
        71,
        "m71_answer_obeyed",
        "a tool call in a child's answer makes the parent delegate once more",
        "task",
        m71_answer_obeyed,
        oracle="integrity",
        slot="child.answer",
        channel=Channel.CHILD_CONTEXT,
        direction=Direction.UP,
        alone=True,
        smallest=case(turn(TASK)),
    ),
)
