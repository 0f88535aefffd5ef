"""The reference runtime as a tree of depth 4: root -> planner -> researcher -> reader, each by a `task` tool.

Layers exchange briefs and results and nothing else (article 002): the audit's scripts nest their delegations.
"""

from __future__ import annotations

from dataclasses import replace

from isolation_kit.runtime import TaskParent, task_tool
from isolation_kit.runtime.nested import ByTask
from isolation_kit.stage import Stage
from isolation_kit.target import Agent, Via
from isolation_kit.targets.reference import WORKER, Factory, NewParts, agent_of, clean_parts, task_target

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


def make_reference_tree(new_parts: NewParts, name: str) -> Factory:
    """The tree with the seams that `new_parts` makes; a seam that leaks does so on every layer."""

    def parent_of(stage: Stage) -> TaskParent:
        description = stage.text("parent.tool.description", "Hand a task to a planner with a fresh context.")
        return TaskParent(
            name="parent",
            system=stage.text("parent.system", "Delegate by `task`, and answer the user."),
            tools=(),
            delegations={"task": (task_tool(description), PLANNER)},
        )

    agents = {
        "parent": Agent(children={"planner": Via("task")}),
        "planner": agent_of(PLANNER, RESEARCHER),
        "researcher": agent_of(RESEARCHER, READER),
        "reader": agent_of(READER),
    }
    return task_target(new_parts, name, parent_of, agents)


reference_tree = make_reference_tree(clean_parts, "reference_tree")
