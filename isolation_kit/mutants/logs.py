"""Defects in what is written to a log."""

from __future__ import annotations

from dataclasses import replace

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import NOISE, at, case, tool_reply, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import CLEAN, ModelRequest, Parts
from isolation_kit.runtime.text import Digest
from isolation_kit.scenario import Delegate
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


def _traceback_in_log() -> Parts:
    def with_locals(agent: str, reason: str, error: Exception | None, at_hand: str) -> str:
        return f"failure reason={reason}\nTraceback:\n  in loads\n    raw = {at_hand}\n{error!r}"

    return replace(CLEAN, error_line=with_locals)


def _prompt_in_log() -> Parts:
    def in_full(request: ModelRequest, digest: Digest) -> str:
        return "\n".join(f"{message.role}: {message.content}" for message in request.messages)

    return replace(CLEAN, request_line=in_full)


m28_traceback_in_log = leaky("task", "m28_traceback_in_log", _traceback_in_log)
m29_prompt_in_log = leaky("task", "m29_prompt_in_log", _prompt_in_log)

MUTANTS = (
    Mutant(
        28,
        "m28_traceback_in_log",
        "a failing parse logs a traceback with its locals",
        "task",
        m28_traceback_in_log,
        oracle="canary",
        slot="child.tool.noise",
        channel=Channel.LOG,
        direction=Direction.OUT,
        link="https://github.com/livekit/agents/issues/5300",
        smallest=tool_reply(f'{{"amount": 1}} // {NOISE}'),
    ),
    Mutant(
        29,
        "m29_prompt_in_log",
        "every prompt is logged in full",
        "task",
        m29_prompt_in_log,
        oracle="canary",
        slot="task.input",
        channel=Channel.LOG,
        direction=Direction.OUT,
        smallest=case(turn(Delegate(0, f"for {at('task.input')}"))),
    ),
)
