"""A tree of agents: layers between parent and leaf that exchange briefs and results only (article 002, end).

A layer is a child that may delegate in turn. Towards its own child it is a parent with a scope of its own: no
user, no session, no metadata, and as history its own memory. Nothing of the scope above it is passed on, so
no layer can hand down what it was not told, and what comes up is the result of its direct child. Large
outputs below a layer are cut, not shelved: nobody who could read them outlives them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isolation_kit.runtime.child import Child, ChildSpec
from isolation_kit.runtime.context import task_inputs
from isolation_kit.runtime.contract import check_child
from isolation_kit.runtime.delegate import delegate
from isolation_kit.runtime.messages import ToolCall, ToolSpec
from isolation_kit.runtime.parts import TASK, ParentScope
from isolation_kit.runtime.text import canonical
from isolation_kit.runtime.tools import refusal

if TYPE_CHECKING:
    from isolation_kit.runtime.wiring import Runtime

__all__ = ["ByTask", "layer_scope"]


@dataclass(frozen=True, slots=True)
class ByTask:
    """The way from a layer to its child: `ChildSpec(..., children=(ByTask(READER),))`.

    Args:
        name: the tool's name; a layer with several children gives each its own.

    Raises:
        ContractError: for a child that its contract keeps from starting.
    """

    spec: ChildSpec
    name: str = TASK
    tool: ToolSpec = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_child(self.spec.name, self.spec.contract, self.spec.tools)
        text = f"Hand a task to {self.spec.name}, which knows nothing but the task: {self.spec.goal}"
        object.__setattr__(self, "tool", ToolSpec(self.name, text, parameter="task", delegates=True))

    async def hand_down(self, runtime: Runtime, layer: Child, call: ToolCall) -> str:
        """Delegate, and return what the layer's model may read of the result."""
        inputs = task_inputs(call.arguments, self.tool.parameter)
        if inputs is None:
            return refusal("bad_arguments").text
        return canonical(runtime.parts.report(await delegate(runtime, layer_scope(layer), self.spec, inputs)))


def layer_scope(layer: Child) -> ParentScope:
    """What `layer` is towards its own children: its namespace and memory, and nothing of what is above it."""
    return ParentScope("", ">".join(layer.chain.namespace), history=layer.memory, chain=layer.chain)
