"""Where a match lies in the original bytes, and what its rendering there is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from isolation_kit.detect.automaton import Match
from isolation_kit.detect.decodings import strip_breaks
from isolation_kit.detect.forms import Form

__all__ = ["NO_LETTERS", "Sighting", "locate"]

NO_LETTERS = bytes(byte for byte in range(256) if not chr(byte).isascii() or not chr(byte).isalnum())


class Sighting(NamedTuple):
    """A match in a view: the needle's form, place and length, and whether the view was the raw bytes."""

    match: Match
    form: Form
    at: int
    span: int
    raw: bool


def locate(data: bytes, seen: list[Sighting]) -> Iterator[tuple[Sighting, Form, int]]:
    """Give each sighting its form and its offset in `data`."""
    plain = Counter(item.match for item in seen if item.form is Form.VERBATIM)
    for match, count in plain.items():
        spelled = match.token[: match.length].encode()
        verbatim = data.count(spelled)
        first = next(item for item in seen if item.match == match and item.form is Form.VERBATIM)
        if verbatim:
            yield first, Form.VERBATIM, data.find(spelled)
        if count > verbatim:
            for item in seen:
                if item.match == match and item.form is Form.VERBATIM:
                    start, end = _offset(data, item.at), _offset(data, item.at + match.length - 1) + 1
                    yield item, _plain_form(data[start:end], spelled), start
    for item in seen:
        if item.raw:
            yield item, item.form, item.at
        elif item.form is not Form.VERBATIM:
            start = _offset(data, item.at)
            part = data[max(0, start - 2) : _offset(data, item.at + item.span - 1) + 1]
            yield item, _encoded_form(item.form, part), start


def _offset(data: bytes, letter: int) -> int:
    """The offset in `data` of the ASCII letter or digit number `letter` of its folded view."""
    low, high = 0, len(data)
    while low < high:
        middle = (low + high) // 2
        if len(strip_breaks(data[: middle + 1]).translate(None, NO_LETTERS)) > letter:
            high = middle
        else:
            low = middle + 1
    return low


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
    return form
