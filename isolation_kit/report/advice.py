"""What to do about a finding: by the way that it took first, by the class of its datum otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from isolation_kit.content import Bilingual, Remedy, load_remedies

__all__ = ["LOAD", "advice"]

LOAD = "load-"  # begins the families of load runs

_PLACE = "{place}"
_TEXTS = ("title", "symptom", "cause", "remedy")

_load = cache(load_remedies)


def advice(row: Mapping[str, Any], classes: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Title, symptom, cause and remedy for one fingerprint, or None if nothing is known.

    A class tells what kind of datum it is, hence how to keep it away: no help where the datum is missing,
    where it is wrong only because somebody else owns it, or where it lies in memory, a log or a header.
    """
    known = _load()
    found = next((entry for entry in known.remedies if _fits(entry, row)), None)
    if found is not None:
        return _told(found, (row["smallest"] or {}).get("path", ""), known.nowhere)
    of_class: Mapping[str, Any] | None = classes.get(row["class"])
    return of_class


def _fits(entry: Remedy, row: Mapping[str, Any]) -> bool:
    families = [part["family"] for part in row["families"]]
    told = (
        (entry.kinds or ("LEAK",), row["kind"]),
        (entry.directions, row["direction"]),
        (entry.channels, row["channel"]),
        (entry.whats, row["what"]),
        (entry.runs, "audit" if any(not name.startswith(LOAD) for name in families) else "load"),
    )
    oracles = set(row["oracles"])
    if entry.oracles and not (oracles and oracles <= set(entry.oracles)):
        return False
    return all(not names or given in names for names, given in told)


def _told(entry: Remedy, place: str, nowhere: Bilingual) -> dict[str, Any]:
    """The texts of an entry; one that names a place is told once for each."""

    def put(pair: Bilingual) -> dict[str, str]:
        return {
            "en": pair.en.replace(_PLACE, place or nowhere.en),
            "zh": pair.zh.replace(_PLACE, place or nowhere.zh),
        }

    texts: dict[str, Any] = {name: put(getattr(entry, name)) for name in _TEXTS}
    return {
        "id": f"{entry.id} {place}" if _PLACE in entry.remedy.en else entry.id,
        "severity": entry.severity,
    } | texts
