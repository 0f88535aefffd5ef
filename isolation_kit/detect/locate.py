"""Where a match lies in the original bytes, and what its rendering there is called."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from isolation_kit.detect.automaton import Match
from isolation_kit.detect.decodings import strip_breaks
from isolation_kit.detect.forms import Form, Tier
from isolation_kit.detect.needles import NO_LETTERS
from isolation_kit.detect.surface import Sighting

__all__ = ["Offsets", "locate", "locate_plain"]


_CHUNK = 1024
# Enough to name the forms; a text that repeats one token ten thousand times must not cost ten thousand times.
_MOST_PLACES = 8
_LEAD = {Form.PERCENT: 1, Form.QUOTED: 1, Form.HTML: 2}


class Offsets:
    """Maps places in the folded view of some bytes back to offsets in those bytes."""

    __slots__ = ("_counts", "_data", "_starts")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts, self._counts = [0], [0]
        while (start := self._starts[-1]) < len(data):
            end = min(start + _CHUNK, len(data))
            while end < len(data) and data[end - 1] == 92:  # never cut an escape in two
                end += 1
            self._counts.append(self._counts[-1] + _letters(data[start:end]))
            self._starts.append(end)

    def __call__(self, letter: int) -> int:
        """The offset of the ASCII letter or digit number `letter`."""
        chunk = min(bisect_right(self._counts, letter) - 1, len(self._starts) - 2)
        letter -= self._counts[chunk]
        start, end = self._starts[chunk], self._starts[chunk + 1]
        low, high = start, end - 1
        while low < high:
            middle = (low + high) // 2
            if _letters(self._data[start : middle + 1]) > letter:
                high = middle
            else:
                low = middle + 1
        return low


def locate_plain(
    data: bytes, offsets: Offsets, token: str, places: list[int]
) -> Iterator[tuple[Match, Form, int]]:
    """Give the plainly spelled sightings of a token their forms and their offsets in `data`."""
    match = Match(token, len(token), Tier.CONFIRMED)
    for at in places[:_MOST_PLACES]:
        yield match, *_spelling(data, offsets, at, token.encode())


def locate(data: bytes, offsets: Offsets, seen: list[Sighting]) -> Iterator[tuple[Match, Form, int]]:
    """Give all other sightings their forms and their offsets in `data`."""
    done: Counter[tuple[Match, Form]] = Counter()
    for item in seen:
        done[item.match, item.form] += 1
        if done[item.match, item.form] > _MOST_PLACES:
            continue
        if item.raw:
            yield item.match, item.form, item.at
        elif item.form is Form.VERBATIM:
            spelled = item.match.token[: item.match.length].encode()
            yield item.match, *_spelling(data, offsets, item.at, spelled)
        else:
            # A reversed token ends with its needle.
            first = max(0, item.at + item.span - item.match.length) if item.form is Form.REVERSED else item.at
            start = offsets(first)
            part = data[max(0, start - 2) : offsets(item.at + item.span - 1) + 1]
            form = _encoded_form(item.form, part)
            yield item.match, form, max(0, start - _LEAD.get(form, 0))


def _spelling(data: bytes, offsets: Offsets, letter: int, spelled: bytes) -> tuple[Form, int]:
    start = offsets(letter)
    return _plain_form(data[start : offsets(letter + len(spelled) - 1) + 1], spelled), start


def _letters(data: bytes) -> int:
    return len(strip_breaks(data).translate(None, NO_LETTERS))


def _plain_form(part: bytes, spelled: bytes) -> Form:
    if part == spelled:
        return Form.VERBATIM
    if part.lower() == spelled:
        return Form.CASE
    if b"\0" in part:
        return Form.UTF16
    return Form.SEPARATED if part.isascii() else Form.ZERO_WIDTH


def _encoded_form(form: Form, part: bytes) -> Form:
    if form is Form.HEX and b"%" in part:
        return Form.PERCENT
    if form is Form.HEX and b"=" in part[2:]:
        return Form.QUOTED
    if form is Form.CODES and b"&#" in part:
        return Form.HTML
    if form is Form.CODES and b"\\u" in part:
        return Form.JSON
    return form
