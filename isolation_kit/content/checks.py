"""What must hold between the keys of one content file, and between a file and its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from isolation_kit.content.model import TOKEN, Attack, FingerprintClass, Structure
from isolation_kit.content.naming import classify
from isolation_kit.content.reading import refuse

__all__ = ["check_attack", "check_class"]

_OVERFLOW_FAMILY = "boundary-overflow"


def _check_name(path: Path, key: str, given: str, expected: str) -> None:
    if given != expected:
        refuse(path, key, f"got {given!r}", "the name of the file or of its folder", repr(expected))


def check_attack(attack: Attack, path: Path) -> None:
    """Refuse an attack whose keys contradict each other or its file name.

    Raises:
        ContentError: for the first contradiction.
    """
    _check_name(path, "id", attack.id, path.stem)
    _check_name(path, "family", attack.family, path.parent.name)
    for index, carrier in enumerate(attack.carriers):
        if carrier.shape == "json" and not _is_object(carrier.text):
            allowed = "one JSON object without duplicate keys (other texts: shape = 'text')"
            refuse(path, f"carrier[{index}].text", "is no such object", allowed, f'{{"trace_id": "{TOKEN}"}}')
    for index, example in enumerate(attack.examples):
        if example.counts and TOKEN not in example.text:
            allowed = f"true only where the text holds {TOKEN}"
            refuse(path, f"example[{index}].counts", "is true without a canary", allowed, "false")
    _check_structure(attack.structure, path)
    if (attack.overflow is not None) != (attack.family == _OVERFLOW_FAMILY):
        given = "is missing" if attack.overflow is None else f"stands in the family {attack.family!r}"
        refuse(path, "overflow", given, f"in each {_OVERFLOW_FAMILY} attack, nowhere else", "[overflow]")
    if attack.overflow is not None and not (attack.overflow.sizes and attack.overflow.atoms):
        refuse(path, "overflow", "has no size or no atom", "at least one of each", "sizes = ['limit+1']")


def _check_structure(structure: Structure, path: Path) -> None:
    turns = len(structure.order)
    if not turns or max(structure.order) >= len(structure.users):
        allowed = f"at least one index from 0 to {len(structure.users) - 1} (the users)"
        refuse(path, "structure.order", f"got {list(structure.order)}", allowed, "[0, 1, 0]")
    if len(set(structure.users)) != len(structure.users):
        refuse(path, "structure.users", "names one user twice", "distinct names", "['agent_1', 'agent_10']")
    for key, entries in (("sessions", structure.sessions), ("about", structure.about)):
        if entries and len(entries) != turns:
            refuse(
                path,
                f"structure.{key}",
                f"has {len(entries)} entries",
                f"none, or {turns} (one a turn)",
                "[]",
            )
    if structure.about and max(structure.about) >= len(structure.subjects):
        allowed = f"-1 to {len(structure.subjects) - 1} (the subjects)"
        refuse(path, "structure.about", f"got {list(structure.about)}", allowed, "[0, 1, 0]")
    if structure.follow_up and (not structure.about or structure.about[-1] not in structure.about[:-1]):
        allowed = "true only where the last turn is about the subject of an earlier one"
        refuse(path, "structure.follow_up", "has no earlier subject", allowed, "about = [0, 1, 0]")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, object_pairs_hook=_unique), dict)
    except (ValueError, RecursionError):
        return False


def check_class(entry: FingerprintClass, path: Path) -> None:
    """Refuse a pollutant class that is not named as its file, or whose samples contradict its names.

    Raises:
        ContentError: for the first contradiction.
    """
    _check_name(path, "id", entry.id, path.stem)
    for key, names, wanted in (("matches", entry.matches, True), ("misses", entry.misses, False)):
        if not names:
            refuse(path, key, "is empty", "at least one field name", "['traceId']")
        for name in names:
            if (classify(name, (entry,)) is not None) is not wanted:
                allowed = "names that the class knows" if wanted else "names that the class does not know"
                refuse(path, key, f"{name!r} contradicts names", allowed, "['traceId']")
