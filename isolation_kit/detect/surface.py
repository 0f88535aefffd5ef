"""Search one view for every needle of a pool: the hot loop of detection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from isolation_kit.canary import TOKEN_LENGTH
from isolation_kit.detect.automaton import Match, Pool
from isolation_kit.detect.forms import Form
from isolation_kit.detect.needles import CODE_BYTES, CODE_RUN, LETTERS, NO_LETTERS, Needle
from isolation_kit.detect.runs import runs_in

__all__ = [
    "MANY",
    "Counts",
    "Sighting",
    "Surface",
    "candidates_of",
    "counts_in",
    "hidden",
    "places_of",
    "plain_and",
    "read",
    "search",
]


Counts = Mapping[str | Match, int]


class Sighting(NamedTuple):
    """A match in a view: the needle's form, place and length, and whether the view was the raw bytes."""

    match: Match
    form: Form
    at: int
    span: int
    raw: bool


class Surface(NamedTuple):
    """Whole tokens spelled plainly, with their places in the folded view, and everything else."""

    plain: dict[str, list[int]]
    others: list[Sighting]


MANY = 256  # from here on a pattern finds them faster than one search after the other
_CODE = b"c" * CODE_RUN
_CODE_MARKS = bytes(99 if byte in CODE_BYTES else 32 for byte in range(256))


def search(data: bytes, text: bytes, pool: Pool) -> Surface:
    """Search all needles.

    Args:
        data: the view as it is.
        text: the same with its escaped line breaks made real.
        pool: the tokens and needles.
    """
    low = text.translate(LETTERS, NO_LETTERS)
    return plain_and(hidden(data, text, low, pool), low, pool)


def hidden(data: bytes, text: bytes, low: bytes, pool: Pool) -> list[Sighting]:
    """All that is not spelled plainly; `low` is `text` folded, see `search` for the others."""
    found: list[Sighting] = []
    sieve = pool.sieve(len(data))
    if sieve is not None and sieve.needles(data, 0)[0] < 0:
        return found
    # Without the letters that are in none of these needles the view is short and searched fast.
    short = low.translate(None, pool.cipher_drops)
    for needle in pool.cipher_needles:
        if needle[0] in short:
            found += read(needle, low, pool)
    marks = low.translate(_CODE_MARKS)
    if _CODE in marks:
        codes = b" ".join([run for _, run in runs_in(low, marks, _CODE)])
        for needle in pool.code_needles:
            if needle[0] in codes:
                found += read(needle, low, pool)
    for needle in pool.case_needles:
        # The literal is in lower case, to be searched in the same view; its reader needs the capitals.
        if needle[0] in low:
            found += read(needle, low, pool, text.translate(None, NO_LETTERS))
    for needle in pool.raw_needles:
        if needle[0] in data:
            found += read(needle, data, pool, raw=True)
    return found


def plain_and(found: list[Sighting], low: bytes, pool: Pool) -> Surface:
    """What a folded view spells plainly, and what else was `found` in it."""
    plain: dict[str, list[int]] = {}
    others: list[Sighting] = []
    candidates = candidates_of(pool.head, low)
    matches = {one: match for one in set(candidates) if (match := pool.match(one)) is not None}
    if not matches:
        return Surface(plain, others + found)
    for at, candidate in zip(places_of(pool.head, low), candidates, strict=True):
        match = matches.get(candidate)
        if match is None:
            continue
        if match.length == TOKEN_LENGTH:
            plain.setdefault(match.token, []).append(at)
        else:
            others.append(Sighting(match, Form.VERBATIM, at, match.length, False))
    return Surface(plain, others + found)


def candidates_of(head: bytes, view: bytes) -> list[bytes]:
    """What may be a token at every place of the prefix."""
    if view.count(head) > MANY:
        return re.findall(b"(?s)(?=(%b.{0,%d}))" % (head, TOKEN_LENGTH - len(head)), view)
    return [view[at : at + TOKEN_LENGTH] for at in places_of(head, view)]


def places_of(head: bytes, view: bytes) -> list[int]:
    """Every place of the prefix."""
    out, at = [], view.find(head)
    while at >= 0:
        out.append(at)
        at = view.find(head, at + 1)
    return out


def read(
    needle: Needle, view: bytes, pool: Pool, source: bytes | None = None, raw: bool = False
) -> list[Sighting]:
    """The matches behind every place of one needle in `view`, read from `source` if that is given."""
    out = []
    literal, form, reader = needle
    at = view.find(literal)
    while at >= 0:
        match = pool.match(reader(view if source is None else source, at))
        if match is not None:
            out.append(Sighting(match, form, at, len(literal), raw))
        at = view.find(literal, at + 1)
    return out


def counts_in(seen: Surface, carried: Counts | None = None) -> Counts:
    """How often each token or fragment was seen, or before, if that was more often."""
    counts: dict[str | Match, int] = {token: len(places) for token, places in seen.plain.items()}
    for item in seen.others:
        counts[item.match] = counts.get(item.match, 0) + 1
    for key, count in (carried or {}).items():
        counts[key] = max(counts.get(key, 0), count)
    return counts
