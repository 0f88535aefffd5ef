"""Defects in what a child starts from: history, plans, and what is derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b

from isolation_kit.mutants.catalogue import leaky
from isolation_kit.runtime import (
    CLEAN,
    ChildSpec,
    Message,
    ParentScope,
    Parts,
    TaskBrief,
    build_child_context,
)
from isolation_kit.runtime.parts import write_brief
from isolation_kit.runtime.text import Digest

__all__ = ["m01_full_history", "m02_history_tail", "m05_scratch_plan", "m21_history_hash"]


def _full_history() -> Parts:
    def whole(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        return (*scope.history, *build_child_context(brief))

    return replace(CLEAN, child_context=whole)


def _history_tail() -> Parts:
    def tail(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        said = [message for message in scope.history if message.role == "user"]
        return (*said[-1:], *build_child_context(brief))

    return replace(CLEAN, child_context=tail)


def _scratch_plan() -> Parts:
    def planned(scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest) -> TaskBrief:
        brief = write_brief(scope, spec, inputs, digest)
        plans = [
            message.content for message in scope.history if message.role == "assistant" and message.content
        ]
        return replace(brief, global_context="\n".join([brief.global_context, *plans[-1:]]))

    return replace(CLEAN, write_brief=planned)


def _history_hash() -> Parts:
    def keyed_by_history(brief: TaskBrief, scope: ParentScope) -> Mapping[str, str]:
        text = "\n".join(message.content for message in scope.history)
        return {"x-cache-key": blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()}

    return replace(CLEAN, child_headers=keyed_by_history)


m01_full_history = leaky("task", "m01_full_history", _full_history)
m02_history_tail = leaky("task", "m02_history_tail", _history_tail)
m05_scratch_plan = leaky("task", "m05_scratch_plan", _scratch_plan)
m21_history_hash = leaky("task", "m21_history_hash", _history_hash)
