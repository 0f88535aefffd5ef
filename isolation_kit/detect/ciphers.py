"""Seldom readings of one long run: shifted letters, unusual alphabets, one number in another base.

A run that was seen before costs a dictionary entry: identifiers come again and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from isolation_kit.canary import TOKEN_LENGTH
from isolation_kit.detect.forms import Form
from isolation_kit.detect.needles import Needle, aligned_needles, case_needles, code_needles, run_needles
from isolation_kit.detect.sieve import BREAKS, spread

__all__ = ["LEET", "LONGEST", "Reading", "reading_patterns", "readings_of"]

_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_DIGITS = b"0123456789"
_UPPER = _LOWER.upper()
_PRINTED = bytes(range(33, 127))
_ROT47 = bytes.maketrans(_PRINTED, _PRINTED[47:] + _PRINTED[:47])
_ROT13 = bytes.maketrans(_LOWER + _UPPER, _LOWER[13:] + _LOWER[:13] + _UPPER[13:] + _UPPER[:13])
_KINDS = bytes(97 if 97 <= byte < 123 else 48 if 48 <= byte < 58 else byte for byte in range(256))
_HEX = re.compile(rb"[0-9a-fA-F]{24}")
_SHORTEST_CODE = 24  # what fourteen characters are at least, in base32 or base64
_BASE32 = (b"0123456789abcdefghjkmnpqrstvwxyz", b"ybndrfg8ejkmcpqxot1uwisza345h769")  # Crockford's, z-base-32
LEET = bytes.maketrans(b"aestgbzoil", b"4357982011")
"""Letters to the digits that they are written as."""
LONGEST = 160
"""The longest run that is read in these ways: a longer one is no single word."""
_WORD = re.compile(rb"[0-9A-Za-z]{27,49}")
# 20 bytes that begin with a letter are this long as one number in these bases.
_NUMBERS: dict[int, tuple[tuple[Form, bytes], ...]] = {
    27: ((Form.BASE62, _DIGITS + _UPPER + _LOWER), (Form.BASE62, _DIGITS + _LOWER + _UPPER)),
    28: ((Form.BASE58, b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"),),
    31: ((Form.BASE36, _DIGITS + _LOWER),),
    48: ((Form.NUMBER, _DIGITS),),
    49: ((Form.NUMBER, _DIGITS),),
}


class Reading(NamedTuple):
    """What a run may say from the prefix on; `written`: how leetspeak writes it, else empty."""

    form: Form
    text: bytes
    written: bytes = b""


@lru_cache(maxsize=8192)
def readings_of(run: bytes, head: bytes) -> tuple[Reading, ...]:
    """All candidates in one run whose prefix is `head`."""
    low, rot47, leet = run.lower(), run.translate(_ROT47).lower(), run.lower().translate(LEET)
    out: list[Reading] = []
    out += _shifted(low, head)
    if len(run) >= _SHORTEST_CODE:
        out += (*_turned(run, head), *_numbers(run, head), *_based(low, head))
    out += [Reading(Form.ROT47, rot47[at : at + TOKEN_LENGTH]) for at in _places(rot47, head)]
    if b"+A" in run:
        text = run.decode("utf-7", "ignore").lower().encode("ascii", "ignore")
        out += [Reading(Form.UTF7, text[at : at + TOKEN_LENGTH]) for at in _places(text, head)]
    spots = [slice(at, at + TOKEN_LENGTH) for at in _places(leet, head.translate(LEET))]
    return (*out, *(Reading(Form.LEET, leet[spot], low[spot]) for spot in spots))


def reading_patterns(head: bytes) -> list[str]:
    """What a run holds, its line breaks included, if any reading of it can be a candidate."""
    base64, hexed = _base64_needles(head), _hex_needles(head)
    shifted = "|".join(spread(literal, BREAKS) for literal in _tables(head))
    literals = [
        *(needle.literal for needle in (*run_needles(head), *_needles(head))),
        *(needle.literal[::-1] for needle in (*base64, *hexed)),
        *(needle.literal.translate(_ROT13) for needle in base64),
    ]
    spelled = [spread(literal, BREAKS) for literal in dict.fromkeys(literals)]
    rot47 = BREAKS.join(
        _written_as(char, lambda byte: bytes([byte]).translate(_ROT47).lower()) for char in head
    )
    # Four letters are often part of a word, so these ask for as many behind them as a fragment has.
    caesar = f"(?:{shifted})(?:{BREAKS}[0-9A-Za-z]){{8}}"
    return [caesar, *spelled, rot47, *_leet_patterns(head), *sorted(_number_patterns(head)), r"\+A"]


def _written_as(char: int, says: Callable[[int], bytes]) -> str:
    """The class of all printed characters that say `char`."""
    return "[" + "".join(f"\\x{byte:02x}" for byte in _PRINTED if says(byte) == bytes([char])) + "]"


def _leet_patterns(head: bytes) -> list[str]:
    """The prefix with at least one letter and digit swapped; as it stands it is found anyway."""
    plain = [_written_as(char, lambda byte: bytes([byte]).lower()) for char in head]
    either = [
        _written_as(char, lambda byte: bytes([byte]).lower().translate(LEET)) for char in head.translate(LEET)
    ]
    out = []
    for at, char in enumerate(head):
        others = [
            byte
            for byte in _LOWER + _DIGITS
            if byte != char and bytes([byte]).translate(LEET) == bytes([char]).translate(LEET)
        ]
        if others:
            swapped = "[" + bytes(others).decode() + bytes(others).decode().upper() + "]"
            out.append(BREAKS.join((*plain[:at], swapped, *either[at + 1 :])))
    return out


def _number_patterns(head: bytes) -> set[str]:
    """The first digits of all numbers that a text of 20 bytes can be which begins with `head`."""
    out: set[str] = set()
    rest = 8 * (TOKEN_LENGTH - len(head))
    for cases in product(*({char, char - 32} if char > 57 else {char} for char in head)):
        low = int.from_bytes(bytes(cases), "big") << rest
        for length, bases in _NUMBERS.items():
            for form, alphabet in bases:
                count = 6 if form is Form.NUMBER else 4
                unit = len(alphabet) ** (length - count)
                for first in range(low // unit, (low + (1 << rest) - 1) // unit + 1):
                    start = _digits(first, alphabet, count)
                    out.add(spread(start, BREAKS) if form is Form.BASE36 else BREAKS.join(start.decode()))
    return out


def _digits(number: int, alphabet: bytes, count: int) -> bytes:
    base = len(alphabet)
    return bytes(alphabet[number // base**power % base] for power in reversed(range(count)))


@lru_cache(maxsize=16)
def _tables(head: bytes) -> dict[bytes, bytes]:
    """What each shift makes of the prefix, and the table that undoes it."""
    out = {}
    for letters in range(26):
        for digits in (0, 5):
            if (letters, digits) in ((0, 0), (13, 0)):
                continue
            shown = _LOWER[letters:] + _LOWER[:letters] + _DIGITS[digits:] + _DIGITS[:digits]
            table = bytes.maketrans(_LOWER + _DIGITS, shown)
            out[head.translate(table)] = bytes.maketrans(shown, _LOWER + _DIGITS)
    return out


@lru_cache(maxsize=16)
def _needles(head: bytes) -> tuple[Needle, ...]:
    return tuple(needle for alphabet in _BASE32 for needle in aligned_needles(head, Form.BASE32, 5, alphabet))


def _based(low: bytes, head: bytes) -> Iterator[Reading]:
    for literal, form, reader in _needles(head):
        if literal in low:
            for at in _places(low, literal):
                yield Reading(form, reader(low, at))


def _shifted(low: bytes, head: bytes) -> Iterator[Reading]:
    tables, kinds = _tables(head), low.translate(_KINDS)
    for at in _places(kinds, head.translate(_KINDS)):
        table = tables.get(low[at : at + len(head)])
        if table is not None:
            yield Reading(Form.CAESAR, low[at : at + TOKEN_LENGTH].translate(table))


def _turned(run: bytes, head: bytes) -> Iterator[Reading]:
    """Base64 and hex that were turned round, and base64 whose letters were turned by 13."""
    views = [] if run.islower() else [(run[::-1], Form.REVERSED), (run.translate(_ROT13), Form.ROT13)]
    for view, form in views:
        low = view.lower()
        for literal, _, reader in _base64_needles(head):
            for at in _places(low, literal):
                yield Reading(form, reader(view, at))
    if _HEX.search(run):
        low = run[::-1].lower()
        for literal, _, reader in _hex_needles(head):
            for at in _places(low, literal):
                yield Reading(Form.REVERSED, reader(low, at))


@lru_cache(maxsize=16)
def _base64_needles(head: bytes) -> tuple[Needle, ...]:
    return case_needles(head)


@lru_cache(maxsize=16)
def _hex_needles(head: bytes) -> tuple[Needle, ...]:
    return tuple(needle for needle in code_needles(head)[:2])


def _numbers(run: bytes, head: bytes) -> Iterator[Reading]:
    for word in _WORD.findall(run):
        for form, alphabet in _NUMBERS.get(len(word), ()):
            text = _as_bytes(word.lower() if form is Form.BASE36 else word, alphabet)
            if text.lower().startswith(head):
                yield Reading(form, text.lower())


def _as_bytes(word: bytes, alphabet: bytes) -> bytes:
    number = 0
    for char in word:
        value = alphabet.find(char)
        if value < 0:
            return b""
        number = number * len(alphabet) + value
    return number.to_bytes(TOKEN_LENGTH, "big") if number >> 8 * TOKEN_LENGTH == 0 else b""


def _places(view: bytes, literal: bytes) -> Iterator[int]:
    at = view.find(literal)
    while at >= 0:
        yield at
        at = view.find(literal, at + 1)
