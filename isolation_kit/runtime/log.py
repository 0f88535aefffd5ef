"""Logs that hold sizes and keyed digests, never a text (article 000, 3.2; article 002, 6.2)."""

from __future__ import annotations

import logging

from isolation_kit.runtime.messages import ModelRequest
from isolation_kit.runtime.text import Digest

__all__ = ["CHILD_LOGGER", "log_error", "log_request"]

CHILD_LOGGER = "isolation_kit.runtime.child"


def log_request(request: ModelRequest, digest: Digest) -> None:
    """One line at INFO: how many messages of how many characters leave for the model, and their digest."""
    logger = logging.getLogger(CHILD_LOGGER)
    if not logger.isEnabledFor(logging.INFO):
        return
    text = "\x1f".join(message.content for message in request.messages)
    logger.info(
        "request agent=%s messages=%d characters=%d digest=%s",
        request.agent,
        len(request.messages),
        len(text),
        digest(text.encode("utf-8", "surrogatepass")),
        extra={"agent": request.agent},
    )


def log_error(agent: str, reason: str, error: Exception | None, at_hand: str) -> None:
    """One line at ERROR with the reason code. `error` and `at_hand`, the text in hand, stay out of it."""
    logging.getLogger(CHILD_LOGGER).error("failure agent=%s reason=%s", agent, reason, extra={"agent": agent})
