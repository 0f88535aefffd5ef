"""The child: a fresh message list, its own tools, at most so many rounds, and then only its result is left.

Article 001, section 2.2; article 002, section 5. What a child says beside its tool calls, and what its tools
answer, stays in the message list that dies with it. (Dropping it forgets nothing for certain within one
process: copies may remain until the process ends.)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from isolation_kit.runtime.bridge import request_schema
from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.chain import ROOT, Chain
from isolation_kit.runtime.contract import Contract, inner_timeout_ms
from isolation_kit.runtime.faults import PROGRAM_ERRORS, NoReplyError
from isolation_kit.runtime.fields import AllowList
from isolation_kit.runtime.foreign import contained, said_by
from isolation_kit.runtime.log import write
from isolation_kit.runtime.loops import LoopLimits, LoopWatch
from isolation_kit.runtime.messages import Message, ModelRequest, ToolCall, ToolSpec
from isolation_kit.runtime.result import ANSWER, Reason, Shelve, Status, SubAgentResult, envelope, result_of
from isolation_kit.runtime.tools import call_tool, refusal
from isolation_kit.runtime.window import Room

if TYPE_CHECKING:
    from isolation_kit.runtime.wiring import Runtime

__all__ = ["Child", "ChildSpec", "WayDown", "offered", "run_child", "tier"]


class WayDown(Protocol):
    """A declared way to a child of one's own: `nested.ByTask`. What has none cannot spawn."""

    @property
    def tool(self) -> ToolSpec:
        """The tool by which the layer's model hands a task down."""
        ...

    async def hand_down(self, runtime: Runtime, layer: Child, call: ToolCall) -> str:
        """Carry the call out and return what the layer's model may read of the result."""
        ...


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What a child is: its goal, its basic tools, the schemas of its inputs and key outputs, its constraints.

    An ordinary child has its basic tools only and cannot spawn; `children` makes it a layer between parent
    and leaf. Without a sound `contract` that names the same basic tools it does not start.

    Raises:
        UsageError: if inputs or outputs are no JSON Schema.
        ValueError: for two tools of one name.
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
    children: tuple[WayDown, ...] = ()
    loops: LoopLimits = field(default_factory=LoopLimits)
    request_fields: AllowList = field(init=False, repr=False)
    output_fields: AllowList = field(init=False, repr=False)
    result_fields: AllowList = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = [tool.name for tool in tier(self)]
        if len(names) > len(set(names)):
            raise ValueError(
                f"child {self.name!r} has two tools of one name, so a call of it could mean either; give "
                "each tool and each way to a child its own name, for example ByTask(spec, name='ask_reader')"
            )
        object.__setattr__(self, "request_fields", AllowList(request_schema(self.inputs)).checked())
        object.__setattr__(self, "output_fields", AllowList(self.outputs).checked())
        object.__setattr__(self, "result_fields", AllowList(envelope(self.outputs)))


@dataclass(slots=True, weakref_slot=True)
class Child:
    """One living child. Its memory is all that it has, and nobody else holds it.

    `chain` and `shelve` belong to the runtime around it: no message holds anything of them.
    """

    spec: ChildSpec
    memory: list[Message] = field(default_factory=list)
    chain: Chain = ROOT
    shelve: Shelve | None = None


