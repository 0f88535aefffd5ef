"""The coverage table: for each child, slot and channel whether it was tested, and what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isolation_kit.finding import Mode
from isolation_kit.policy import audience
from isolation_kit.report.facts import Facts, TargetFacts
from isolation_kit.report.rows import recipient
from isolation_kit.scenario import Slot
from isolation_kit.trace import CHILD_CHANNELS, SINKS, Channel

__all__ = ["FIELDS", "STATES", "coverage_rows"]

STATES = ("leaking", "suspect", "exposed", "allowed", "clean", "untested")
FIELDS = "field.*"  # all undeclared fields together: what the contract oracle looks at

_CHANNELS = tuple(str(channel) for channel in Channel)
_OF_CHILD = tuple(name for name in _CHANNELS if name in CHILD_CHANNELS or name == Channel.RESULT)
_OF_ROOT = (str(Channel.PARENT_REQUEST), str(Channel.FINAL_OUTPUT))
_CONTRACTED = frozenset({str(Channel.CHILD_REQUEST), str(Channel.RESULT)})
_CHILD_SLOTS = frozenset(str(slot) for slot in Slot if slot.startswith("child."))

Cell = tuple[str, str, str, str]


def coverage_rows(facts: Facts, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each place that the default policy forbids, in order of target, child, slot, channel."""
    found = _found(rows, facts)
    tested = _tested(facts)
    cells = {*found, *tested}
    for name, target in facts.targets.items():
        cells |= set(_expected(name, target, facts))
    cells = {cell for cell in cells if cell in found or not _permitted(cell, facts.targets)}
    return [
        {
            **dict(zip(("target", "child", "slot", "channel"), cell, strict=True)),
            "state": found.get(cell) or ("clean" if cell in tested else "untested"),
        }
        for cell in sorted(cells, key=_place)
    ]


def _place(cell: Cell) -> tuple[Any, ...]:
    slots = [*map(str, Slot), FIELDS]
    target, child, slot, channel = cell
    known = slots.index(slot) if slot in slots else len(slots)
    return target, child, known, slot, _CHANNELS.index(channel) if channel in _CHANNELS else -1, channel


def _found(rows: Sequence[Mapping[str, Any]], facts: Facts) -> dict[Cell, str]:
    roots = {name: target.root for name, target in facts.targets.items()}
    seen = {(key[0], *pair) for key, item in facts.items.items() for pair in item.tally.channels}
    names = {"leak": "leaking", "exposure": "exposed", "allowed": "allowed", "suspect": "suspect"}
    out: dict[Cell, str] = {}
    for row in rows:
        if row["state"] not in names or row["kind"] != "LEAK":
            continue
        slot = FIELDS if row["what"].startswith("field.") else row["what"]
        cell = (row["target"], _seen_by(row, roots, seen), slot, row["channel"])
        state = names[row["state"]]
        out[cell] = min(out.get(cell, state), state, key=STATES.index)
    return out


def _seen_by(row: Mapping[str, Any], roots: Mapping[str, str], seen: set[tuple[str, str, str]]) -> str:
    """The agent in whose row a finding stands; in a sink that only the root writes, that is the root."""
    target, channel, agent = row["target"], row["channel"], recipient(row, roots)
    root = roots.get(target, agent)
    only_root = (target, root, channel) in seen and (target, agent, channel) not in seen
    return root if channel in SINKS and only_root else agent


def _tested(facts: Facts) -> set[Cell]:
    """Cells whose slot was planted and whose channel was seen in one item, with an oracle that concluded."""
    out: set[Cell] = set()
    for (target, _), item in facts.items.items():
        tally = item.tally
        able = {oracle for (oracle, mode), count in tally.able.items() if mode == Mode.STRUCTURAL and count}
        seen = [(agent, channel) for (agent, channel), count in tally.channels.items() if count]
        slots = [slot for slot, count in tally.planted.items() if count] if able else []
        out |= {(target, agent, slot, channel) for agent, channel in seen for slot in slots}
        if "contract" in able:
            out |= {(target, agent, FIELDS, channel) for agent, channel in seen if channel in _CONTRACTED}
    return out


def _expected(name: str, target: TargetFacts, facts: Facts) -> Iterable[Cell]:
    planted = {slot for key, item in facts.items.items() if key[0] == name for slot in item.tally.planted}
    slots = [*map(str, Slot), *sorted(planted - {*map(str, Slot)}), FIELDS]
    agents = [(child, _OF_CHILD) for child, _ in sorted(target.edges)]
    agents.append((target.root, (*_OF_ROOT, *sorted(target.taps - {*_OF_CHILD}))))
    for agent, channels in agents:
        for channel in channels:
            yield from (
                (name, agent, slot, channel) for slot in slots if slot != FIELDS or channel in _CONTRACTED
            )


def _permitted(cell: Cell, targets: Mapping[str, TargetFacts]) -> bool:
    """True where the default policy lets the slot be seen, so that only foreign data could leak there."""
    target, agent, slot, channel = cell
    if channel not in _CHANNELS or slot == FIELDS:
        return False
    allowed = {str(name) for name in audience(Channel(channel))}
    declared = targets.get(target)
    if declared is not None:
        reads_noise = channel in (Channel.CHILD_REQUEST, Channel.CHILD_TOOL_ARGS)
        if reads_noise and agent in declared.open_noise:
            allowed |= {str(Slot.CHILD_TOOL_NOISE)}
        if channel in _OF_ROOT and not declared.edges:
            allowed |= _CHILD_SLOTS
    return slot in allowed
