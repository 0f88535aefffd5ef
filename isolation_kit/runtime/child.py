"""The child: a fresh message list, its own tools, at most so many rounds, and then only its result is left.

Article 001, section 2.2; article 002, section 5. What a child says beside its tool calls, and what its tools
answer, stays in the message list that dies with it. (Dropping it forgets nothing for certain within one
process: copies may remain until the process ends.)
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isolation_kit.errors import KitError
from isolation_kit.runtime.bridge import request_schema
from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.contract import Contract
from isolation_kit.runtime.fields import AllowList
from isolation_kit.runtime.log import write
from isolation_kit.runtime.messages import Message, ModelReply, ModelRequest, ToolCall, ToolSpec
from isolation_kit.runtime.result import ANSWER, Status, SubAgentResult, envelope, result_of
from isolation_kit.runtime.tools import call_tool, refusal

if TYPE_CHECKING:
    from isolation_kit.runtime.wiring import Runtime

__all__ = ["Child", "ChildSpec", "run_child"]

_REPEATS = 3  # the third equal call in a row is refused
_STUBBORN = 2  # so many refusals in a row end the child


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What a child is: its goal, its basic tools, the schemas of its inputs and key outputs, its constraints.

    A child's tools can hold no way to delegate: only the parent's tier has one. Without a sound `contract`
    that names the same tools it does not start.
    """

    name: str
    goal: str
    tools: tuple[ToolSpec, ...]
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any] = field(default_factory=lambda: ANSWER)
    acceptance: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    constants: str = ""
    contract: Contract = field(default_factory=Contract)
    request_fields: AllowList = field(init=False, repr=False)
    output_fields: AllowList = field(init=False, repr=False)
    result_fields: AllowList = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "request_fields", AllowList(request_schema(self.inputs)))
        object.__setattr__(self, "output_fields", AllowList(self.outputs))
        object.__setattr__(self, "result_fields", AllowList(envelope(self.outputs)))


@dataclass(slots=True)
class Child:
    """One living child. Its memory is all that it has, and nobody else holds it."""

    spec: ChildSpec
    memory: list[Message] = field(default_factory=list)


async def run_child(
    runtime: Runtime, child: Child, brief: TaskBrief, context: tuple[Message, ...], headers: Mapping[str, str]
) -> SubAgentResult:
    """Let `child` work on `brief` until it answers, gives up or runs out of rounds."""
    child.memory.extend(context)
    tools = _offered(child.spec, brief)
    model = runtime.model(child.spec.name)
    watch = _LoopWatch()
    for _ in range(runtime.limits.rounds):
        request = ModelRequest(child.spec.name, tuple(child.memory), tools, headers)
        runtime.hooks.request_built(request)
        write(
            runtime.hooks, child.spec.name, logging.INFO, runtime.parts.request_line(request, runtime.digest)
        )
        try:
            reply = await model.reply(request)
        except KitError:
            raise
        except Exception as error:  # a model client is foreign code: its text must not go up
            runtime.hooks.model_replied(child.spec.name, None)
            line = runtime.parts.error_line(child.spec.name, "model_failed", error, "")
            write(runtime.hooks, child.spec.name, logging.ERROR, line)
            return SubAgentResult(brief.task_id, Status.FAILED, errors=("model_failed",))
        runtime.hooks.model_replied(child.spec.name, reply)
        child.memory.append(Message("assistant", reply.text, reply.calls))
        if not reply.calls:
            return _finished(runtime, child.spec, brief, reply)
        for call in reply.calls:
            child.memory.append(await _answered(runtime, child.spec, brief, tools, call, watch))
        if watch.stubborn:
            return SubAgentResult(brief.task_id, Status.NEEDS_REVIEW, errors=("loop_detected",))
    return SubAgentResult(brief.task_id, Status.NEEDS_REVIEW, errors=("round_limit",))


def _offered(spec: ChildSpec, brief: TaskBrief) -> tuple[ToolSpec, ...]:
    return tuple(
        tool
        for tool in spec.tools
        if tool.name in brief.allowed_tools and tool.name not in brief.forbidden_tools
    )


def _finished(runtime: Runtime, spec: ChildSpec, brief: TaskBrief, reply: ModelReply) -> SubAgentResult:
    result, dropped = result_of(
        brief.task_id, reply.text, spec.output_fields, runtime.limits.tool_output, runtime.digest
    )
    for item in dropped:
        runtime.hooks.pollution(spec.name, brief.task_id, item, "")
    return result


async def _answered(
    runtime: Runtime,
    spec: ChildSpec,
    brief: TaskBrief,
    tools: tuple[ToolSpec, ...],
    call: ToolCall,
    watch: _LoopWatch,
) -> Message:
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        text = refusal("unknown_tool").text
    elif watch.repeats(call):
        text = refusal("loop_detected").text
    else:
        text = await call_tool(runtime, spec.name, brief.task_id, tool, call)
    return Message("tool", text, call_id=call.id)


class _LoopWatch:
    """Counts equal calls (same tool, same arguments) in a row.

    The article stops at three calls of one tool; a child that reads three pages does that rightly, so the
    arguments count too.
    """

    def __init__(self) -> None:
        self._last: ToolCall | None = None
        self._count = 0

    def repeats(self, call: ToolCall) -> bool:
        """Count `call`; True from the third equal one in a row on."""
        last = self._last
        same = last is not None and last.name == call.name and last.arguments == call.arguments
        self._count = self._count + 1 if same else 1
        self._last = call
        return self._count >= _REPEATS

    @property
    def stubborn(self) -> bool:
        """True if the child was refused again and again and repeats itself still."""
        return self._count >= _REPEATS + _STUBBORN
