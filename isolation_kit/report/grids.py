"""The coverage table as grids that a person can read: slots down, channels across, one sign a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.report.coverage import FIELDS, STATES
from isolation_kit.report.words import listed
from isolation_kit.trace import Channel

__all__ = ["GLYPHS", "LEGEND", "grids"]

GLYPHS: Mapping[str, str] = {
    "leaking": "✗",
    "suspect": "?",
    "exposed": "○",
    "allowed": "a",
    "clean": "✓",
    "untested": "·",
    "": "",
}
LEGEND: Mapping[str, str] = {
    "leaking": "leaking",
    "suspect": "suspect, not counted",
    "exposed": "exposed: only if a model copies its context",
    "allowed": "allowed by the policy",
    "clean": "tested, clean",
    "untested": "untested",
}
_SLOTS_SHOWN = 40


def grids(coverage: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One grid for each target and agent: slots down, channels across."""
    order = [str(channel) for channel in Channel]
    groups: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for row in coverage:
        cells = groups.setdefault((row["target"], row["child"]), {})
        cells[row["slot"], row["channel"]] = row["state"]
    return [_grid(target, child, cells, order) for (target, child), cells in groups.items()]


def _grid(target: str, child: str, cells: Mapping[tuple[str, str], str], order: list[str]) -> dict[str, Any]:
    """Slots and channels of which nothing is known are named below the grid instead of filling it."""

    def known(place: int) -> set[str]:
        return {cell[place] for cell, state in cells.items() if state != "untested"}

    slots = list(dict.fromkeys(slot for slot, _ in cells))
    channels = sorted(
        {name for _, name in cells}, key=lambda name: (order.index(name) if name in order else 99, name)
    )
    shown = [slot for slot in slots if slot in known(0)]
    across = [name for name in channels if name in known(1)]
    counts = Counter(cells.values())
    return {
        "target": target,
        "child": child,
        "channels": across,
        "rows": [
            {"slot": _slot(slot), "cells": [_cell(cells.get((slot, name), "")) for name in across]}
            for slot in shown[:_SLOTS_SHOWN]
        ],
        "more": max(0, len(shown) - _SLOTS_SHOWN),
        "dark_slots": listed([_slot(slot) for slot in slots if slot not in known(0)], 30),
        "dark_channels": listed([name for name in channels if name not in known(1)], 30),
        "counts": {state: counts[state] for state in STATES},
    }


def _slot(slot: str) -> str:
    return "any undeclared field" if slot == FIELDS else slot


def _cell(state: str) -> tuple[str, str]:
    return state, GLYPHS[state]
