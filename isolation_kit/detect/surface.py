"""Search one view for every needle of a pool: the hot loop of detection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from isolation_kit.canary import TOKEN_LENGTH
from isolation_kit.detect.automaton import Match, Pool
from isolation_kit.detect.blobs import MIN_RUN, runs_in
from isolation_kit.detect.forms import Form
from isolation_kit.detect.needles import CODE_BYTES, CODE_RUN, LETTERS, NO_LETTERS, Needle

__all__ = ["Counts", "Sighting", "Surface", "counts_in", "hidden", "is_token", "plain_and", "read", "search"]


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
    tokens = pool.tokens
    strangers: set[bytes] = set()
    at = low.find(pool.head)
    while at >= 0:
        candidate = low[at : at + TOKEN_LENGTH]
        token = tokens.get(candidate)
        if token is not None:
            plain.setdefault(token, []).append(at)
        elif candidate not in strangers:
            match = pool.match(candidate)
            if match is None:
                strangers.add(candidate)
            else:
                others.append(Sighting(match, Form.VERBATIM, at, match.length, False))
        at = low.find(pool.head, at + 1)
    return Surface(plain, others + found)


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


def is_token(run: bytes, pool: Pool) -> bool:
    """Whether a long run is a whole token, with too little around it to encode anything."""
    at = run.find(pool.head)
    little = 0 <= at < MIN_RUN > len(run) - at - TOKEN_LENGTH
    return little and run[at : at + TOKEN_LENGTH] in pool.tokens


def counts_in(seen: Surface, carried: Counts | None = None) -> Counts:
    """How often each token or fragment was seen, or before, if that was more often."""
    counts: dict[str | Match, int] = {token: len(places) for token, places in seen.plain.items()}
    for item in seen.others:
        counts[item.match] = counts.get(item.match, 0) + 1
    for key, count in (carried or {}).items():
        counts[key] = max(counts.get(key, 0), count)
    return counts
