"""Defects that show only while turns of two users are open at once. Each case makes its own shared object."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import TASK, at, case, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import (
    CLEAN,
    Message,
    Model,
    ModelReply,
    ModelRequest,
    ParentScope,
    Parts,
    SubAgentResult,
    TaskBrief,
    build_child_context,
)
from isolation_kit.runtime.failures import reported
from isolation_kit.runtime.planning import Subtask, planning_context
from isolation_kit.runtime.text import canonical
from isolation_kit.scenario import Answer, Delegate, UseTool
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]

_VARIABLE = "ISOLATION_KIT_SEEDED_SESSION"
_SHORT = 200  # characters: as long as a summary may be


def _current_session() -> Parts:
    current: dict[str, str] = {}

    def started(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        current["task"] = canonical(brief.inputs)
        return build_child_context(brief)

    def summed_up(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        return {**result.to_dict(), "summary": current["task"][:_SHORT]}

    return replace(CLEAN, child_context=started, pack_result=summed_up)


def _singleton_request() -> Parts:
    held: dict[str, Sequence[Message]] = {}

    def planned(history: Sequence[Message], done: Sequence[Subtask]) -> tuple[Message, ...]:
        held["history"] = history
        return planning_context(history, done)

    def with_question(result: SubAgentResult) -> dict[str, Any]:
        asked = [message.content for message in held["history"] if message.role == "user"]
        return {**reported(result), "asked": asked[-1]}

    return replace(CLEAN, planning_context=planned, report=with_question)


def _shared_identity() -> Parts:
    headers: dict[str, str] = {}

    def of_this_user(brief: TaskBrief, scope: ParentScope) -> Mapping[str, str]:
        headers["x-user"] = scope.user
        return headers

    return replace(CLEAN, child_headers=of_this_user)


def _session_in_environment() -> Parts:
    os.environ.pop(_VARIABLE, None)

    def exported(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        os.environ[_VARIABLE] = json.dumps(dict(brief.inputs))[:_SHORT]
        return build_child_context(brief)

    def summed_up(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        return {**result.to_dict(), "summary": os.environ[_VARIABLE]}

    return replace(CLEAN, child_context=exported, pack_result=summed_up)


@dataclass(frozen=True, slots=True)
class _Pooled:
    """A model behind a pool of connections, each of which gives its replies in the order of its requests."""

    model: Model
    pool: deque[deque[asyncio.Future[ModelReply]]]

    async def reply(self, request: ModelRequest) -> ModelReply:
        connection = self.pool.popleft() if self.pool else deque()
        connection.append(asyncio.ensure_future(self.model.reply(request)))
        try:
            await asyncio.wait({connection[0]})
            return connection.popleft().result()
        finally:
            self.pool.append(connection)  # also when cancelled: then with its reply unread


def _unread_reply() -> Parts:
    pool: deque[deque[asyncio.Future[ModelReply]]] = deque()
    return replace(CLEAN, connect=lambda model: _Pooled(model, pool))


def _merged_sessions() -> Parts:
    row: list[Message] = []

    def merged(history: Sequence[Message], done: Sequence[Subtask]) -> tuple[Message, ...]:
        if history[-1].role == "user":  # the turn begins: its session is written anew
            row.clear()
        row.extend(message for message in history if message not in row)
        others = [message for message in row if message not in history]
        return (*others, *planning_context(history, done))

    return replace(CLEAN, planning_context=merged)


m31_current_session = leaky("task", "m31_current_session", _current_session)
m32_singleton_request = leaky("task", "m32_singleton_request", _singleton_request)
m33_shared_identity = leaky("task", "m33_shared_identity", _shared_identity)
m34_session_in_environment = leaky("task", "m34_session_in_environment", _session_in_environment)
m37_unread_reply = leaky("task", "m37_unread_reply", _unread_reply)
m39_merged_sessions = leaky("task", "m39_merged_sessions", _merged_sessions)

_OTHER_TASK = case(turn(TASK), turn(Delegate(0, f"for {at('task.input', 1, turn=1)}"), user=1))

MUTANTS = (
    Mutant(
        31,
        "m31_current_session",
        "a summary is made of the current task, which a concurrent run overwrites",
        "task",
        m31_current_session,
        oracle="interleaving",
        slot="task.input",
        channel=Channel.RESULT,
        direction=Direction.ACROSS,
        link="https://github.com/mem0ai/mem0/issues/4359",
        alone=True,
        smallest=_OTHER_TASK,
    ),
    Mutant(
        32,
        "m32_singleton_request",
        "a process-wide singleton holds the request that a report quotes",
        "task",
        m32_singleton_request,
        oracle="interleaving",
        slot="user.current",
        channel=Channel.PARENT_REQUEST,
        direction=Direction.ACROSS,
        alone=True,
        smallest=case(turn(TASK), turn(TASK, text=f"hello {at('user.current', 1, turn=1)}", user=1)),
    ),
    Mutant(
        33,
        "m33_shared_identity",
        "the identity in a shared client's headers is changed for each delegation",
        "task",
        m33_shared_identity,
        oracle="interleaving",
        slot="field.x_user",
        channel=Channel.CHILD_HEADERS,
        direction=Direction.ACROSS,
        link="https://github.com/moorcheh-ai/memanto/issues/884",
        alone=True,
        smallest=case(
            turn(Delegate(0, "find it", (UseTool(0, "q", "{}"), Answer("42")))), turn(TASK, user=1)
        ),
    ),
    Mutant(
        34,
        "m34_session_in_environment",
        "the session's values are handed on in os.environ",
        "task",
        m34_session_in_environment,
        oracle="interleaving",
        slot="task.input",
        channel=Channel.RESULT,
        direction=Direction.ACROSS,
        link="https://github.com/nesquena/hermes-webui/issues/195",
        smallest=_OTHER_TASK,
    ),
    Mutant(
        37,
        "m37_unread_reply",
        "a cancelled request goes back to the pool with its reply unread, for the next user to read",
        "task",
        m37_unread_reply,
        oracle="interleaving",
        slot="child.answer",
        channel=Channel.RESULT,
        direction=Direction.ACROSS,
        link="https://github.com/redis/redis-py/issues/2665",
        alone=True,
        smallest=case(turn(Delegate(0, "one", (Answer(at("child.answer")),))), turn(TASK, user=1)),
    ),
    Mutant(
        39,
        "m39_merged_sessions",
        "a session is read, changed and written back together with what another user wrote meanwhile",
        "task",
        m39_merged_sessions,
        oracle="interleaving",
        slot="parent.memory",
        channel=Channel.PARENT_REQUEST,
        direction=Direction.ACROSS,
        link="article 000 section 4.7",
        alone=True,
        smallest=case(turn(TASK), turn(TASK, user=1)),
    ),
)
