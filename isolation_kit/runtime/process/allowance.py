"""What a child may still ask for, counted at the parent's end: the child's own count is the child's word."""

from __future__ import annotations

from isolation_kit.runtime.messages import Message, ToolSpec
from isolation_kit.runtime.process.frames import FrameError
from isolation_kit.runtime.tokens import TokenCounter
from isolation_kit.runtime.window import Room

__all__ = ["Allowance"]


class Allowance:
    """The rounds, the calls and the window of one child.

    Args:
        rounds: model calls.
        calls: calls of tools, of children of its own and of the shelf, together.
        window: tokens of one model request: messages and tools.
    """

    def __init__(
        self, rounds: int, calls: int, window: int, tools: tuple[ToolSpec, ...], count: TokenCounter
    ) -> None:
        self._rounds = rounds
        self._calls = calls
        self._room = Room(window, tools, count).left
        self._count = count
        self._costs: list[int] = []

    def take_call(self) -> None:
        """Count a call.

        Raises:
            FrameError: `output_limit`, if it is one too many.
        """
        self._calls -= 1
        if self._calls < 0:
            raise FrameError("output_limit")

    def take_round(self, same: int, new: tuple[Message, ...]) -> None:
        """Count a model call whose request is the first `same` messages of the last one, and `new`.

        Raises:
            FrameError: `round_limit` or `window_full`; `bad_frame` for what cannot be counted.
        """
        self._rounds -= 1
        if self._rounds < 0:
            raise FrameError("round_limit")
        try:
            costs = [self._cost(message) for message in new]
        except (ValueError, TypeError, RecursionError):
            raise FrameError("bad_frame") from None
        self._costs[same:] = costs
        if sum(self._costs) > self._room:
            raise FrameError("window_full")

    def take_reply(self, reply: Message) -> None:
        """Count a model's reply, which stands in the request that follows."""
        self._costs.append(self._cost(reply))

    def _cost(self, message: Message) -> int:
        room = Room(0, (), self._count)
        room.take(message)
        return -room.left
