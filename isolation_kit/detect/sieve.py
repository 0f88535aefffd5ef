"""Tell what in a text could hold a token at all, so that the rest is not worked through in vain.

Patterns of one prefix, compiled to automata without back-tracking (RE2): what it may look like in a folded
view or in a run, every escape, every seldom layout, and what may be encoded. They say where to look and never
what was found, so they may match too much but must not match too little.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable
from itertools import accumulate
from typing import NamedTuple

from isolation_kit.canary import TOKEN_LENGTH
from isolation_kit.detect.engine import find, translate
from isolation_kit.detect.needles import BASE85, Needle

__all__ = [
    "BREAKS",
    "GAP",
    "MIN_RUN",
    "Search",
    "Sieve",
    "is_token",
    "promising",
    "sieve_of",
    "spread",
    "stretches",
]

MIN_RUN = 20
"""Characters of the shortest run that is decoded."""

Search = Callable[[bytes, int], tuple[int, int]]
"""Gives the start and end of the first match from an offset on, or (-1, -1)."""

GAP = r"(?:[^A-Za-z0-9]|\\[nrt])*"
"""All that a folded view leaves out, escaped line breaks included."""
BREAKS = r"(?:[\r\n]|\\[nrt\n\\])*"
"""What is left out of a run: line breaks, also escaped ones."""
_ESCAPES = (
    r"\\[uUx/0-7]",
    r"&(?:#[0-9xX]|[a-zA-Z][a-zA-Z0-9]{1,31};|amp|AMP|nbsp|shy|quot|lt|gt)",
    r"%(?:u[0-9a-fA-F]{4}|[0-9a-fA-F]{2})",
    r"=(?:3[dD]|\r?\n)",
    r"=[0-9a-fA-F]{2}(?:[^=]{0,9}=[0-9a-fA-F]{2}){2}",
)
_LONG = b"a" * MIN_RUN
_STRETCH = BASE85["b85"] + b"/\r\n\\"
_MARKS = bytes(97 if byte in _STRETCH else 32 for byte in range(256))


class Sieve(NamedTuple):
    """Searches in raw bytes.

    Args:
        needles: any needle but the plain prefix.
        escapes: anything escaped.
        layouts: anything that makes another layout worth a look.
        marks: all of these, and the prefix when it is not in one piece or not in lower case.
        runs: stretches of encoded text or digests, and readings of runs.
    """

    needles: Search
    escapes: Search
    layouts: Search
    marks: Search
    runs: tuple[Search, ...]


def sieve_of(
    head: bytes,
    folded: Iterable[Needle],
    raw: Iterable[Needle],
    escapes: str,
    layouts: Iterable[str],
    runs: Iterable[Iterable[str]],
) -> Sieve | None:
    """Compile the patterns of one prefix, in some milliseconds, or None where RE2 is not there.

    Args:
        head: the prefix of all tokens.
        folded: needles of folded views.
        raw: needles of raw bytes.
        escapes: the pattern of bytes that may be look-alikes, read as Latin-1.
        layouts: patterns of seldom layouts, read as Latin-1.
        runs: patterns of what is in runs, by the pass that searches for them.
    """
    needles = [spread(needle.literal) for needle in folded]
    needles += [re.escape(needle.literal.decode()) for needle in raw]
    laid_out, escaped = list(layouts), [*_ESCAPES, *_quoted(head), escapes]
    marks = [*_odd(head), *needles, *escaped, *laid_out]
    parts = [_compiled("|".join(part)) for part in (needles, escaped, laid_out, marks, *runs)]
    found = [search for search in parts if search is not None]
    if len(found) < len(parts):
        return None
    return Sieve(found[0], found[1], found[2], found[3], tuple(found[4:]))


def stretches(
    data: bytes, head: bytes, tokens: Container[bytes], dull: Container[bytes], seen: set[bytes]
) -> list[tuple[int, bytes]]:
    """The long stretches of encoding characters and line breaks but bare tokens, with their starts.

    Args:
        data: the view.
        head: the prefix of all tokens.
        tokens: the tokens as bytes.
        dull: stretches that are left out.
        seen: the same; what is given or is a bare token is added.
    """
    marks = translate(data, _MARKS) + b" "  # so that every stretch has an end
    out = []
    add = seen.add
    start = find(marks, _LONG)
    while start >= 0:
        end = find(marks, b" ", start + MIN_RUN)
        stretch = data[start:end]
        if stretch not in seen and stretch not in dull:
            add(stretch)
            if stretch not in tokens and not is_token(stretch, head, tokens):
                out.append((start, stretch))
        start = find(marks, _LONG, end)
    return out


def is_token(run: bytes, head: bytes, tokens: Container[bytes]) -> bool:
    """Whether a long run is a whole token, with too little around it to encode anything."""
    at = find(run, head)
    little = 0 <= at < MIN_RUN > len(run) - at - TOKEN_LENGTH
    return little and run[at : at + TOKEN_LENGTH] in tokens


def promising(parts: list[tuple[int, bytes]], sieve: Sieve) -> list[tuple[int, bytes]]:
    """Those of these stretches that may hold something."""
    text = b" ".join([part for _, part in parts])
    starts = list(accumulate((len(part) + 1 for _, part in parts), initial=0))
    found: set[int] = set()
    for search in sieve.runs:
        at, _ = search(text, 0)
        while at >= 0:
            # A match may begin with the character before its stretch.
            number = bisect_right(starts, at + (text[at] == 32)) - 1
            found.add(number)
            at, _ = search(text, starts[number + 1] - 1) if number + 1 < len(parts) else (-1, 0)
    return [parts[number] for number in sorted(found)]


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


def spread(literal: bytes, gap: str = GAP) -> str:
    """The pattern of a lower-case literal in any case of letters, with `gap` between its characters."""
    return gap.join(map(_any_case, literal.decode()))


def _any_case(char: str) -> str:
    return f"[{char}{char.upper()}]" if char.isalpha() else re.escape(char)


def _quoted(head: bytes) -> list[str]:
    """The first character of the prefix, or what follows any but the last, in quoted-printable."""
    behind = "".join(f"{char}{char.upper()}" for char in head[:-1].decode())
    first = "|".join(spread(f"{code:02x}".encode(), "") for code in head[:1] + head[:1].upper())
    return [f"=(?:{first})", f"[{behind}]{GAP}=[0-9a-fA-F]{{2}}"]


def _odd(head: bytes) -> list[str]:
    """The patterns of the prefix when it is not just that."""
    chars = head.decode()
    out = []
    for at in range(1, len(chars)):
        before, after = spread(chars[:at].encode()), spread(chars[at:].encode())
        out.append(f"{before}(?:[^A-Za-z0-9]|\\\\[nrt]){GAP}{after}")
    for at, char in enumerate(chars):
        if char.isalpha():
            before = "".join(map(_any_case, chars[:at]))
            out.append(before + char.upper() + "".join(map(_any_case, chars[at + 1 :])))
    return out
