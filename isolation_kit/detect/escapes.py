"""Tell where a view has anything escaped at all, so that only what lies near is un-escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from isolation_kit.detect.engine import count
from isolation_kit.detect.needles import LETTERS, NO_LETTERS, SEAM

__all__ = [
    "BACKSLASH",
    "ENTITY",
    "LOOKALIKES",
    "QUOTED",
    "few_equals",
    "lookalike_parts",
    "many_equals",
    "near_escapes",
]

_PERCENT = re.compile(rb"%(?:u[0-9a-fA-F]{4}|[0-9a-fA-F]{2})")
# The next parameter of a URL is no entity: a name needs its semicolon, but for those that are common without.
ENTITY = re.compile(rb"&(?:#[0-9xX]|[a-zA-Z][a-zA-Z0-9]{1,31};|amp|AMP|nbsp|shy|quot|lt|gt)")
QUOTED = re.compile(rb"=(?:[0-9a-fA-F]{2}|\r?\n)")
# Three escapes so close together are no accident.
_DENSE_QUOTED = re.compile(rb"=[0-9a-fA-F]{2}(?:[^=]{0,9}=[0-9a-fA-F]{2}){2}")
_MANY = 16  # equals signs that are judged one by one
_REACH = 24  # bytes before an escape that may be separators
BACKSLASH = re.compile(rb"\\[uUx/0-7]")
# Each escape with a literal that settles most texts at the speed of memchr.
_GATES = (
    (b"\\", BACKSLASH),
    (b"&", ENTITY),
    (b"%", _PERCENT),
)
_WHOLE, _NEAR, _STRIDE = 4096, 1024, 512
# The UTF-8 of scripts and blocks that hold look-alikes of ASCII letters and digits. CJK text has none, but
# its full-width punctuation lies beside some.
_LOOKALIKE_BLOCKS = {
    0xC2: rb"[\xaa\xb2\xb3\xb9\xba\xbc-\xbe]",
    0xE0: rb"(?:[\xa5\xa7\xa9\xab\xaf][\xa6-\xaf]|[\xb9\xbb][\x90-\x99])",
    0xE2: rb"(?:[\x81\x82\x84\x85\x91-\x93\xa0\xb1-\xb3]|\x88\xa8)",
    0xE3: rb"[\x88-\x8f]",
    0xEA: rb"[\x9c-\xad]",
    0xEF: rb"(?:\xac[\x80-\x86]|\xbc[\x90-\x99\xa1-\xba]|\xbd[\x81-\x9a]|\xb8[\x80-\x8f]\xef\xb8)",
    0xF0: rb"(?:\x9d|\x9f[\x84\x85\x87\xaf])",
    **dict.fromkeys((*range(0xC3, 0xD7), 0xE1, 0xF3), b""),
}
_LOOKALIKES = {lead: re.compile(b"\\x%02x" % lead + block) for lead, block in _LOOKALIKE_BLOCKS.items()}
LOOKALIKES = "|".join(pattern.pattern.decode("latin-1") for pattern in _LOOKALIKES.values())
"""The pattern of all bytes that may be look-alikes, read as Latin-1."""
# ASCII, the inner bytes of characters, and most of CJK.
_PLAIN_BYTES = bytes(byte for byte in range(256) if byte not in _LOOKALIKE_BLOCKS)


def near_escapes(data: bytes, head: bytes, loose: bool) -> bytes | None:
    """The parts of `data` that lie near anything escaped, or None: only they can change when it is undone.

    Args:
        data: one view.
        head: the four characters that every token starts with.
        loose: whether the view spells `head` anywhere outside a whole token.
    """
    patterns = [pattern for gate, pattern in _GATES if gate in data]
    if not data.isascii():
        patterns += lookalike_parts(data)
    if len(data) <= _WHOLE:
        for pattern in patterns:
            if pattern.search(data):
                return data
        return data if b"=" in data and any(True for _ in _quoted_spots(data, head, loose)) else None
    spots: list[int] = []
    for pattern in patterns:
        found = list(_spots(pattern, data))
        if _everywhere(found, len(data)):
            return data
        spots += found
    if b"=" in data:
        spots += _quoted_spots(data, head, loose)
    return _slices(data, sorted(spots)) if spots else None


def _spots(pattern: re.Pattern[bytes], data: bytes) -> Iterator[int]:
    # What follows closely lies near this one anyway.
    match = pattern.search(data)
    while match:
        yield match.start()
        match = pattern.search(data, match.start() + _STRIDE)


def _everywhere(spots: list[int], size: int) -> bool:
    """Whether all of a view lies near these places."""
    if not spots or spots[0] > _NEAR or size - spots[-1] > _NEAR or len(spots) * 2 * _NEAR < size:
        return False
    return all(after - before <= 2 * _NEAR for before, after in pairwise(spots))


def lookalike_parts(data: bytes) -> list[re.Pattern[bytes]]:
    # A pattern that starts with its only first byte is searched at the speed of memchr.
    return [_LOOKALIKES[lead] for lead in set(data.translate(None, _PLAIN_BYTES))]


def _quoted_spots(data: bytes, head: bytes, loose: bool) -> Iterator[int]:
    """The places of quoted-printable escapes, without those that only look so, such as `id=41`.

    A token that is not spelled from its head on has an escape inside its head, or is escaped densely.
    """
    if loose or many_equals(data):
        yield from _spots(QUOTED, data)
        return
    telling = (b"=\n", b"=\r", b"=3d", b"=" + head[:1].hex().encode(), b"=" + head[:1].upper().hex().encode())
    match = QUOTED.search(data)
    while match:
        spot = match.start()
        before = data[max(0, spot - _REACH) : spot].translate(LETTERS, NO_LETTERS)[-1:]
        if (
            (before and before in head[:-1])
            or match[0].lower().startswith(telling)
            or _DENSE_QUOTED.match(data, spot)
        ):
            yield spot
            spot += _STRIDE
        match = QUOTED.search(data, spot + 1)


def many_equals(data: bytes) -> bool:
    """Whether there are so many equals signs that they are not judged one by one."""
    return count(data, b"=") > _MANY + len(data) // 64


def few_equals(data: bytes) -> bool:
    """Whether there are so few equals signs that any part of `data` has few of them."""
    return count(data, b"=") <= _MANY


def _slices(data: bytes, spots: list[int]) -> bytes:
    out, start, end = [], max(0, spots[0] - _NEAR), spots[0] + _NEAR
    for spot in spots:
        if spot - _NEAR > end:
            out.append(data[start:end])
            start = spot - _NEAR
        end = spot + _NEAR
    return SEAM.join((*out, data[start:end]))
