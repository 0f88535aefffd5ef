"""The input-token curve: what each delegation costs, in order, and whether it stays flat (article 002, 6.2).

A curve that rises with the number of delegations says that some way hands history down.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from isolation_kit.errors import UsageError
from isolation_kit.runtime.observe.spans import Span

__all__ = ["Flatness", "Point", "TokenCurve", "flatness"]

_LEAST = 10


@dataclass(frozen=True, slots=True)
class Point:
    """One delegation: `first` are the input tokens of its first model call, `total` those of all `calls`."""

    index: int
    agent: str
    first: int
    total: int
    calls: int


class TokenCurve:
    """Keeps the points of the latest delegations.

    Args:
        most: points to keep; the oldest go first, their indices are not used again.
    """

    def __init__(self, most: int = 10_000) -> None:
        # Bare tuples: the garbage collector stops looking at what holds numbers and names only.
        self._points: deque[tuple[int, str, int, int, int]] = deque(maxlen=most)
        self._count = 0

    def span_ended(self, span: Span) -> None:
        """Add the point of a delegation that called its model."""
        if span.kind == "delegation" and span.calls:
            self._points.append((self._count, span.agent, span.first_tokens, span.tokens, span.calls))
            self._count += 1

    @property
    def points(self) -> tuple[Point, ...]:
        """The points in order."""
        return tuple([Point(*point) for point in self._points])


@dataclass(frozen=True, slots=True)
class Flatness:
    """Whether a curve is flat. `growth` is last fifth over first fifth (medians) minus 1; 0.05 is 5 %."""

    verdict: Literal["flat", "rising", "falling", "too few"]
    growth: float
    n: int


def flatness(points: Sequence[Point], *, tolerance: float = 0.05) -> Flatness:
    """Whether the first call's input tokens stay the same over delegations of one agent.

    Args:
        points: of one agent, for two agents cost different amounts; at least 10, else the verdict is
            `too few`.
        tolerance: the growth, 0 to 1, that still counts as flat.

    Raises:
        UsageError: for points of several agents.
    """
    agents = {point.agent for point in points}
    if len(agents) > 1:
        raise UsageError(
            f"the points are of {len(agents)} agents, whose tokens cannot be compared; give those of one, "
            "for example [point for point in curve.points if point.agent == 'worker']"
        )
    if len(points) < _LEAST:
        return Flatness("too few", 0.0, len(points))
    fifth = max(len(points) // 5, 1)
    before = median(point.first for point in points[:fifth])
    growth = median(point.first for point in points[-fifth:]) / before - 1 if before else 0.0
    if abs(growth) <= tolerance:
        return Flatness("flat", growth, len(points))
    return Flatness("rising" if growth > 0 else "falling", growth, len(points))
