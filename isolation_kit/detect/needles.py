"""What each encoding makes of a run's prefix, and how to read the candidate behind such a needle.

A needle is searched in one of three views: *folded* (only ASCII letters and digits, lower case; the reader
of a *case* needle gets the same with its case kept), *run* (one long run of encoded text, lower case) and
*raw* (the bytes as they came). A reader gets the view and the needle's place and returns lower-case text
from the prefix on.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

from isolation_kit.canary import TOKEN_LENGTH
from isolation_kit.detect.forms import Form

__all__ = [
    "BASE85",
    "CODE_BYTES",
    "CODE_RUN",
    "LETTERS",
    "NO_LETTERS",
    "SEAM",
    "Needle",
    "aligned_needles",
    "case_needles",
    "cipher_needles",
    "code_needles",
    "decode85",
    "raw_needles",
    "run_needles",
]

Reader = Callable[[bytes, int], bytes]


class Needle(NamedTuple):
    """A literal that stands for the prefix in one encoding."""

    literal: bytes
    form: Form
    read: Reader


# A folded view is `data.translate(LETTERS, NO_LETTERS)`.
NO_LETTERS = bytes(byte for byte in range(256) if not chr(byte).isascii() or not chr(byte).isalnum())
LETTERS = bytes(range(256)).lower()
SEAM = b" i i "  # no token holds this letter, so nothing is glued together across a seam
_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_ROT13 = bytes.maketrans(_LOWER, _LOWER[13:] + _LOWER[:13])
_ATBASH = bytes.maketrans(_LOWER, _LOWER[::-1])
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BASE32 = b"abcdefghijklmnopqrstuvwxyz234567"
_BASE32_HEX = b"0123456789abcdefghijklmnopqrstuv"
_DIGITS = b"0123456789"
_LETTERS = _DIGITS + _LOWER.upper() + _LOWER
BASE85: dict[str, bytes] = {
    "a85": bytes(range(33, 118)),
    "b85": _LETTERS + b"!#$%&()*+-;<=>?@^_`{|}~",
    "z85": _DIGITS + _LOWER + _LOWER.upper() + b".-:+=^!/*?&<>()[]{}@%$#",
}
# Hexadecimal, decimal, octal and binary digits, `0x`, `0o`, `U+`, `chr` and `char`: at least two for each of
# the twelve
# characters that make a fragment.
CODE_BYTES = b"0123456789abcdefxhrou"
CODE_RUN = 24
_HEX_PAIRS = re.compile(rb"(?:[0-9a-f]{2})+")
_BITS = re.compile(rb"(?:[01]{8})+")
_NUMBERS = re.compile(rb"1[0-9]{2}|[2-9][0-9]")
_OCTALS = re.compile(rb"1[0-7]{2}|[4-7][0-7]")


def cipher_needles(prefix: bytes) -> tuple[Needle, ...]:
    """Needles for letters that are swapped or turned round."""
    return (
        Needle(prefix[::-1], Form.REVERSED, _reversed),
        Needle(prefix.translate(_ROT13), Form.ROT13, partial(_shifted, _ROT13)),
        Needle(prefix.translate(_ATBASH), Form.ATBASH, partial(_shifted, _ATBASH)),
    )


def code_needles(prefix: bytes) -> tuple[Needle, ...]:
    """Needles for lists of character codes; only `CODE_RUN` `CODE_BYTES` in a row can hold a token."""
    upper = prefix.upper()
    return (
        Needle(prefix.hex().encode(), Form.HEX, _hex),
        Needle(upper.hex().encode(), Form.HEX, _hex),
        Needle(_listed(prefix, "0x{:02x}"), Form.HEX, _hex_list),
        Needle(_listed(prefix, "{:d}"), Form.CODES, partial(_codes, _NUMBERS, 10)),
        Needle(_listed(upper, "{:d}"), Form.CODES, partial(_codes, _NUMBERS, 10)),
        Needle(_listed(prefix, "chr{:d}"), Form.CODES, partial(_calls, b"chr")),
        Needle(_listed(prefix, "char{:d}"), Form.CODES, partial(_calls, b"char")),
        Needle(_listed(prefix, "{:o}"), Form.OCTAL, partial(_codes, _OCTALS, 8)),
        Needle(_listed(prefix, "{:08b}"), Form.BINARY, _binary),
        Needle(_listed(prefix, "0b{:08b}"), Form.BINARY, partial(_without, b"0b", _binary)),
        Needle(_listed(prefix, "{:07b}"), Form.BINARY, _binary7),
        Needle(_listed(prefix, "0b{:07b}"), Form.BINARY, partial(_without, b"0b", _binary7)),
        Needle(_listed(prefix, "0o{:o}"), Form.OCTAL, partial(_without, b"0o", _octal)),
        Needle(_listed(prefix, "{:03o}"), Form.OCTAL, partial(_wide, 8)),
        Needle(_listed(prefix, "0{:o}"), Form.OCTAL, _zero_octal),
        Needle(_listed(prefix, "{:03d}"), Form.CODES, partial(_wide, 10)),
        Needle(_listed(prefix, "chr0x{:02x}"), Form.CODES, partial(_without, b"chr0x", _hex)),
        Needle(_listed(prefix, "u{:04x}"), Form.CODES, partial(_without, b"u00", _hex)),
    )


def case_needles(prefix: bytes) -> tuple[Needle, ...]:
    """Base64 at its three alignments; none of its characters is one on which the alphabets disagree."""
    needles = (_aligned(prefix, Form.BASE64, shift, 6, _BASE64) for shift in range(3))
    return tuple(needle._replace(literal=needle.literal.lower()) for needle in needles)


def run_needles(prefix: bytes) -> tuple[Needle, ...]:
    """Base32 in both alphabets of RFC 4648 at its five alignments."""
    return tuple(
        needle
        for alphabet in (_BASE32, _BASE32_HEX)
        for needle in aligned_needles(prefix, Form.BASE32, 5, alphabet)
    )


def aligned_needles(prefix: bytes, form: Form, bits: int, alphabet: bytes) -> tuple[Needle, ...]:
    """Needles of an alphabet of `bits` bits a character, at each of its alignments."""
    return tuple(_aligned(prefix, form, shift, bits, alphabet) for shift in range({5: 5, 6: 3}[bits]))


def raw_needles(prefix: bytes) -> tuple[Needle, ...]:
    """The three base85 alphabets at the first of their alignments, also as they stand in a JSON string."""
    out = []
    for alphabet in BASE85.values():
        literal = _encode85(prefix, alphabet)
        quoted = literal.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        out += [Needle(text, Form.BASE85, partial(_base85, alphabet)) for text in {literal: 0, quoted: 0}]
    return tuple(out)


def decode85(text: bytes, alphabet: bytes) -> bytes:
    """Decode base85 as far as it goes; an invalid group ends it."""
    foreign = text.translate(None, alphabet)
    if foreign:  # only the groups before the first character of no alphabet count
        end = min(map(text.find, set(foreign)))
        text = text[: end // 5 * 5]
    missing = -len(text) % 5
    values = (text + alphabet[-1:] * missing).translate(_values85(alphabet))
    numbers = [
        (((one * 85 + two) * 85 + three) * 85 + four) * 85 + five
        for one, two, three, four, five in zip(*(values[start::5] for start in range(5)), strict=True)
    ]
    over = next((at for at, number in enumerate(numbers) if number >> 32), len(numbers))
    out = struct.pack(f">{over}I", *numbers[:over])
    return out[: len(out) - missing] if missing and over == len(numbers) else out


@lru_cache(maxsize=8)
def _values85(alphabet: bytes) -> bytes:
    return bytes(max(0, alphabet.find(byte)) for byte in range(256))


def _listed(prefix: bytes, pattern: str) -> bytes:
    return "".join(pattern.format(char) for char in prefix).encode()


def _reversed(view: bytes, at: int) -> bytes:
    return view[max(0, at + 4 - TOKEN_LENGTH) : at + 4][::-1]


def _shifted(table: bytes, view: bytes, at: int) -> bytes:
    return view[at : at + TOKEN_LENGTH].translate(table)


def _hex(view: bytes, at: int) -> bytes:
    match = _HEX_PAIRS.match(view, at, at + 2 * TOKEN_LENGTH)
    return bytes.fromhex(match[0].decode()).lower() if match else b""


def _hex_list(view: bytes, at: int) -> bytes:
    return _hex(view[at : at + 4 * TOKEN_LENGTH].replace(b"0x", b""), 0)


def _codes(pattern: re.Pattern[bytes], base: int, view: bytes, at: int) -> bytes:
    # Codes of letters start with 1 and have three digits, the others have two: no separator is needed.
    out = bytearray()
    while len(out) < TOKEN_LENGTH and (match := pattern.match(view, at)):
        out.append(min(int(match[0], base), 255))
        at = match.end()
    return bytes(out).lower()


def _calls(name: bytes, view: bytes, at: int) -> bytes:
    return _codes(_NUMBERS, 10, view[at : at + 8 * TOKEN_LENGTH].replace(name, b""), 0)


def _binary(view: bytes, at: int) -> bytes:
    match = _BITS.match(view, at, at + 8 * TOKEN_LENGTH)
    return int(match[0], 2).to_bytes(len(match[0]) // 8, "big").lower() if match else b""


def _binary7(view: bytes, at: int) -> bytes:
    digits = view[at : at + 7 * TOKEN_LENGTH]
    return _numbers([digits[start : start + 7] for start in range(0, len(digits), 7)], 2)


def _wide(base: int, view: bytes, at: int) -> bytes:
    digits = view[at : at + 3 * TOKEN_LENGTH]
    return _numbers([digits[start : start + 3] for start in range(0, len(digits), 3)], base)


def _octal(view: bytes, at: int) -> bytes:
    return _codes(_OCTALS, 8, view, at)


def _zero_octal(view: bytes, at: int) -> bytes:
    return _numbers(re.findall(rb"0(1[0-7]{2}|[4-7][0-7])", view[at : at + 4 * TOKEN_LENGTH]), 8)


def _without(mark: bytes, read: Reader, view: bytes, at: int) -> bytes:
    return read(view[at : at + 12 * TOKEN_LENGTH].replace(mark, b""), 0)


def _numbers(texts: list[bytes], base: int) -> bytes:
    out = bytearray()
    for text in texts:
        try:
            out.append(min(int(text, base), 255))
        except ValueError:
            break
    return bytes(out).lower()


def _encode85(data: bytes, alphabet: bytes) -> bytes:
    number = int.from_bytes(data, "big")
    return bytes(alphabet[number // 85**power % 85] for power in (4, 3, 2, 1, 0))


def _base85(alphabet: bytes, view: bytes, at: int) -> bytes:
    text = view[at : at + 50]
    if b"\\" in text:
        text = text.replace(b'\\"', b'"').replace(b"\\\\", b"\\")
    return decode85(text[:25], alphabet).lower()


def _aligned(prefix: bytes, form: Form, shift: int, bits: int, alphabet: bytes) -> Needle:
    """The needle of a `prefix` that begins `shift` bytes into a group, at `bits` bits a character."""
    start, end = -(-8 * shift // bits), (8 * (shift + len(prefix))) // bits
    number = int.from_bytes(prefix, "big")
    total = 8 * (shift + len(prefix))
    literal = bytes(
        alphabet[number >> (total - (index + 1) * bits) & ((1 << bits) - 1)] for index in range(start, end)
    )
    first = 8 * shift // bits
    values = {char: value for value, char in enumerate(alphabet)}
    return Needle(
        literal, form, partial(_read_aligned, values, bits, start - first, 8 * shift - first * bits)
    )


def _read_aligned(values: dict[int, int], bits: int, back: int, lead: int, view: bytes, at: int) -> bytes:
    """Undo the encoding from the character that holds the token's first bit, `lead` bits into it."""
    if at < back:
        return b""
    number = count = 0
    for char in view[at - back : at - back - (-(lead + 8 * TOKEN_LENGTH) // bits)]:
        value = values.get(char)
        if value is None:
            break
        number = number << bits | value
        count += bits
    length = (count - lead) // 8
    if length <= 0:
        return b""
    number = number >> (count - lead - 8 * length) & ((1 << 8 * length) - 1)
    return number.to_bytes(length, "big").lower()
