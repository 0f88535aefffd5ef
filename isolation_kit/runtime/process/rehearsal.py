"""A child's life played through with made-up data, so that a real one finds all that it needs in its memory.

A forked process shares its pages until it writes one, and then pays for a copy of it; the first pass through
a child's code writes some hundreds. The zygote rehearses once, for what is made at first use, and the child
that waits for its order does so too, for its own copies: little is left to pay when the order comes.
"""

from __future__ import annotations

import logging
import socket

from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.contract import Contract
from isolation_kit.runtime.messages import ModelReply, ToolCall, ToolSpec
from isolation_kit.runtime.process import inside
from isolation_kit.runtime.process.frames import Kind, packed
from isolation_kit.runtime.process.plain import plain_reply, plain_start
from isolation_kit.runtime.tokens import utf8_ceiling
from isolation_kit.runtime.wiring import RunLimits

__all__ = ["rehearse"]


def rehearse() -> None:
    """Live once as a child that calls a tool and answers. No descriptor and no log handler is left of it."""
    child, parent = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with child, parent:
        parent.sendall(_played())  # all that a parent would answer, ahead: it fits the socket's buffer
        inside.live(child)
    logging.getLogger().handlers.clear()


def _played() -> bytes:
    tool = ToolSpec("look", "Look it up.", text_limit=1, extract=str)
    spec = ChildSpec("rehearsal", "Rehearse.", (tool,), {}, contract=Contract(8000, {}, 60_000, 16, "ERROR"))
    brief = TaskBrief("t_0", "Rehearse.", {"request": "r"}, (tool.name,), output_schema=spec.outputs)
    call = ToolCall("c", tool.name, {tool.parameter: "q"})
    return b"".join(
        (
            packed(Kind.START, plain_start(brief, spec, utf8_ceiling, RunLimits(), entry="", shelves=False)),
            packed(Kind.REPLY, plain_reply(ModelReply("", (call,)))),
            packed(Kind.REPLY, '{"found": 1}'),
            packed(Kind.REPLY, plain_reply(ModelReply('{"answer": "a", "more": 1}'))),
        )
    )
