"""A locustfile to be named beside another one: it looks for the smallest number of users that leaks."""

from __future__ import annotations

from isolation_kit.load import IsolationRamp

__all__ = ["SmallestRamp"]


class SmallestRamp(IsolationRamp):
    """Doubles the users until something leaks, then halves the gap."""
