"""What text in an encoding looks like from outside, as patterns for the sieve, read as Latin-1.

They match too much rather than too little: `blobs` decodes what they let through.
"""

from __future__ import annotations

from collections.abc import Iterable

from isolation_kit.detect.blobs import BASE64_DIGESTS, DYNAMIC, FIXED, LEAST_DYNAMIC
from isolation_kit.detect.sieve import BREAKS, MIN_RUN

__all__ = ["run_patterns"]

_BASE64_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ANY = r"[A-Za-z0-9+/_\-]"
_NONE = r"(?:^|$|[^A-Za-z0-9+/_\-]|\\[nrt])"
_UNIT = r"(?:[A-Za-z0-9!#$%&()*+\-;<=>?@^_`{|}~/\r\n]|\\[nrt])"
_COMMON = r"(?:[A-Za-z0-9+\-_/=\r\n]|\\[nrt])"
_OUTSIDE = r"[^A-Za-z0-9!#$%&()*+\-;<=>?@^_`{|}~/\r\n]"
_RARE = r"[!#$%&()*;<>?@^`{|}~]"
_GROUPS = 5  # of four characters: 15 bytes, which the 20 of a token always hold
# Two bytes in a row of UTF-8, each as 0: ASCII, 1: the inside of a character, 2: the start of one.
_AFTER = frozenset({(0, 0), (0, 2), (2, 1), (1, 1), (1, 0), (1, 2)})
_LONG_MAGIC = (b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ")
_SHORT_MAGIC = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")


def run_patterns() -> tuple[list[str], ...]:
    """What a stretch holds that may be encoded or a digest, in groups that need few states together."""
    half = MIN_RUN // 2
    base85 = (
        f"(?:^|{_OUTSIDE}){_COMMON}{{0,{half - 1}}}{_RARE}{_UNIT}{{{half}}}",
        f"{_COMMON}{{{half}}}{_RARE}",
        # Without any punctuation, text whose first sixteen characters are ASCII.
        f"(?:^|{_OUTSIDE}|[\\r\\n]|\\\\[nrt])[A-Za-e](?:[A-Za-z0-9+=_\\-]{{4}}[A-Za-e]){{3}}",
    )
    hexed, base32 = f"[0-9a-fA-F](?:{BREAKS}[0-9a-fA-F-]){{23}}", f"[A-Z2-7](?:{BREAKS}[A-Z2-7]){{31}}"
    deflated = (
        f"{_NONE}(?:{_first_byte(starts)})(?:{BREAKS}{_ANY}){{{size - 2}}}"
        for starts, size in ((FIXED, 24), (DYNAMIC, LEAST_DYNAMIC))
    )
    digests = (f"{_NONE}{_ANY}{{{size}}}{_NONE}" for size in sorted(BASE64_DIGESTS) if size >= 24)
    wrapped = (
        f"{_NONE}{_ANY}{{{size}}}(?:[\\r\\n]|\\\\[nr])+{_ANY}{{{86 - size}}}{_NONE}" for size in (64, 76)
    )
    magic = [_in_base64(magic, shift) for magic in _LONG_MAGIC for shift in range(3)]
    magic += [_in_base64(magic, 0) for magic in _SHORT_MAGIC]
    return [_text_in_base64()], [*base85, hexed, base32], [*deflated, *digests, *wrapped], magic


def _class(values: Iterable[int]) -> str:
    chars = "".join(_BASE64_LETTERS[value] for value in values)
    return "[" + chars.replace("+", r"+\-").replace("/", "/_") + "]"


def _text_in_base64() -> str:
    """Groups of four characters whose three bytes may stand in a row in UTF-8."""
    kinds = (0, 1, 2)
    firsts = {kind: [value for value in range(64) if _kind(value >> 4) == kind] for kind in kinds}
    seconds = {kind: [value for value in range(64) if _kind(value >> 2 & 3) == kind] for kind in kinds}
    thirds = {kind: [value for value in range(64) if _kind(value & 3) == kind] for kind in kinds}
    pairs = [
        BREAKS.join(
            (
                _class(firsts[one]),
                _class(seconds[two]),
                _class(value for three in kinds if (two, three) in _AFTER for value in thirds[three]),
            )
        )
        for one in kinds
        for two in kinds
        if (one, two) in _AFTER
    ]
    group = f"(?:{'|'.join(pairs)}){BREAKS}{_ANY}"
    return f"{group}(?:{BREAKS}{group}){{{_GROUPS - 1}}}"


def _kind(top: int) -> int:
    return max(0, top - 1)  # the two highest bits of a byte: 00, 01 | 10 | 11


def _in_base64(data: bytes, shift: int) -> str:
    """The pattern of `data` in base64, `shift` bytes into a group."""
    bits = "?" * (8 * shift % 6) + "".join(f"{byte:08b}" for byte in data)
    bits += "?" * (-len(bits) % 6)
    return BREAKS.join(
        _class(
            value
            for value in range(64)
            if all(one in ("?", two) for one, two in zip(bits[at : at + 6], f"{value:06b}", strict=True))
        )
        for at in range(0, len(bits), 6)
    )


def _first_byte(values: frozenset[int]) -> str:
    """The first two characters of base64 that starts with any of these bytes."""
    return "|".join(
        _class(sorted(value >> 2 for value in values if value & 3 == low))
        + BREAKS
        + _class(range(16 * low, 16 * low + 16))
        for low in range(4)
        if any(value & 3 == low for value in values)
    )
