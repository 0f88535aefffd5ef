"""The parent of article 001: a model that plans, calls basic tools, and delegates by calling a `task` tool.

Its context holds the conversation and its children's results; nothing else of a child ever enters it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.delegate import delegate
from isolation_kit.runtime.messages import Message, ModelRequest, ToolCall, ToolSpec
from isolation_kit.runtime.parts import ParentScope
from isolation_kit.runtime.result import SubAgentResult
from isolation_kit.runtime.text import canonical
from isolation_kit.runtime.tools import call_tool, refusal
from isolation_kit.runtime.wiring import Runtime

__all__ = ["ROUND_LIMIT_REPLY", "TaskParent", "task_tool", "task_turn"]

ROUND_LIMIT_REPLY = "I could not finish this within my limit of steps. Please ask for less at once."


def task_tool(description: str, name: str = "task") -> ToolSpec:
    """The privileged tool that spawns a child; only a parent's tier has it."""
    return ToolSpec(name, description, parameter="task", delegates=True)


@dataclass(frozen=True, slots=True)
class TaskParent:
    """A parent: its system prompt, its basic tools, and for each delegating tool the child behind it."""

    name: str
    system: str
    tools: tuple[ToolSpec, ...]
    delegations: Mapping[str, tuple[ToolSpec, ChildSpec]] = field(default_factory=dict)

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """The parent's tier: the basic tools and the delegating ones."""
        return (*self.tools, *(tool for tool, _ in self.delegations.values()))


async def task_turn(runtime: Runtime, parent: TaskParent, scope: ParentScope, text: str) -> str:
    """Answer one user turn. `scope.history` grows by this turn; the reply is the parent model's last text."""
    if not scope.history:
        scope.history.append(Message("system", parent.system))
    scope.history.append(Message("user", text))
    model = runtime.model(parent.name)
    for _ in range(runtime.limits.rounds):
        request = ModelRequest(parent.name, tuple(scope.history), parent.offered, scope.metadata)
        runtime.hooks.request_built(request)
        reply = await model.reply(request)
        runtime.hooks.model_replied(parent.name, reply)
        scope.history.append(Message("assistant", reply.text, reply.calls))
        if not reply.calls:
            return reply.text
        for call in reply.calls:
            content = await _answered(runtime, parent, scope, call)
            scope.history.append(Message("tool", content, call_id=call.id))
    return ROUND_LIMIT_REPLY


async def _answered(runtime: Runtime, parent: TaskParent, scope: ParentScope, call: ToolCall) -> str:
    if call.name in parent.delegations:
        tool, spec = parent.delegations[call.name]
        task = call.arguments.get(tool.parameter)
        if not isinstance(task, str):
            return refusal("bad_arguments").text
        return _shown(await delegate(runtime, scope, spec, {"request": task}))
    basic = next((tool for tool in parent.tools if tool.name == call.name), None)
    if basic is None:
        return refusal("unknown_tool").text
    return await call_tool(runtime, parent.name, "", basic, call)


def _shown(result: SubAgentResult) -> str:
    """What the planning context gets of a result."""
    return canonical({name: value for name, value in result.to_dict().items() if value and name != "task_id"})
