"""Un-escape a view: JSON, HTML, percent, quoted-printable, confusable and invisible letters.

Each decoder is a function from bytes to bytes, or to None when its cheap gate says that nothing is escaped.
"""

from __future__ import annotations

import binascii
import html
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from isolation_kit.detect.confusables import CONFUSABLE_LETTERS
from isolation_kit.detect.escapes import BACKSLASH, ENTITY, QUOTED, lookalike_parts
from isolation_kit.detect.forms import Form

__all__ = [
    "BRANCHES",
    "CHAIN",
    "UNICODE_BRANCHES",
    "Decoder",
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
_JSON_RUN = re.compile(rb"\\(?<!\\\\)u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4}){3,}")
_BREAK = re.compile(rb"\\(?<!\\\\)\\*+[nrt\n]")
_PERCENT_RUN = re.compile(rb"(%[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*)")  # a literal first is found faster
_REFERENCE = re.compile(rb"(&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\x0c <&#;]{1,128};?))")
_SHORT = 32
_SELECTORS = re.compile(rb"(?:\xef\xb8[\x80-\x8f]|\xf3\xa0[\x84-\x87][\x80-\xbf]){12,}")
_LEAST_SELECTORS = 12
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
    escapes = parts[1::2]
    undone = {escape: undo(escape) for escape in set(escapes)}  # the same few come again and again
    parts[1::2] = map(undone.__getitem__, escapes)
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
    if b"\\" not in data or not BACKSLASH.search(data):
        return None
    # Whole runs, as of text in another script, are read at once, ten times as fast as one by one.
    runs = _JSON_RUN.sub(_json_run, data) if b"\\u" in data else data
    return _replaced(_JSON_ONE, _json_character, runs)


def html_unescape(data: bytes) -> bytes | None:
    """Undo one level of HTML character references."""
    if b"&" not in data or not ENTITY.search(data):
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
    return binascii.a2b_qp(data) if b"=" in data and QUOTED.search(data) else None


def fold_letters(data: bytes) -> bytes | None:
    """Turn look-alikes of other scripts, full-width and mathematical letters into ASCII."""
    if not any(part.search(data) for part in lookalike_parts(data)):
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
