"""In how many cases runs were compared: the oracle that sees what leaves no token is sampled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isolation_kit.finding import Mode
from isolation_kit.report.words import count_words

__all__ = ["compared", "counted_in", "parrots", "quiet", "sampling_sentence"]

_COMPARING = "noninterference"
_SEES = "Hashes, ciphers and order were looked for"

Items = Sequence[Mapping[str, Any]]


def compared(items: Items) -> int:
    """Cases in which the comparing oracle concluded."""
    return sum(row["n"] for item in items for row in item["oracles"] if row["oracle"] == _COMPARING)


def quiet(items: Items) -> int:
    """Cases without parrots."""
    return sum(item["cases_by_mode"].get(str(Mode.STRUCTURAL), 0) for item in items)


def parrots(items: Items) -> int:
    """Cases whose models copied all that they saw into all that they said."""
    return sum(item["cases_by_mode"].get(str(Mode.EXPOSURE), 0) for item in items)


def counted_in(items: Items) -> str:
    """Why two shares have different denominators; "" if they have not."""
    loud = parrots(items)
    if not loud:
        return ""
    return (
        f"Leaks are counted in the {count_words(quiet(items), 'case')} without parrots, exposures in the "
        f"{count_words(loud, 'parrot case')}."
    )


def sampling_sentence(items: Items, profiles: Iterable[str]) -> list[str]:
    """The sampling of the run with its true counts; nothing where no case ran."""
    cases = sum(item["cases"] for item in items)
    if not cases:
        return []
    told = f"{_SEES} in {compared(items):,} of {count_words(cases, 'case')}"
    if set(profiles) == {"deep"}:
        return [f"{told}: the others have parrots, plant no secret, or cannot be run twice."]
    return [f"{told}; --isolation-profile deep looks in all that can be compared."]
