"""The reference runtime as a tree of depth 4: root -> planner -> researcher -> reader, each by a `task` tool.

Layers exchange briefs and results and nothing else (article 002): the audit's scripts nest their delegations.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from isolation_kit.runtime import CLEAN, ChildSpec, Message, Parts, TaskParent, task_tool, task_turn
from isolation_kit.runtime.bridge import brief_schema
from isolation_kit.runtime.nested import ByTask
from isolation_kit.runtime.result import ANSWER, envelope
from isolation_kit.stage import Stage
from isolation_kit.target import Agent, Tool, Turn, Via, target
from isolation_kit.targets.reference import WORKER, Factory, NewParts, Say
from isolation_kit.targets.reference_stage import System, logging_at_info

__all__ = ["PLANNER", "READER", "RESEARCHER", "make_reference_tree", "reference_tree"]

READER = replace(WORKER, name="reader", goal="Read what the request names and say what it holds.")
RESEARCHER = replace(
    WORKER, name="researcher", goal="Find out what the request asks for.", children=(ByTask(READER),)
)
PLANNER = replace(
    WORKER,
    name="planner",
    goal="Plan the request's steps and carry them out.",
    children=(ByTask(RESEARCHER),),
)


def _agent(spec: ChildSpec, *children: ChildSpec) -> Agent:
    return Agent(
        children={child.name: Via("task") for child in children},
        tools=tuple(Tool(tool.name, tool.fields.schema if tool.fields else None) for tool in spec.tools),
        brief=brief_schema(spec.inputs),
        result=envelope(ANSWER),
    )


def make_reference_tree(new_parts: NewParts, name: str) -> Factory:
    """The tree with the seams that `new_parts` makes; a seam that leaks does so on every layer."""

    async def reference(stage: Stage) -> AsyncIterator[Say]:
        system = System(stage, "parent", new_parts())
        description = stage.text("parent.tool.description", "Hand a task to a planner with a fresh context.")
        parent = TaskParent(
            name="parent",
            system=stage.text("parent.system", "Delegate by `task`, and answer the user."),
            tools=(),
            delegations={"task": (task_tool(description), PLANNER)},
        )

        async def say(turn: Turn) -> str:
            session = await system.session(turn, Message("system", parent.system))
            async with session.lock:
                return await task_turn(system.runtime, parent, session.scope, turn.text)

        with logging_at_info():
            yield say

    reference.__name__ = reference.__qualname__ = name
    agents = {
        "parent": Agent(children={"planner": Via("task")}),
        "planner": _agent(PLANNER, RESEARCHER),
        "researcher": _agent(RESEARCHER, READER),
        "reader": _agent(READER),
    }
    return target(root="parent", agents=agents, taps=("child.context", "result", "store"))(reference)


def _clean() -> Parts:
    return CLEAN


reference_tree = make_reference_tree(_clean, "reference_tree")
