"""Defects in what is written to a log."""

from __future__ import annotations

from dataclasses import replace

from isolation_kit.mutants.catalogue import leaky
from isolation_kit.runtime import CLEAN, ModelRequest, Parts
from isolation_kit.runtime.text import Digest

__all__ = ["m28_traceback_in_log", "m29_prompt_in_log"]


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