async def run_child(
    runtime: Runtime, child: Child, brief: TaskBrief, context: tuple[Message, ...], headers: Mapping[str, str]
) -> SubAgentResult:
    """Let `child` work on `brief` until it answers, gives up or runs out of rounds."""
    child.memory.extend(context)
    tools = offered(child.spec, brief)
    model = runtime.parts.connect(runtime.model(child.spec.name))
    watch = LoopWatch(child.spec.loops)
    contract = child.spec.contract
    room = Room(contract.context_window_size, tools, runtime.count)
    room.take(*context)
    task = asyncio.current_task()
    ends = asyncio.get_running_loop().time() + inner_timeout_ms(runtime.limits.timeout_of(contract)) / 1000
    for _ in range(runtime.limits.rounds):
        if room.left < 0:
            return _stopped(runtime, child, brief, Reason.WINDOW_FULL)
        request = ModelRequest(child.spec.name, tuple(child.memory), tools, headers)
        runtime.hooks.request_built(request)
        if contract.log_threshold <= logging.INFO:
            line = runtime.parts.request_line(request, runtime.digest)
            write(runtime.hooks, child.spec.name, logging.INFO, line)
        try:
            reply = await model.reply(request)
            said = _counted(said_by(reply), room)
        except BaseException as error:  # a model client is foreign code: its text must not go up
            if not contained(error, task):
                raise
            runtime.hooks.model_replied(child.spec.name, None)
            reason = Reason.PROGRAM_ERROR if isinstance(error, PROGRAM_ERRORS) else Reason.MODEL_FAILED
            told = error if isinstance(error, Exception) else None
            line = runtime.parts.error_line(child.spec.name, reason, told, "")
            write(runtime.hooks, child.spec.name, logging.ERROR, line, contract.log_threshold)
            return SubAgentResult(brief.task_id, Status.FAILED, errors=(reason,))
        runtime.hooks.model_replied(child.spec.name, reply)
        child.memory.append(said)
        if not said.calls:
            return _finished(runtime, child, brief, said.content)
        for call in said.calls:
            text = await _answered(runtime, child, brief, tools, call, watch, ends)
            if not room.holds(text):
                text = refusal("window_full").text
            child.memory.append(Message("tool", text, call_id=call.id))
            room.take(child.memory[-1])
        if watch.stubborn:
            return _stopped(runtime, child, brief, Reason.LOOP_DETECTED)
    return _stopped(runtime, child, brief, Reason.ROUND_LIMIT)


def _counted(said: Message, room: Room) -> Message:
    """`said`, its tokens taken from `room`.

    Raises:
        NoReplyError: for what the counter cannot count.
    """
    try:
        room.take(said)
    except Exception:
        raise NoReplyError from None
    return said


def offered(spec: ChildSpec, brief: TaskBrief) -> tuple[ToolSpec, ...]:
    """The tools that a child working on `brief` may call."""
    return tuple(
        tool
        for tool in tier(spec)
        if tool.name in brief.allowed_tools and tool.name not in brief.forbidden_tools
    )


def tier(spec: ChildSpec) -> tuple[ToolSpec, ...]:
    """All tools of a child: the basic ones, and a layer's ways to its own children."""
    return (*spec.tools, *(way.tool for way in spec.children)) if spec.children else spec.tools


def _stopped(runtime: Runtime, child: Child, brief: TaskBrief, reason: Reason) -> SubAgentResult:
    """The end of a child that was stopped: the reason goes up, and nothing of what it did."""
    _alarm(runtime, child, brief, reason)
    return SubAgentResult(brief.task_id, Status.NEEDS_REVIEW, errors=(reason,))


def _alarm(runtime: Runtime, child: Child, brief: TaskBrief, reason: str) -> None:
    runtime.hooks.alarm(child.spec.name, reason, child.chain.trace_id or brief.task_id)


def _finished(runtime: Runtime, child: Child, brief: TaskBrief, final: str) -> SubAgentResult:
    result, dropped = result_of(
        brief.task_id,
        final,
        child.spec.output_fields,
        runtime.limits.tool_output,
        runtime.digest,
        child.shelve,
    )
    for item in dropped:
        runtime.hooks.pollution(child.spec.name, brief.task_id, item, "")
    return result


async def _answered(
    runtime: Runtime,
    child: Child,
    brief: TaskBrief,
    tools: tuple[ToolSpec, ...],
    call: ToolCall,
    watch: LoopWatch,
    ends: float,
) -> str:
    if watch.repeats(call):
        return refusal("loop_detected").text
    if call.name in brief.forbidden_tools:
        _alarm(runtime, child, brief, "forbidden_tool")
        return refusal("forbidden_tool").text
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        return refusal("unknown_tool").text
    for way in child.spec.children:
        if way.tool.name == call.name:
            return await way.hand_down(runtime, child, call)
    return await call_tool(runtime, child.spec.name, brief.task_id, tool, call, child.spec.contract, ends)
