"""The parent of article 001: a model that plans, calls basic tools, and delegates by calling a `task` tool.

Its context holds the conversation, the newest results whole, and a line for each earlier one (`planning`);
nothing else of a child ever enters it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from isolation_kit.errors import UsageError
from isolation_kit.runtime.attempts import attempted
from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.context import task_inputs
from isolation_kit.runtime.contract import check_child
from isolation_kit.runtime.foreign import contained, said_by
from isolation_kit.runtime.hooks import Decision
from isolation_kit.runtime.log import write
from isolation_kit.runtime.loops import LoopLimits, LoopWatch
from isolation_kit.runtime.machine import Machine, State
from isolation_kit.runtime.messages import Message, Model, ModelRequest, ToolCall, ToolSpec
from isolation_kit.runtime.parts import ParentScope
from isolation_kit.runtime.planning import Subtask, done_line
from isolation_kit.runtime.result import Reason
from isolation_kit.runtime.text import canonical
from isolation_kit.runtime.tools import call_tool, refusal
from isolation_kit.runtime.wiring import Runtime

__all__ = ["LOOP_REPLY", "MODEL_FAILED_REPLY", "ROUND_LIMIT_REPLY", "TaskParent", "task_tool", "task_turn"]

LOOP_REPLY = "I kept asking for the same and stopped. Please put your request in another way."
ROUND_LIMIT_REPLY = "I could not finish this within my limit of steps. Please ask for less at once."
MODEL_FAILED_REPLY = "I cannot answer at the moment. Please try again later."

_ANY_NUMBER = 1_000_000  # calls of one tool in a row, with ever new arguments


def task_tool(description: str, name: str = "task") -> ToolSpec:
    """The privileged tool that spawns a child; only a parent's tier has it."""
    return ToolSpec(name, description, parameter="task", delegates=True)


@dataclass(frozen=True, slots=True)
class TaskParent:
    """A parent: its system prompt, its basic tools, and for each delegating tool the child behind it.

    Args:
        delegations: by the tool's name, the tool (`task_tool`) and the child that it hands a task to.
        loops: how often in a row one turn may delegate the same. Other calls of one tool are no loop: the
            rounds of the runtime bound them.

    Raises:
        UsageError: for a key that is not its tool's name, and for two tools of one name.
        ContractError: for a child that its contract keeps from starting.
    """

    name: str
    system: str
    tools: tuple[ToolSpec, ...]
    delegations: Mapping[str, tuple[ToolSpec, ChildSpec]] = field(default_factory=dict)
    loops: LoopLimits = field(default_factory=lambda: LoopLimits(one_tool=_ANY_NUMBER))

    def __post_init__(self) -> None:
        for key, (tool, spec) in self.delegations.items():
            if key != tool.name:
                raise UsageError(
                    f"parent {self.name!r} delegates by {key!r}, but that tool is named {tool.name!r}, and a "
                    f"model calls it by its name; use one name for both, for example {{{key!r}: "
                    f"(task_tool('Hand a task down.', name={key!r}), {spec.name.upper()})}}"
                )
            check_child(spec.name, spec.contract, spec.tools)
        names = [tool.name for tool in self.offered]
        if len(names) > len(set(names)):
            raise UsageError(
                f"parent {self.name!r} has two tools of one name, so a call of it could mean either; give "
                "each its own, for example task_tool('Hand a task down.', name='ask_reader')"
            )

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """The parent's tier: the basic tools and the delegating ones."""
        return (*self.tools, *(tool for tool, _ in self.delegations.values()))


async def task_turn(runtime: Runtime, parent: TaskParent, scope: ParentScope, text: str) -> str:
    """Answer one user turn. `scope.history` grows by this turn; the reply is the parent model's last text.

    The model routes, so that all of its rounds are one state: executing. Once a subtask of the turn is
    finished, each request to the model ends in one more user message, the goal of the turn stated again; it
    stands in the request only, not in `scope.history` (see `planning`). A model that delegates the same again
    and again reads `loop_detected` in place of a result, and one that goes on is stopped (see `TaskParent`).
    """
    if not scope.history:
        scope.history.append(Message("system", parent.system))
    scope.history.append(Message("user", text))
    with Machine(runtime.clock, partial(runtime.hooks.state_entered, parent.name)) as machine:
        machine.to(State.ROUTING, State.EXECUTING)
        return await _rounds(runtime, parent, scope, machine)


