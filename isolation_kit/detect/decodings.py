"""Un-escape a view: JSON, HTML, percent, quoted-printable, confusable and invisible letters.

Each decoder is a function from bytes to bytes, or to None when its cheap gate says that nothing is escaped.
"""

from __future__ import annotations

import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

from isolation_kit.detect.confusables import CONFUSABLE_LETTERS
from isolation_kit.detect.engine import count
from isolation_kit.detect.forms import Form
from isolation_kit.detect.needles import LETTERS, NO_LETTERS, SEAM

__all__ = [
    "BRANCHES",
    "CHAIN",
    "LOOKALIKES",
    "UNICODE_BRANCHES",
    "Decoder",
    "few_equals",
    "many_equals",
    "near_escapes",
    "strip_breaks",
]

Decoder = Callable[[bytes], bytes | None]

# Any number of backslashes is one escape: JSON in JSON in JSON is undone in one pass. What does not change
# letters (quotes, line breaks) is left alone, for there are many of those. The look-behind starts each run
# of backslashes once.
_JSON = re.compile(
    rb"\\(?<!\\\\)\\*+(?:(u[dD][89abAB][0-9a-fA-F]{2})\\++(u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}|[0-9a-fA-F]{4})"
    rb"|[ux]\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|([0-7]{3})|/)"
)
_JSON_ONE = re.compile(b"(" + re.sub(rb"(?<!\\)\((?!\?)", b"(?:", _JSON.pattern) + b")")
_JSON_RUN = re.compile(rb"(?<!\\)(?:\\u[0-9a-fA-F]{4}){4,}")
_BREAK = re.compile(rb"\\(?<!\\\\)\\*+[nrt\n]")
_PERCENT = re.compile(rb"%(?:u[0-9a-fA-F]{4}|[0-9a-fA-F]{2})")
_PERCENT_RUN = re.compile(rb"(%[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*)")  # a literal first is found faster
# The next parameter of a URL is no entity: a name needs its semicolon, but for those that are common without.
_ENTITY = re.compile(rb"&(?:#[0-9xX]|[a-zA-Z][a-zA-Z0-9]{1,31};|amp|AMP|nbsp|shy|quot|lt|gt)")
_QUOTED = re.compile(rb"=(?:[0-9a-fA-F]{2}|\r?\n)")
_REFERENCE = re.compile(rb"(&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\x0c <&#;]{1,128};?))")
_SHORT = 32
# Three escapes so close together are no accident.
_DENSE_QUOTED = re.compile(rb"=[0-9a-fA-F]{2}(?:[^=]{0,9}=[0-9a-fA-F]{2}){2}")
_MANY = 16  # equals signs that are judged one by one
_REACH = 24  # bytes before an escape that may be separators
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
_SELECTORS = re.compile(rb"(?:\xef\xb8[\x80-\x8f]|\xf3\xa0[\x84-\x87][\x80-\xbf]){12,}")
_LEAST_SELECTORS = 12
_BACKSLASH = re.compile(rb"\\[uUx/0-7]")
# Each escape with a literal that settles most texts at the speed of memchr.
_GATES = (
    (b"\\", _BACKSLASH),
    (b"&", _ENTITY),
    (b"%", _PERCENT),
)
_WHOLE, _NEAR, _STRIDE = 4096, 1024, 512
_FOLDED = {
    **dict.fromkeys(map(chr, range(0x300, 0x370)), ""),
    **{chr(code): letter for code, letter in CONFUSABLE_LETTERS.items()},
}
_LAST = "\uffff"  # character of the first plane
_WIDE = re.compile("[\U00010000-\U0010ffff]")
_TAG = re.compile("[\U000e0020-\U000e007e]+")
_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}


def strip_breaks(data: bytes) -> bytes:
    """Turn escaped line breaks, at any depth of JSON in JSON, into real ones: they hide among letters."""
    return _BREAK.sub(b"\n", data) if b"\\" in data else data


def _replaced(pattern: re.Pattern[bytes], undo: Callable[[bytes], bytes], data: bytes) -> bytes:
    """`data` with every match of the only group of `pattern` undone: three times as fast as `sub`."""
    parts = pattern.split(data)
    parts[1::2] = map(undo, parts[1::2])
    return b"".join(parts)


@lru_cache(maxsize=8192)
def _json_character(escape: bytes) -> bytes:
    match = _JSON.match(escape)
    assert match is not None
    high, low, four, eight, braces, two, octal = match.groups()
    if high:
        code = 0x10000 + (int(high[1:], 16) - 0xD800 << 10) + (int(low[1:], 16) - 0xDC00)
    elif octal:
        code = int(octal, 8)
    else:
        code = int(four or eight or braces or two or b"2f", 16)
    return chr(code).encode("utf-8", "replace") if code <= 0x10FFFF else b"?"


def _json_run(match: re.Match[bytes]) -> bytes:
    codes = bytes.fromhex(match[0].replace(b"\\u", b"").decode())
    return codes.decode("utf-16-be", "surrogatepass").encode("utf-8", "replace")


def json_unescape(data: bytes) -> bytes | None:
    """Undo the backslash escapes of JSON, JavaScript, Python and C, but those of quotes and line breaks."""
    if b"\\" not in data or not _BACKSLASH.search(data):
        return None
    # Whole runs, as of text in another script, are read at once, ten times as fast as one by one.
    runs = _JSON_RUN.sub(_json_run, data) if b"\\u" in data else data
    return _replaced(_JSON_ONE, _json_character, runs)


def html_unescape(data: bytes) -> bytes | None:
    """Undo one level of HTML character references."""
    if b"&" not in data or not _ENTITY.search(data):
        return None
    return _replaced(_REFERENCE, _referred, data)


