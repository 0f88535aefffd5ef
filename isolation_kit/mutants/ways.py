"""Defects in the way that a value takes: what may arrive, but not by this path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import at, case, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import (
    CLEAN,
    Child,
    ChildSpec,
    Message,
    ParentScope,
    Parts,
    Runtime,
    TaskBrief,
    build_child_context,
    inline,
)
from isolation_kit.runtime.bridge import TaskRequest, seen_result
from isolation_kit.runtime.parts import write_brief
from isolation_kit.runtime.text import Digest
from isolation_kit.scenario import Answer, Delegate, UseTool
from isolation_kit.targets.reference import clean_parts, make_reference_task
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


def _free_context() -> Parts:
    free: dict[str, str] = {}

    def first_line(
        scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest
    ) -> TaskBrief:
        request, _, context = inputs["request"].partition("\n")
        brief = write_brief(scope, spec, {**inputs, "request": request}, digest)
        free[brief.task_id] = context
        return brief

    def appended(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        context = free.pop(brief.task_id, "")
        more = (Message("user", context),) if context else ()
        return (*build_child_context(brief), *more)

    return replace(CLEAN, write_brief=first_line, child_context=appended)


async def _resuming(runtime: Runtime, scope: ParentScope, spec: ChildSpec, request: TaskRequest) -> bytes:
    """A launcher that tries a failed task once more, from what the failed child had in its memory."""
    first = Child(spec)
    up = await inline(_with(runtime, new_child=lambda _: first), scope, spec, request)
    if seen_result(up)["status"] == "succeeded":
        return up
    context = (*build_child_context(request.brief), *first.memory[2:])
    return await inline(_with(runtime, child_context=lambda *_: context), scope, spec, request)


def _with(runtime: Runtime, **seams: object) -> Runtime:
    return replace(runtime, parts=replace(runtime.parts, **seams))  # type: ignore[arg-type]


m67_free_context = leaky("task", "m67_free_context", _free_context)
m72_failed_attempt = make_reference_task(clean_parts, "m72_failed_attempt", _resuming)

MUTANTS = (
    Mutant(
        67,
        "m67_free_context",
        "all but the first line of a task goes round the brief, as a second user message",
        "task",
        m67_free_context,
        oracle="history",
        slot="task.constants",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        alone=True,
        link="article 003 section 4.2",
        smallest=case(turn(Delegate(0, "find it", (Answer("42"),), constants=at("task.constants")))),
    ),
    Mutant(
        72,
        "m72_failed_attempt",
        "a second attempt begins with what the failed child had read",
        "task",
        m72_failed_attempt,
        oracle="history",
        slot="child.tool.result",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.SIDEWAYS,
        alone=True,
        smallest=case(
            turn(
                Delegate(
                    0,
                    "find it",
                    (UseTool(0, "q", f'{{"description": "{at("child.tool.result")}"}}'), Answer("{")),
                )
            )
        ),
    ),
)
