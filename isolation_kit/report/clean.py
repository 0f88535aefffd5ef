"""Makes text from a hostile system safe to show: no control characters, no canary, no endless names.

Names of targets, agents, tools and fields, reasons and errors come from the system under test. They pass
here once, when a report is built; every face may then rely on it and still escapes for its own format.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from isolation_kit.canary import ALPHABET, PREFIX_LENGTH, TOKEN_LENGTH, Mint, worn_shapes
from isolation_kit.finding import Fingerprint
from isolation_kit.fingerprints import Hits, Key, Tally

__all__ = ["LINE_LENGTH", "NAME_LENGTH", "REASON_LENGTH", "TEXT_LENGTH", "Scrub", "clean", "scrub_tally"]

NAME_LENGTH = 120
REASON_LENGTH = 300
LINE_LENGTH = 400
TEXT_LENGTH = 2000

_MASKED = "‹canary›"
_SHORTEST = 8  # characters of a text in any skin, or of what the prose of a run begins with
_TAIL = 10  # an ellipsis, a tilde and eight hex digits


def clean(text: str, limit: int = NAME_LENGTH) -> str:
    """`text` on one line of printable characters, in at most `limit` characters.

    What is cut leaves a digest, so that two long names stay two names. Cleaning twice changes nothing more.
    """
    if not text.isprintable():
        text = "".join(_shown(char) for char in text)
    if len(text) <= limit:
        return text
    digest = blake2b(text.encode(), digest_size=4).hexdigest()
    return f"{text[: limit - _TAIL]}…~{digest}"


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    if char in "\t\n\r" or unicodedata.category(char) == "Zs":
        return " "
    # ESC becomes the picture of ESC; everything else that cannot be seen becomes the replacement character.
    return chr(0x2400 + ord(char)) if ord(char) < 0x20 else "\ufffd"


class Scrub:
    """`clean` that also masks every canary which the run's seed minted, in any skin, wherever it stands."""

    __slots__ = ("_mint", "_pattern", "_worn")

    def __init__(self, seed: int | None) -> None:
        """Know the canaries of `seed`; None knows none (for documents that were scrubbed before)."""
        self._mint = None if seed is None else Mint(seed)
        body = f"[{ALPHABET}]{{{TOKEN_LENGTH - PREFIX_LENGTH}}}"
        prefix = "" if self._mint is None else self._mint.prefix
        self._worn = None if self._mint is None else worn_shapes(self._mint.marks)
        # A lookahead, so that a false start does not swallow the token behind it.
        self._pattern = re.compile(f"(?=({prefix}{body}))", re.IGNORECASE | re.ASCII)

    def __call__(self, text: str, limit: int = NAME_LENGTH) -> str:
        """`text`, masked and cleaned."""
        if self._worn is not None and len(text) >= _SHORTEST:
            text = self._worn.sub(_MASKED, text)
        if self._mint is not None and len(text) >= TOKEN_LENGTH:
            for match in reversed(list(self._pattern.finditer(text))):
                if self._mint.verify(match[1].lower()):
                    text = text[: match.start()] + _MASKED + text[match.start() + TOKEN_LENGTH :]
        return clean(text, limit)

    def fingerprint(self, given: Fingerprint) -> Fingerprint:
        """The same fingerprint with clean names; its id is the id of the clean names."""
        return Fingerprint(
            self(given.target), self(given.edge), self(given.what), self(given.channel), self(given.direction)
        )


def scrub_tally(tally: Tally, scrub: Scrub) -> Tally:
    """The same counters under clean names; names that become equal are added up."""
    names = ("cases", "verdicts", "oracles", "able", "planted", "channels", "pollution")
    hits: dict[Key, Hits] = {}
    for (fingerprint, kind, mode), given in sorted(tally.hits.items(), key=lambda item: _order(item[0])):
        key = (scrub.fingerprint(fingerprint), kind, mode)
        hits[key] = hits.get(key, Hits()).merge(_scrub_hits(given, scrub))
    counters: dict[str, Any] = {name: _counter(getattr(tally, name), scrub) for name in names}
    counters["reasons"] = _counter(tally.reasons, scrub, REASON_LENGTH)
    return replace(tally, hits=hits, **counters)


def _order(key: Key) -> tuple[str, ...]:
    fingerprint, kind, mode = key
    return (
        *(fingerprint.target, fingerprint.edge, fingerprint.what),
        *(fingerprint.channel, fingerprint.direction, str(kind), str(mode)),
    )


def _scrub_hits(hits: Hits, scrub: Scrub) -> Hits:
    names = ("oracles", "forms", "source_tools", "tiers")
    counters: dict[str, Any] = {name: _counter(getattr(hits, name), scrub) for name in names}
    block, index, case = hits.first
    first = (block, index, scrub(case))
    return replace(hits, allowed_by=scrub(hits.allowed_by, 400), first=first, **counters)


def _counter(counter: Mapping[Any, int], scrub: Scrub, limit: int = NAME_LENGTH) -> Counter[Any]:
    out: Counter[Any] = Counter()
    for key, count in counter.items():
        out[tuple(scrub(part, limit) for part in key) if isinstance(key, tuple) else scrub(key, limit)] += (
            count
        )
    return out
