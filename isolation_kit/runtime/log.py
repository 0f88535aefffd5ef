"""Logs that hold sizes and keyed digests, never a text (article 000, 3.2; article 002, 6.2)."""

from __future__ import annotations

import logging

from isolation_kit.runtime.faults import type_name
from isolation_kit.runtime.hooks import Hooks
from isolation_kit.runtime.messages import ModelRequest
from isolation_kit.runtime.text import Digest

__all__ = ["CHILD_LOGGER", "error_line", "refused_line", "request_line", "write"]

CHILD_LOGGER = "isolation_kit.runtime.child"


def request_line(request: ModelRequest, digest: Digest) -> str:
    """How many messages of how many characters leave for a model, and their digest."""
    text = "\x1f".join(message.content for message in request.messages)
    return (
        f"request agent={request.agent} messages={len(request.messages)} characters={len(text)} "
        f"digest={digest(text.encode('utf-8', 'surrogatepass'))}"
    )


def error_line(agent: str, reason: str, error: Exception | None, at_hand: str) -> str:
    """The reason code and the type of `error`. Its text and `at_hand`, what was worked on, stay out of it."""
    if error is None:
        return f"failure agent={agent} reason={reason}"
    return f"failure agent={agent} reason={reason} error={type_name(error)}"


def refused_line(agent: str, reason: str, problem: str) -> str:
    """Why a child did not start. `problem` is a sentence of this kit: it names field and rule, no value."""
    return f"refused agent={agent} reason={reason}: {problem}"


def write(hooks: Hooks, agent: str, level: int, line: str, threshold: int = 0) -> None:
    """Write a child's log line, and tell the watcher; below the child's `threshold`, do neither."""
    if level < threshold:
        return
    logger = logging.getLogger(CHILD_LOGGER)
    if logger.isEnabledFor(level):
        # Built by hand: `log` walks the stack for the caller, which is always this function.
        place = (__file__, 0)
        logger.handle(
            logger.makeRecord(logger.name, level, *place, "%s", (line,), None, "write", {"agent": agent})
        )
    hooks.log_line(agent, line)
