"""Defects in what a child starts from: history, plans, and what is derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import TASK, at, case, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
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
from isolation_kit.scenario import Say
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


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

MUTANTS = (
    Mutant(
        1,
        "m01_full_history",
        "the child gets the parent's whole history",
        "task",
        m01_full_history,
        oracle="canary",
        slot="user.current",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="https://github.com/google/adk-python/issues/2324",
        smallest=case(turn(TASK, text=f"hello {at('user.current')}")),
    ),
    Mutant(
        2,
        "m02_history_tail",
        "the child gets the last user turn as it was typed",
        "task",
        m02_history_tail,
        oracle="canary",
        slot="user.current",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        smallest=case(turn(TASK, text=f"hello {at('user.current')}")),
    ),
    Mutant(
        5,
        "m05_scratch_plan",
        "the parent's scratch plan stands in global_context",
        "task",
        m05_scratch_plan,
        oracle="canary",
        slot="parent.text",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="article 002 section 4.2",
        smallest=case(turn(Say(f"plan {at('parent.text')}"), TASK)),
    ),
    Mutant(
        21,
        "m21_history_hash",
        "a hash of the parent's history goes out as a cache key",
        "task",
        m21_history_hash,
        oracle="noninterference",
        slot="user.current",
        channel=Channel.CHILD_HEADERS,
        direction=Direction.DOWN,
        smallest=case(turn(TASK, text=f"hello {at('user.current')}")),
    ),
)
