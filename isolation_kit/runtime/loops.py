"""When a child goes round in circles: equal calls in a row, or one tool again and again (003, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from isolation_kit.runtime.messages import ToolCall

__all__ = ["LoopLimits", "LoopWatch"]


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """How much repetition a child may show; a spec that reads many pages declares more.

    The article stops at three calls of one tool in a row. A child that reads three pages does that rightly,
    so three counts for equal calls, and calls with ever new arguments have a bound of their own: the article
    saw a child try one search five times in slightly other words.

    Args:
        equal_calls: the call that is refused: this many in a row of the same tool with the same arguments.
        one_tool: the same, whatever the arguments.
        refusals: so many refusals in a row end the child.
    """

    equal_calls: int = 3
    one_tool: int = 12
    refusals: int = 3

    def __post_init__(self) -> None:
        if min(self.equal_calls, self.one_tool) < 2 or self.refusals < 1:
            raise ValueError(
                f"LoopLimits({self.equal_calls}, {self.one_tool}, {self.refusals}) refuses a first call or "
                "never ends a child; allowed are at least 2, 2 and 1, for example LoopLimits(one_tool=20)"
            )


class LoopWatch:
    """Counts the calls of one child."""

    def __init__(self, limits: LoopLimits) -> None:
        self._limits = limits
        self._last: ToolCall | None = None
        self._equal = 0
        self._same = 0
        self._refused = 0

    def repeats(self, call: ToolCall) -> bool:
        """Count `call`; True if it is one too many."""
        last = self._last
        same = last is not None and last.name == call.name
        equal = same and last is not None and last.arguments == call.arguments
        self._same = self._same + 1 if same else 1
        self._equal = self._equal + 1 if equal else 1
        self._last = call
        looping = self._equal >= self._limits.equal_calls or self._same >= self._limits.one_tool
        self._refused = self._refused + 1 if looping else 0
        return looping

    @property
    def stubborn(self) -> bool:
        """True if the child was refused again and again and repeats itself still."""
        return self._refused >= self._limits.refusals