async def _rounds(runtime: Runtime, parent: TaskParent, scope: ParentScope, machine: Machine) -> str:
    model = runtime.model(parent.name)
    watch = LoopWatch(parent.loops)
    for _ in range(runtime.limits.rounds):
        messages = runtime.parts.planning_context(scope.history, scope.done)
        request = ModelRequest(parent.name, messages, parent.offered, scope.metadata)
        runtime.hooks.request_built(request)
        reply = await _reply(runtime, parent, model, request)
        if reply is None:
            return _given_up(scope, machine, MODEL_FAILED_REPLY)
        scope.history.append(reply)
        if not reply.calls:
            machine.to(State.AGGREGATING, State.DONE)
            return reply.content
        await _carry_out(runtime, parent, scope, reply.calls, watch)
        if watch.stubborn:
            runtime.hooks.alarm(parent.name, Reason.LOOP_DETECTED, scope.chain.trace_id)
            return _given_up(scope, machine, LOOP_REPLY)
    return _given_up(scope, machine, ROUND_LIMIT_REPLY)


def _given_up(scope: ParentScope, machine: Machine, text: str) -> str:
    machine.to(State.ERROR)
    scope.history.append(Message("assistant", text))
    return text


async def _reply(runtime: Runtime, parent: TaskParent, model: Model, request: ModelRequest) -> Message | None:
    """What the parent's model says, or None if it failed: its client's words are not for the user."""
    task = asyncio.current_task()
    try:
        reply = await model.reply(request)
        said = said_by(reply)
    except BaseException as error:
        if not contained(error, task):
            raise
        runtime.hooks.model_replied(parent.name, None)
        known = error if isinstance(error, Exception) else None
        line = runtime.parts.error_line(parent.name, "model_failed", known, "")
        write(runtime.hooks, parent.name, logging.ERROR, line)
        return None
    runtime.hooks.model_replied(parent.name, reply)
    return said


async def _carry_out(
    runtime: Runtime, parent: TaskParent, scope: ParentScope, calls: tuple[ToolCall, ...], watch: LoopWatch
) -> None:
    """Answer all `calls`, in a cancelled turn too: with a call left open, no model takes the next turn."""
    replies = [Message("tool", refusal("cancelled").text, call_id=call.id) for call in calls]
    try:
        for call in calls:
            content = await _answered(runtime, parent, scope, call, watch)
            scope.history.append(replace(replies.pop(0), content=content))
    finally:
        scope.history.extend(replies)


async def _answered(
    runtime: Runtime, parent: TaskParent, scope: ParentScope, call: ToolCall, watch: LoopWatch
) -> str:
    if call.name in parent.delegations:
        if watch.repeats(call):
            return refusal("loop_detected").text
        return await _delegated(runtime, parent, scope, call)
    basic = next((tool for tool in parent.tools if tool.name == call.name), None)
    if basic is None:
        return refusal("unknown_tool").text
    return await call_tool(runtime, parent.name, "", basic, call)


async def _delegated(runtime: Runtime, parent: TaskParent, scope: ParentScope, call: ToolCall) -> str:
    """What the model reads of the result. The finished subtask gets its line in the done area."""
    tool, spec = parent.delegations[call.name]
    inputs = task_inputs(call.arguments, tool.parameter)
    if inputs is None:
        return refusal("bad_arguments").text
    candidates = tuple(child.name for _, child in parent.delegations.values())
    runtime.hooks.decided(parent.name, Decision("route", spec.name, candidates, "model"))
    report = runtime.parts.report(await attempted(runtime, parent.name, scope, spec, inputs))
    line = Message("tool", done_line(len(scope.done) + 1, report), call_id=call.id)
    scope.done.append(Subtask(len(scope.history), line))
    return canonical(report)
