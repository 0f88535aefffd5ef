"""Defects of state that outlives a child, or is shared by users. Each case makes its own shared object."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import TASK, at, case, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import CLEAN, Child, ChildSpec, Message, ParentScope, Parts
from isolation_kit.runtime.parts import Step
from isolation_kit.scenario import Answer, Delegate
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


def _shared_default() -> Parts:
    def with_default(spec: ChildSpec, memory: list[Message] = []) -> Child:  # noqa: B006  the seeded defect
        return Child(spec, memory)

    return replace(CLEAN, new_child=with_default)


def _cache_without_user() -> Parts:
    def by_question(scope: ParentScope, rule: str, subject: str, inputs: Mapping[str, str]) -> Hashable:
        return rule, subject

    return replace(CLEAN, response_key=by_question)


def _pooled_child() -> Parts:
    pool: dict[str, Child] = {}

    def from_pool(spec: ChildSpec) -> Child:
        return pool.setdefault(spec.name, Child(spec))

    return replace(CLEAN, new_child=from_pool)


def _last_subject() -> Parts:
    def newest(steps: tuple[Step, ...], subject: str) -> Step | None:
        return steps[-1] if steps else None

    return replace(CLEAN, resolve_subject=newest)


m07_shared_default = leaky("task", "m07_shared_default", _shared_default)
m35_cache_without_user = leaky("rules", "m35_cache_without_user", _cache_without_user)
m42_pooled_child = leaky("rules", "m42_pooled_child", _pooled_child)
m64_last_subject = leaky("rules", "m64_last_subject", _last_subject)

MUTANTS = (
    Mutant(
        7,
        "m07_shared_default",
        "all children share the list of a mutable default argument",
        "task",
        m07_shared_default,
        oracle="canary",
        slot="task.input",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.ACROSS,
        link="https://github.com/browser-use/browser-use/issues/5205",
        smallest=case(turn(Delegate(0, f"for {at('task.input')}")), turn(TASK, user=1)),
    ),
    Mutant(
        35,
        "m35_cache_without_user",
        "the response cache's key leaves the user out",
        "rules",
        m35_cache_without_user,
        oracle="canary",
        slot="child.answer",
        channel=Channel.FINAL_OUTPUT,
        direction=Direction.ACROSS,
        smallest=case(
            turn(Delegate(0, "one", (Answer(at("child.answer")),))), turn(Delegate(0, "two"), user=1)
        ),
    ),
    Mutant(
        42,
        "m42_pooled_child",
        "a pooled child keeps its memory",
        "rules",
        m42_pooled_child,
        oracle="canary",
        slot="task.input",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.ACROSS,
        smallest=case(turn(Delegate(0, at("task.input"))), turn(Delegate(0, "two"), user=1)),
    ),
    Mutant(
        64,
        "m64_last_subject",
        "a follow-up resolves to the last person spoken of",
        "rules",
        m64_last_subject,
        oracle="canary",
        slot="task.input",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.ACROSS,
        link="article 000 section 4.7",
        smallest=case(
            turn(Delegate(0, at("task.input", subject=1)), subject=1),
            turn(Delegate(0, at("task.input", subject=0)), subject=0),
        ),
    ),
)
