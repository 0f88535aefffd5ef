"""A child's one way out of its process, and what code of the user's is that runs there."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.messages import Message, ModelReply
from isolation_kit.runtime.process.endings import CRASHED
from isolation_kit.runtime.process.frames import (
    HEADER_BYTES,
    Frame,
    FrameError,
    Kind,
    announced,
    packed,
    values,
)
from isolation_kit.runtime.process.plain import PROGRAM_ERROR, plain_messages, reply_of

__all__ = ["ChildLink", "Entry", "ModelBroken", "ModelFailed"]


class ModelFailed(Exception):
    """The parent could not get an answer of the model; why is not for a child to know."""


class ModelBroken(ModelFailed, TypeError):
    """The model's client has a bug: asking it again brings nothing. (So it is a `TypeError` here too.)"""


@dataclass(slots=True)
class ChildLink:
    """A child's one way out: its models and tools, over the pipe.

    Args:
        pipe: the socket itself; there is no reason to touch it.
    """

    pipe: socket.socket
    _sent: tuple[Message, ...] = field(default=(), repr=False)

    def model(self, messages: tuple[Message, ...]) -> ModelReply:
        """Ask this child's model.

        Raises:
            ModelFailed: if it does not answer; `ModelBroken` if its client has a bug.
        """
        same = 0
        for old, new in zip(self._sent, messages, strict=False):
            if old is not new:
                break
            same += 1
        self._sent = messages
        # What the last request held already is not sent again: the parent has it.
        raw = self.ask(Kind.MODEL, [same, plain_messages(messages[same:])])
        if raw is None:
            raise ModelFailed
        if raw == PROGRAM_ERROR:
            raise ModelBroken
        return reply_of(raw)

    def tool(self, name: str, query: str) -> str:
        """Call one of this child's tools; the reply holds declared fields only."""
        return str(self.ask(Kind.TOOL, [name, query]))

    def ask(self, kind: Kind, value: Any) -> Any:
        """Send a frame and return the value of the reply."""
        self.send(kind, value)
        return self.receive(Kind.REPLY)

    def send(self, kind: Kind, value: Any) -> None:
        """Send a frame."""
        self.pipe.sendall(packed(kind, value))

    def receive(self, kind: Kind) -> Any:
        """The value of the next frame, which must be of `kind`."""
        got, length = announced(self._exactly(HEADER_BYTES))
        if got is not kind:
            raise FrameError("bad_frame")
        return values(Frame(got, bytes(self._exactly(length))))

    def _exactly(self, size: int) -> bytearray:
        data = bytearray()
        while len(data) < size:
            part = self.pipe.recv(size - len(data))
            if not part:  # the parent is gone
                os._exit(CRASHED)
            data += part
        return data


Entry = Callable[[TaskBrief, ChildLink], Mapping[str, Any]]
"""Code of the user's that is a child's whole work: `def run(brief, link)`, no coroutine, of a module.

It gets the `TaskBrief` (`brief.inputs` is what the task says) and its one way out, the `ChildLink`:
`link.model(messages)` and `link.tool(name, query)`. It returns the key outputs as a mapping; what the child's
schema does not declare is dropped and reported, e.g. `return {"answer": link.model(messages).text}`. What it
raises stays in its process: the parent gets `child_crashed`, or for a bug like a TypeError `program_error`.
"""
