"""Seams that leak across the layers of a tree: more than briefs down, more than results up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isolation_kit.runtime import CLEAN, Message, ParentScope, Parts, TaskBrief, build_child_context


def grandparents_history() -> Parts:
    """Each child's context begins with the history of the layer above its parent."""
    scopes: list[ParentScope] = []

    def context(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        scopes.append(scope)
        return (*(scopes[-2].history if len(scopes) > 1 else ()), *build_child_context(brief))

    return replace(CLEAN, child_context=context)


def raw_tool_output() -> Parts:
    """A child's answer is all that its tools said."""

    def packed(result: Any, memory: list[Message]) -> dict[str, Any]:
        raw = " ".join(message.content for message in memory if message.role == "tool")
        return {**result.to_dict(), "key_outputs": {"answer": raw}}

    return replace(CLEAN, pack_result=packed)
