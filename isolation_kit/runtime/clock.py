"""Time as something that a runtime is given: its own in production, one that nobody waits for in tests."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

__all__ = ["Clock", "SteppedClock", "SystemClock"]


class Clock(Protocol):
    """Tells the time and lets it pass, both in seconds."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return when `seconds` have passed."""
        ...


class SystemClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Seconds since some moment of this machine's choosing."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait, while other tasks of the event loop run."""
        await asyncio.sleep(seconds)


class SteppedClock:
    """A clock that stands still until somebody sleeps, and then jumps: the same run gives the same times.

    `slept` holds what was waited for, in order.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        """Seconds slept so far."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Jump ahead; other tasks of the event loop get their turn."""
        self._now += seconds
        self.slept.append(seconds)
        await asyncio.sleep(0)