def _referred(reference: bytes) -> bytes:
    # The same few come again and again; names may be long, and are no names then.
    return _short_reference(reference) if len(reference) <= _SHORT else _reference(reference)


def _reference(reference: bytes) -> bytes:
    text = reference.decode("utf-8", "surrogateescape")
    return html.unescape(text).encode("utf-8", "surrogateescape")


_short_reference = lru_cache(maxsize=8192)(_reference)


def percent_unescape(data: bytes) -> bytes | None:
    """Undo one level of percent-encoding, also in the `%uXXXX` spelling."""
    if b"%" not in data:
        return None
    return _replaced(_PERCENT_RUN, _percent_run, data.replace(b"%u", b"\\u"))


def _percent_run(run: bytes) -> bytes:
    return binascii.unhexlify(run.replace(b"%", b""))


def quoted_unescape(data: bytes) -> bytes | None:
    """Undo quoted-printable."""
    return binascii.a2b_qp(data) if b"=" in data and _QUOTED.search(data) else None


def fold_letters(data: bytes) -> bytes | None:
    """Turn look-alikes of other scripts, full-width and mathematical letters into ASCII."""
    if not any(part.search(data) for part in _lookalike_parts(data)):
        return None
    text = unicodedata.normalize("NFKD", data.decode("utf-8", "replace"))
    if b"\xf0" in data:
        for char in _FOLDED.keys() & _WIDE.findall(text):
            text = text.replace(char, _FOLDED[char])
    parts = _odd_letter().split(text)
    parts[1::2] = map(_FOLDED.__getitem__, parts[1::2])
    return "".join(parts).encode("utf-8", "replace")


@lru_cache(maxsize=1)
def _odd_letter() -> re.Pattern[str]:
    # A class with characters beyond the first plane would be searched a hundred times as slowly.
    return re.compile(f"([{re.escape(''.join(char for char in _FOLDED if char <= _LAST))}])")


def tag_letters(data: bytes) -> bytes | None:
    """Read invisible tag characters (U+E0020 to U+E007E) as the ASCII that they stand for."""
    if b"\xf3\xa0\x80" not in data and b"\xf3\xa0\x81" not in data:
        return None
    text = data.decode("utf-8", "replace")
    return _TAG.sub(lambda run: run[0].translate(_TAGS), text).encode("utf-8", "replace")


def selector_bytes(data: bytes) -> bytes | None:
    """Read the bytes that variation selectors (U+FE00, U+E0100) can smuggle behind one visible character."""
    if data.count(b"\xef\xb8") + data.count(b"\xf3\xa0") < _LEAST_SELECTORS:
        return None
    out = bytearray()
    for run in _SELECTORS.findall(data):
        codes = map(ord, run.decode("utf-8", "ignore"))
        out += bytes(code - 0xFE00 if code <= 0xFE0F else code - 0xE0100 + 16 for code in codes)
    return bytes(out) or None


def near_escapes(data: bytes, head: bytes, loose: bool) -> bytes | None:
    """The parts of `data` that lie near anything escaped, or None: only they can change when it is undone.

    Args:
        data: one view.
        head: the four characters that every token starts with.
        loose: whether the view spells `head` anywhere outside a whole token.
    """
    patterns = [pattern for gate, pattern in _GATES if gate in data]
    if not data.isascii():
        patterns += _lookalike_parts(data)
    if len(data) <= _WHOLE:
        for pattern in patterns:
            if pattern.search(data):
                return data
        return data if b"=" in data and any(True for _ in _quoted_spots(data, head, loose)) else None
    spots = [spot for pattern in patterns for spot in _spots(pattern, data)]
    if b"=" in data:
        spots += _quoted_spots(data, head, loose)
    return _slices(data, sorted(spots)) if spots else None


def _spots(pattern: re.Pattern[bytes], data: bytes) -> Iterator[int]:
    # What follows closely lies near this one anyway.
    match = pattern.search(data)
    while match:
        yield match.start()
        match = pattern.search(data, match.start() + _STRIDE)


def _lookalike_parts(data: bytes) -> list[re.Pattern[bytes]]:
    # A pattern that starts with its only first byte is searched at the speed of memchr.
    return [_LOOKALIKES[lead] for lead in set(data.translate(None, _PLAIN_BYTES))]


def _quoted_spots(data: bytes, head: bytes, loose: bool) -> Iterator[int]:
    """The places of quoted-printable escapes, without those that only look so, such as `id=41`.

    A token that is not spelled from its head on has an escape inside its head, or is escaped densely.
    """
    if loose or many_equals(data):
        yield from _spots(_QUOTED, data)
        return
    telling = (b"=\n", b"=\r", b"=3d", b"=" + head[:1].hex().encode(), b"=" + head[:1].upper().hex().encode())
    match = _QUOTED.search(data)
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
        match = _QUOTED.search(data, spot + 1)


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


CHAIN: tuple[tuple[Form, Decoder], ...] = (
    (Form.JSON, json_unescape),
    (Form.HTML, html_unescape),
    (Form.PERCENT, percent_unescape),
)
"""Decoders that only touch unmistakable escapes: each works on the result of the one before."""

BRANCHES: tuple[tuple[Form, Decoder], ...] = ((Form.QUOTED, quoted_unescape),)
"""Decoders that may also change innocent text: their results are looked at and not decoded further."""

UNICODE_BRANCHES: tuple[tuple[Form, Decoder], ...] = (
    (Form.CONFUSABLE, fold_letters),
    (Form.TAGS, tag_letters),
    (Form.SELECTORS, selector_bytes),
)
"""The same for views that are not plain ASCII."""
