"""Dresses generated cases: their canaries wear the shapes that a system may act on.

A filter that masks e-mail addresses, a memory that keeps telephone numbers, a router that looks for ids: each
acts on a shape that a bare token does not have.
"""

from __future__ import annotations

from collections.abc import Sequence

from isolation_kit.scenario import Scenario, Slot
from isolation_kit.target import Declaration

__all__ = ["dressed"]

_KEPT = frozenset({Slot.PARENT_SYSTEM, Slot.PARENT_SESSION_ID, Slot.ENVIRONMENT})
_WORN = tuple(slot for slot in Slot if slot not in _KEPT)


def dressed(scenario: Scenario, skins: Sequence[str], declaration: Declaration, index: int) -> Scenario:
    """The case with number `index`, its canaries in one of `skins`: each has its turn, then the bare token.

    What triggers the way to a child keeps its shape: a system that takes ids as input takes no sentence.

    Args:
        skins: names of `isolation_kit.canary.Skin`; none leaves every case as it is.
    """
    number = index % (len(skins) + 1)
    if number == len(skins):
        return scenario
    slots = (slot for slot in _WORN if slot != Slot.TASK_INPUT or not declaration.triggers)
    return scenario.with_skins({str(slot): skins[number] for slot in slots})
