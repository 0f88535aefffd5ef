"""The reference runtime as two targets: a parent model that calls `task`, and a parent that routes by rules.

The builders take a function that makes the seams, so that a seeded defect is the same target with one seam
replaced, made anew for each case.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from isolation_kit.runtime import (
    CLEAN,
    AllowList,
    ChildSpec,
    Message,
    Parts,
    Rule,
    RulesParent,
    TaskParent,
    ToolSpec,
    rules_turn,
    task_tool,
    task_turn,
)
from isolation_kit.runtime.bridge import brief_schema
from isolation_kit.runtime.contract import Contract, declared_fields
from isolation_kit.runtime.launch import Launch, inline
from isolation_kit.runtime.result import ANSWER, envelope
from isolation_kit.stage import Stage
from isolation_kit.target import Agent, Tool, Turn, Via, target
from isolation_kit.targets.reference_stage import System, Watch, logging_at_info

__all__ = [
    "agent_of",
    "clean_parts",
    "make_reference_rules",
    "make_reference_task",
    "reference_rules",
    "reference_task",
    "task_target",
]

Say = Callable[[Turn], Awaitable[str]]
Factory = Callable[[Stage], AsyncIterator[Say]]
NewParts = Callable[[], Parts]

_LINE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "amount": {"type": "number"},
        "description": {"type": "string"},
    },
}
LOOKUP_FIELDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "currency": {"type": "string"},
        "date": {"type": "string"},
        "description": {"type": "string"},
        "status": {"type": "string"},
        "items": {"type": "array", "items": _LINE},
        "data": _LINE,
    },
}
SEARCH_FIELDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "snippet": {"type": "string"}},
            },
        },
        "data": _LINE,
    },
}
TASK_INPUTS: dict[str, Any] = {
    "type": "object",
    "required": ["request"],
    "properties": {"request": {"type": "string"}},
}
BILL_INPUTS: dict[str, Any] = {
    "type": "object",
    "required": ["person"],
    "properties": {
        "person": {"type": "string"},
        "request": {"type": "string"},
        "bill_id": {"type": "string", "pattern": r"^[A-Za-z0-9_-]{1,64}$"},
        "question": {"type": "string"},
    },
}

_LOOKUP = ToolSpec("lookup", "Look a record up by its reference.", fields=AllowList(LOOKUP_FIELDS))
_SEARCH = ToolSpec("search", "Search the documents.", fields=AllowList(SEARCH_FIELDS))
_CONSTANTS = "Amounts are in CNY; dates are ISO 8601."
_ANSWER_ONLY = ("The result answers the goal and nothing else.",)


def _contract(*tools: ToolSpec) -> Contract:
    """Room for a whole reply of a tool in any script; INFO, so that the log channel has something to show."""
    return Contract(200_000, declared_fields(tools), 3_000, 128, "INFO")


WORKER = ChildSpec(
    name="worker",
    goal="Carry out the request given as input.",
    tools=(_LOOKUP, _SEARCH),
    inputs=TASK_INPUTS,
    acceptance=_ANSWER_ONLY,
    constants=_CONSTANTS,
    contract=_contract(_LOOKUP, _SEARCH),
)
BILL_QUERY = ChildSpec(
    name="bill_query",
    goal="Look the bill up and answer the question about it, if there is one.",
    tools=(_LOOKUP,),
    inputs=BILL_INPUTS,
    acceptance=_ANSWER_ONLY,
    constants=_CONSTANTS,
    contract=_contract(_LOOKUP),
)
PDF_EXPORT = ChildSpec(
    name="pdf_export",
    goal="Export the bill as a PDF and say where it lies.",
    tools=(_LOOKUP,),
    inputs=BILL_INPUTS,
    acceptance=_ANSWER_ONLY,
    constants=_CONSTANTS,
    contract=_contract(_LOOKUP),
)

_SUBJECT = r"(?P<subject>(?:(?![的查])[\w·' -]){0,40})"
# All that belongs to an identifier, so that a malformed one is refused and not taken up to its first odd
# letter. Chinese words may follow one without a space.
_ID = r"(?:[^\W\u3400-\u9fff]|[-./:@#](?=[-./:@#]{0,8}[0-9A-Za-z]))+"
_REFERENCE = rf"编号\s*(?:〔(?P<text>[^〔〕]*)〕|(?P<id>{_ID}))"
RULES = (
    Rule(
        "query",
        "billing",
        "bill_query",
        re.compile(f"查{_SUBJECT}的账单 {_REFERENCE}"),
        cue="编号",
        examples=("查张伟的账单 编号〔2024年5月〕", "查张伟的账单 编号 B_17"),
    ),
    Rule(
        "export",
        "billing",
        "pdf_export",
        re.compile(f"导出{_SUBJECT}的账单 {_REFERENCE}"),
        cue="编号",
        examples=("导出张伟的账单 编号〔2024年5月〕", "导出张伟的账单 编号 B_17"),
    ),
    Rule(
        "cheapest",
        "billing",
        "bill_query",
        re.compile(rf"(?:^|(?<=[^\w·'-])){_SUBJECT}的账单最便宜吗"),
        cue="最便宜吗",
        question="is it the cheapest one?",
        examples=("张伟的账单最便宜吗",),
    ),
)
TRIGGERS = {
    "bill_query": "查{subject}的账单 编号〔{task}〕",
    "pdf_export": "导出{subject}的账单 编号〔{task}〕",
}
FOLLOW_UPS = {"bill_query": "{subject}的账单最便宜吗"}


def agent_of(spec: ChildSpec, *children: ChildSpec) -> Agent:
    """What a child, or a layer with `children` of its own, declares."""
    return Agent(
        children={child.name: Via("task") for child in children},
        tools=tuple(Tool(tool.name, tool.fields.schema if tool.fields else None) for tool in spec.tools),
        brief=brief_schema(spec.inputs),
        result=envelope(ANSWER),
    )


def make_reference_task(
    new_parts: NewParts, name: str, launch: Launch = inline, watch: Watch | None = None
) -> Factory:
    """The target of article 001, a parent model that calls `task`, with the seams that `new_parts` makes.

    `launch` says where its children live, `watch` who watches beside the stage.
    """

    def parent_of(stage: Stage) -> TaskParent:
        description = stage.text("parent.tool.description", "Hand a task to a worker with a fresh context.")
        return TaskParent(
            name="parent",
            system=stage.text("parent.system", "Plan, delegate by `task`, and answer the user."),
            tools=(_SEARCH,),
            delegations={"task": (task_tool(description), WORKER)},
        )

    agents = {
        "parent": Agent(children={"worker": Via("task")}, tools=(Tool("search", SEARCH_FIELDS),)),
        "worker": agent_of(WORKER),
    }
    return task_target(new_parts, name, parent_of, agents, launch, watch)


def task_target(
    new_parts: NewParts,
    name: str,
    parent_of: Callable[[Stage], TaskParent],
    agents: Mapping[str, Agent],
    launch: Launch = inline,
    watch: Watch | None = None,
) -> Factory:
    """A target whose parent, made by `parent_of`, delegates by a `task` tool; it declares `agents`."""

    async def reference(stage: Stage) -> AsyncIterator[Say]:
        system = System(stage, "parent", new_parts(), launch, watch)
        parent = parent_of(stage)

        async def say(turn: Turn) -> str:
            session = await system.session(turn, Message("system", parent.system))
            async with session.lock:
                return await task_turn(system.runtime, parent, session.scope, turn.text)

        with logging_at_info():
            yield say

    reference.__name__ = reference.__qualname__ = name
    return target(root="parent", agents=agents, taps=("child.context", "result", "store"))(reference)


def make_reference_rules(new_parts: NewParts, name: str, launch: Launch = inline) -> Factory:
    """The target of article 000, a parent that routes by rules, with the seams that `new_parts` makes.

    `launch` says where its children live.
    """

    async def reference(stage: Stage) -> AsyncIterator[Say]:
        system = System(stage, "parent", new_parts(), launch)
        children = {spec.name: spec for spec in (BILL_QUERY, PDF_EXPORT)}
        parent = RulesParent("parent", RULES, children, system.store)

        async def say(turn: Turn) -> str:
            session = await system.session(turn)
            async with session.lock:
                return await rules_turn(system.runtime, parent, session.scope, turn.text)

        with logging_at_info():
            yield say

    reference.__name__ = reference.__qualname__ = name
    agents = {
        "parent": Agent(children={"bill_query": Via(""), "pdf_export": Via("")}),
        "bill_query": agent_of(BILL_QUERY),
        "pdf_export": agent_of(PDF_EXPORT),
    }
    return target(
        root="parent",
        agents=agents,
        triggers=TRIGGERS,
        follow_ups=FOLLOW_UPS,
        taps=("child.context", "result", "store"),
    )(reference)


def clean_parts() -> Parts:
    """The seams as they should be."""
    return CLEAN


reference_task = make_reference_task(clean_parts, "reference_task")
reference_rules = make_reference_rules(clean_parts, "reference_rules")
