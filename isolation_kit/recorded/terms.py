"""Terms: the words, numbers and names by which a text is known again."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from isolation_kit.canary.common import COMMON_HAN, COMMON_WORDS

__all__ = ["Terms", "found_in", "terms_of"]

_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[^\W_{_HAN}]+")
_UNSPACED = re.compile(f"[{_HAN}]{{2,}}")
_SHORTEST = 4
_SHORTEST_WITH_DIGIT = 3
_GLUED = 8  # letters that two neighbouring words do not spell by chance
_CODED = 6
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ROT13 = str.maketrans(_LETTERS, _LETTERS[13:] + _LETTERS[:13])

Terms = dict[str, str]  # folded -> as it was written


def terms_of(text: str) -> Terms:
    """The terms of a text, without those that everybody uses.

    Words of four letters or more, words with a digit from three characters on, and pairs of neighbouring
    characters where a script has no spaces.
    """
    out: Terms = {}
    plain = unicodedata.normalize("NFKC", text)
    for word in _WORD.findall(plain):
        folded = word.casefold()
        least = _SHORTEST if folded.isalpha() else _SHORTEST_WITH_DIGIT
        if len(folded) >= least and folded not in COMMON_WORDS:
            out.setdefault(folded, word)
    for run in _UNSPACED.findall(plain):
        for start in range(len(run) - 1):
            pair = run[start : start + 2]
            if COMMON_HAN.isdisjoint(pair):
                out.setdefault(pair, pair)
    return out


@dataclass(frozen=True, slots=True)
class _Coded:
    """What a term looks like in forms that a decoder of whole texts leaves alone, for it stands by itself."""

    squashed: tuple[tuple[str, str], ...] = field(default_factory=tuple)
    verbatim: tuple[tuple[str, str], ...] = field(default_factory=tuple)


def _coded(folded: str, written: str) -> _Coded:
    glued = len(folded) >= _GLUED or _UNSPACED.match(folded)
    squashed: list[tuple[str, str]] = [("separated", folded)] if glued else []
    verbatim: list[tuple[str, str]] = []
    if len(folded) >= _CODED:
        if folded != folded[::-1]:
            squashed.append(("reversed", folded[::-1]))
        if folded.isascii() and not folded.isdigit():
            squashed.append(("rot13", folded.translate(_ROT13)))
        for text in dict.fromkeys((written, folded)):
            data = text.encode()
            squashed.append(("hex", data.hex()))
            verbatim += [("base64", coded) for coded in _aligned(data)]
    return _Coded(tuple(squashed), tuple(verbatim))


def _aligned(data: bytes) -> Iterator[str]:
    """The characters of base64 that `data` alone decides, at each of the three alignments."""
    for shift in range(3):
        bits = shift * 8
        coded = b64encode(b"\0" * shift + data).decode()
        yield coded[-(-bits // 6) : (bits + len(data) * 8) // 6]


def found_in(view: str, wanted: Terms) -> Iterator[tuple[str, str]]:
    """(term, form) of every wanted term in one view of a text."""
    own = terms_of(view)
    plain = unicodedata.normalize("NFKC", view).casefold()
    squashed = "".join(filter(str.isalnum, plain))
    for folded, written in wanted.items():
        if folded in own:
            yield folded, "verbatim"
            continue
        coded = _coded(folded, written)
        form = _first(coded.squashed, squashed) or _first(coded.verbatim, view)
        if form:
            yield folded, form


def _first(needles: Iterable[tuple[str, str]], text: str) -> str:
    return next((form for form, needle in needles if needle in text), "")
