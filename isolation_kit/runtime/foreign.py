"""Models and tools are foreign code: what they raise ends here, and what they say is checked before use.

A model client may raise anything: its HTTP library cancels a task of its own, a command line tool calls
`sys.exit`. None of it may end a turn that nobody cancelled, let alone the program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from isolation_kit.errors import KitError
from isolation_kit.runtime.faults import NoReplyError
from isolation_kit.runtime.messages import Message, ToolCall

__all__ = ["contained", "said_by"]


def contained(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """True if `error`, raised by foreign code that `task` awaited, is that code's failure and nothing else.

    A fault of the kit, Ctrl-C and a cancellation of `task` itself pass. So does the end of a coroutine that
    the event loop throws away, which is not running when it ends.
    """
    if isinstance(error, Exception):
        return not isinstance(error, KitError)
    if isinstance(error, asyncio.CancelledError):
        return task is not None and not task.cancelling()
    if isinstance(error, GeneratorExit):
        return task is not None and task is _running()
    if isinstance(error, BaseExceptionGroup):
        return all(contained(inner, task) for inner in error.exceptions)
    return isinstance(error, SystemExit)


def _running() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop is running (any more)
        return None


def said_by(reply: Any) -> Message:
    """The message that a model's reply stands for.

    Raises:
        NoReplyError: for what is no reply: text and calls, each call with a text as id and name, and
            arguments that JSON can say.
    """
    try:
        calls = tuple(reply.calls)
        if isinstance(reply.text, str) and all(map(_is_call, calls)):
            return Message("assistant", reply.text, calls)
    except Exception:  # what is no reply may raise anything when it is looked at, and quote itself
        raise NoReplyError("no reply of a model") from None
    raise NoReplyError("no reply of a model; it is a ModelReply of text and a tuple of ToolCall")


def _is_call(call: Any) -> bool:
    named = isinstance(call, ToolCall) and isinstance(call.id, str) and isinstance(call.name, str)
    # It raises where JSON has no word for an argument.
    return named and isinstance(call.arguments, Mapping) and call.text != ""
