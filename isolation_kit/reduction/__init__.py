"""Reduces a leaking case to its smallest: on the Scenario itself, by its own witness, within a budget.

Drops turns, users, acts and carriers, then shortens texts and JSON replies; keeps a change only if the same
leak is still there. Bounded by executions, never by time, so that the same case reduces to the same bytes.
"""

from __future__ import annotations

from isolation_kit.reduction.search import reduce

__all__ = ["reduce"]
