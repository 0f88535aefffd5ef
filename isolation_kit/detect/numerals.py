"""Texts written as codes: hex pairs with separators; digits in hex, decimal or base64, too short for blobs.

The codes of the ten digits are so few that a run of nine of them is found by its shape alone.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from isolation_kit.detect.forms import Form

__all__ = ["numerals"]

# Hex digits of "0" to "9" are 30 to 39, in pairs; the groups of three digits in base64 are MDAw to OTk5.
_HEX = re.compile(rb"(?:(?:0x|\\+x)?3[0-9][^0-9A-Za-z\\]{0,3}){9,64}")
_SPACED = re.compile(rb"[0-9a-fA-F]{2}(?:[ :,-][0-9a-fA-F]{2}){19,}")
_NO_HEX = bytes(byte for byte in range(256) if byte not in b"0123456789abcdefABCDEF")
_CODES = re.compile(rb"(?:(?:4[89]|5[0-7])[^0-9A-Za-z]{1,4}){8,64}(?:4[89]|5[0-7])")
_BASE64 = re.compile(rb"(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){3}")
_BEFORE = re.compile(rb"[A-Za-z0-9+/_-]{0,64}\Z")
_AFTER = re.compile(rb"[A-Za-z0-9+/_-]{0,128}")
_HEX_PAIR = re.compile(rb"3[0-9]")
_CODE = re.compile(rb"[45][0-9]")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def numerals(data: bytes) -> Iterator[tuple[Form, int, bytes]]:
    """Runs of such codes in `data`: their form, their offset, and what they say."""
    for match in _SPACED.finditer(data):
        yield Form.HEX, match.start(), binascii.unhexlify(match[0].translate(None, _NO_HEX))
    for match in _HEX.finditer(data):
        yield Form.HEX, match.start(), bytes(int(pair, 16) for pair in _HEX_PAIR.findall(match[0]))
    for match in _CODES.finditer(data):
        yield Form.CODES, match.start(), bytes(map(int, _CODE.findall(match[0])))
    end = 0
    for match in _BASE64.finditer(data):
        if match.start() < end:
            continue
        before = _BEFORE.search(data, max(0, match.start() - 64), match.start())
        start = match.start() - (len(before[0]) & ~3 if before else 0)
        after = _AFTER.match(data, start)
        end = after.end() if after else match.end()
        yield Form.BASE64, start, _base64(data[start:end])


def _base64(text: bytes) -> bytes:
    text = text.translate(_URL_SAFE)
    text = text[:-1] if len(text) % 4 == 1 else text
    return binascii.a2b_base64(text + b"=" * (-len(text) % 4))
