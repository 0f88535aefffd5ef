"""Defects that one delegation or one session leaves to the next. Each case makes its own shared object."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import TASK, at, case, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import (
    CLEAN,
    Child,
    ChildSpec,
    Message,
    ParentScope,
    Parts,
    TaskBrief,
    build_child_context,
)
from isolation_kit.runtime.parts import write_brief
from isolation_kit.runtime.text import Digest, canonical
from isolation_kit.scenario import Delegate, Slot
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


def _aliased_examples() -> Parts:
    examples = [Message("system", "Answer in one sentence.")]

    def with_examples(spec: ChildSpec) -> Child:
        return Child(spec, examples or [])  # the list itself, where a copy was meant

    return replace(CLEAN, new_child=with_examples)


def _shallow_copy() -> Parts:
    defaults: dict[str, dict[str, str]] = {"hints": {}}

    def hinted(scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest) -> TaskBrief:
        state = dict(defaults)  # a copy of the outer level only
        brief = write_brief(scope, spec, inputs, digest)
        state["hints"][brief.task_id] = inputs.get("request", "")
        return replace(brief, global_context=f"{brief.global_context} {canonical(state)}")

    return replace(CLEAN, write_brief=hinted)


def _cached_prompt() -> Parts:
    cache: dict[str, tuple[Message, ...]] = {}

    def cached(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        return cache.setdefault(brief.goal, build_child_context(brief))

    return replace(CLEAN, child_context=cached)


def _thread_local() -> Parts:
    worker = threading.local()

    def remembered(
        scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest
    ) -> TaskBrief:
        brief = write_brief(scope, spec, inputs, digest)
        before = getattr(worker, "before", ())
        worker.before = (f"Asked before: {inputs.get('request', '')}",)
        return replace(brief, constraints=(*brief.constraints, *before))

    return replace(CLEAN, write_brief=remembered)


def _growing_notes() -> Parts:
    def noted(scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest) -> TaskBrief:
        brief = write_brief(scope, spec, inputs, digest)
        notes = tuple("A child noted: done." for _ in scope.done)
        return replace(brief, constraints=(*brief.constraints, *notes))

    return replace(CLEAN, write_brief=noted)


def _known_user() -> Parts:
    sessions: dict[str, list[str]] = {}

    def greeted(scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest) -> TaskBrief:
        brief = write_brief(scope, spec, inputs, digest)
        known = sessions.setdefault(scope.user, [])
        if scope.session not in known:
            known.append(scope.session)
        returns = ("The user comes back: be brief.",) if known[0] != scope.session else ()
        return replace(brief, constraints=(*brief.constraints, *returns))

    return replace(CLEAN, write_brief=greeted)


m06_aliased_examples = leaky("task", "m06_aliased_examples", _aliased_examples)
m09_shallow_copy = leaky("task", "m09_shallow_copy", _shallow_copy)
m43_cached_prompt = leaky("rules", "m43_cached_prompt", _cached_prompt)
m45_thread_local = leaky("rules", "m45_thread_local", _thread_local)
m69_growing_notes = leaky("task", "m69_growing_notes", _growing_notes)
m70_known_user = leaky("task", "m70_known_user", _known_user)

_INPUT = case(turn(Delegate(0, f"for {at('task.input')}")))

MUTANTS = (
    Mutant(
        6,
        "m06_aliased_examples",
        "children append to the list of examples that all of them share",
        "task",
        m06_aliased_examples,
        oracle="residue",
        slot=Slot.TASK_INPUT,
        channel=Channel.CHILD_REQUEST,
        direction=Direction.AFTER,
        link="https://github.com/NousResearch/hermes-agent/issues/228",
        smallest=_INPUT,
    ),
    Mutant(
        9,
        "m09_shallow_copy",
        "a shallow copy of the defaults shares its inner mapping",
        "task",
        m09_shallow_copy,
        oracle="residue",
        slot=Slot.TASK_INPUT,
        channel=Channel.CHILD_CONTEXT,
        direction=Direction.AFTER,
        smallest=_INPUT,
    ),
    Mutant(
        43,
        "m43_cached_prompt",
        "the cache of built prompts forgets for whom it built them",
        "rules",
        m43_cached_prompt,
        oracle="residue",
        slot=Slot.TASK_INPUT,
        channel=Channel.CHILD_REQUEST,
        direction=Direction.AFTER,
        smallest=case(turn(Delegate(0, at("task.input")))),
    ),
    Mutant(
        45,
        "m45_thread_local",
        "a thread of the pool keeps what it was asked before",
        "rules",
        m45_thread_local,
        oracle="residue",
        slot=Slot.TASK_INPUT,
        channel=Channel.CHILD_CONTEXT,
        direction=Direction.AFTER,
        smallest=case(turn(Delegate(0, at("task.input")))),
    ),
    Mutant(
        69,
        "m69_growing_notes",
        "notes that children leave grow in the briefs of their session with each delegation",
        "task",
        m69_growing_notes,
        oracle="conservation",
        slot=Slot.CHILD_ANSWER,
        channel=Channel.CHILD_CONTEXT,
        direction=Direction.SIDEWAYS,
        smallest=case(turn(TASK)),
        alone=True,
    ),
    Mutant(
        70,
        "m70_known_user",
        "what is known of a user survives the end of the session",
        "task",
        m70_known_user,
        oracle="residue",
        slot=Slot.PARENT_STATE,
        channel=Channel.CHILD_CONTEXT,
        direction=Direction.AFTER,
        smallest=case(turn(TASK)),
        alone=True,
    ),
)
