"""Defects modelled on public reports: what reaches a child that is not its own, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from isolation_kit.finding import Direction, Verdict
from isolation_kit.mutants.cases import TASK, at, case, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import (
    CLEAN,
    ChildSpec,
    Message,
    ParentScope,
    Parts,
    SubAgentResult,
    TaskBrief,
    build_child_context,
)
from isolation_kit.runtime.parts import write_brief
from isolation_kit.runtime.text import Digest, canonical
from isolation_kit.scenario import Answer, Delegate, Say, UseTool
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]

_WINDOW = 24  # characters


def _base_prompt_joined() -> Parts:
    def joined(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        prompt = [message for message in scope.history if message.role == "system"]
        return (*prompt[:1], *build_child_context(brief))

    return replace(CLEAN, child_context=joined)


def _prefix_of_a_name() -> Parts:
    notes: list[tuple[str, str]] = []

    def of_mine(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        mine = [Message("user", text) for owner, text in notes if scope.user.startswith(owner)]
        notes.append((scope.user, canonical(brief.inputs)))
        return (*build_child_context(brief), *mine)

    return replace(CLEAN, child_context=of_mine)


def _shared_scratch_file() -> Parts:
    files: dict[str, str] = {}

    def with_notes(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        notes = [Message("user", text) for text in files.values()]
        return (*build_child_context(brief), *notes)

    def noted(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        files["notes.md"] = "\n".join(message.content for message in memory if message.role == "assistant")
        return result.to_dict()

    return replace(CLEAN, child_context=with_notes, pack_result=noted)


def _one_session_for_all() -> Parts:
    session: list[str] = []

    def continued(
        scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest
    ) -> TaskBrief:
        brief = write_brief(scope, spec, inputs, digest)
        before = session[-1:]
        session.append(canonical(inputs))
        return replace(brief, global_context="\n".join([brief.global_context, *before]))

    return replace(CLEAN, write_brief=continued)


def _left_truncation() -> Parts:
    def cut(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        system, task = build_child_context(brief)
        return system, replace(task, content=task.content[-_WINDOW:])

    return replace(CLEAN, child_context=cut)


m104_base_prompt_joined = leaky("task", "m104_base_prompt_joined", _base_prompt_joined)
m135_prefix_of_a_name = leaky("task", "m135_prefix_of_a_name", _prefix_of_a_name)
m141_shared_scratch_file = leaky("task", "m141_shared_scratch_file", _shared_scratch_file)
m178_one_session_for_all = leaky("task", "m178_one_session_for_all", _one_session_for_all)
m201_left_truncation = leaky("task", "m201_left_truncation", _left_truncation)

_FROM_ONE_TO_ANOTHER = case(turn(Delegate(0, f"for {at('task.input')}")), turn(TASK, user=1))
_THINKS = (Say(f"so {at('child.text')}"), UseTool(0, "q", '{"amount": 1}'), Answer("42"))

# Numbered by the public report, 100 and its number: behind the rows of the table.
MUTANTS = (
    Mutant(
        104,
        "m104_base_prompt_joined",
        "the product's base prompt is sent with the child's own",
        "task",
        m104_base_prompt_joined,
        oracle="canary",
        slot="parent.system",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="https://github.com/anthropics/claude-code/issues/32717",
        smallest=case(turn(TASK)),
    ),
    Mutant(
        135,
        "m135_prefix_of_a_name",
        "whose notes a child may read is judged by how the name begins",
        "task",
        m135_prefix_of_a_name,
        oracle="canary",
        slot="task.input",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.ACROSS,
        link="https://github.com/google/adk-python/issues/2948",
        smallest=replace(_FROM_ONE_TO_ANOTHER, users=("u_1", "u_10")),
    ),
    Mutant(
        141,
        "m141_shared_scratch_file",
        "all children of a session write into one notes.md and read it",
        "task",
        m141_shared_scratch_file,
        oracle="canary",
        slot="child.text",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.SIDEWAYS,
        link="https://github.com/anthropics/claude-code/issues/87243",
        smallest=case(turn(Delegate(0, "find it", _THINKS)), turn(TASK)),
    ),
    Mutant(
        178,
        "m178_one_session_for_all",
        "the session's key leaves the peer out, so all go on with one session",
        "task",
        m178_one_session_for_all,
        oracle="canary",
        slot="task.input",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.ACROSS,
        link="https://github.com/openclaw/openclaw/issues/29250",
        smallest=_FROM_ONE_TO_ANOTHER,
    ),
    Mutant(
        201,
        "m201_left_truncation",
        "what is over the window is cut at its beginning, without a word",
        "task",
        m201_left_truncation,
        oracle="controls",
        slot="task.goal",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        kind=Verdict.LOSS,
        link="https://github.com/ollama/ollama/issues/8531",
        smallest=case(turn(Delegate(0, f"find {at('task.goal')} {at('task.input')}"))),
    ),
)
