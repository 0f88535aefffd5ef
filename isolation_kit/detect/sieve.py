"""One pass that tells whether a text can hold a needle or an escape at all, before it is folded or undone.

Two patterns, compiled once for a pool's prefix to automata without back-tracking (RE2): the needles with
anything that is no letter or digit between their characters, and every escape. They never say what was found,
so they may match too much but must not match too little.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from isolation_kit.detect.needles import Needle

__all__ = ["Search", "Sieve", "sieve_of"]

Search = Callable[[bytes, int], tuple[int, int]]
"""Gives the start and end of the first match from an offset on, or (-1, -1)."""

# All that a folded view leaves out, escaped line breaks included.
_GAP = r"(?:[^A-Za-z0-9]|\\[nrt])*"
_ESCAPES = (
    r"\\[uUx/0-7]",
    r"&(?:#[0-9xX]|[a-zA-Z][a-zA-Z0-9]{1,31};|amp|AMP|nbsp|shy|quot|lt|gt)",
    r"%(?:u[0-9a-fA-F]{4}|[0-9a-fA-F]{2})",
    r"=(?:[0-9a-fA-F]{2}|\r?\n)",
)


class Sieve(NamedTuple):
    """Searches in raw bytes: for any needle but the plain prefix, and for anything escaped."""

    needles: Search
    escapes: Search


def sieve_of(folded: Iterable[Needle], raw: Iterable[Needle], lookalikes: str) -> Sieve | None:
    """Compile the patterns of one prefix, in a few milliseconds, or None where RE2 is not there.

    Args:
        folded: needles of folded views.
        raw: needles of raw bytes.
        lookalikes: the pattern of bytes that may be look-alikes, read as Latin-1.
    """
    literals = [_spread(needle.literal) for needle in folded]
    literals += [re.escape(needle.literal.decode()) for needle in raw]
    needles, escapes = _compiled("|".join(literals)), _compiled("|".join((*_ESCAPES, lookalikes)))
    return None if needles is None or escapes is None else Sieve(needles, escapes)


def _compiled(pattern: str) -> Search | None:
    try:
        from re2 import Options, _re2
    except ImportError:  # no wheel for this platform: every text is worked through
        return None
    options = Options()
    options.encoding = Options.Encoding.LATIN1
    options.never_capture = True
    options.log_errors = False  # it tells when a text needs more states than it may keep, and goes on
    # The wrapper's own `search` makes a generator and an object for every call, which costs as much again.
    match, anywhere = _re2.RE2(pattern.encode("latin-1"), options).Match, _re2.RE2.Anchor.UNANCHORED

    def search(data: bytes, start: int) -> tuple[int, int]:
        found: tuple[int, int] = match(anywhere, data, start, len(data))[0]
        return found

    return search


def _spread(literal: bytes) -> str:
    return _GAP.join(f"[{char}{char.upper()}]" if char.isalpha() else char for char in literal.decode())
