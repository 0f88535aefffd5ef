"""Decode a long run of encoded text: base64, hex, base32, base85, and what is compressed inside it."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from isolation_kit.detect.forms import Form
from isolation_kit.detect.needles import BASE85, decode85
from isolation_kit.detect.packed import Blob, holds_packed, may_be_packed, unpack
from isolation_kit.detect.runs import ENCODED

__all__ = [
    "BASE64_DIGESTS",
    "DYNAMIC",
    "FIXED",
    "LEAST_DYNAMIC",
    "Profile",
    "decodings_of",
    "digests_in",
    "profile",
]

_BASE64_PIECE = re.compile(rb"[A-Za-z0-9+/_-]{24,}")
_HEX_PIECE = re.compile(rb"[0-9a-fA-F][0-9a-fA-F-]{23,}")
_LETTERED = b"a" * 20
_HEX_LONG = b"a" * 24
_HEX_MARKS = bytes(97 if byte in b"0123456789abcdefABCDEF-" else 32 for byte in range(256))
_BASE32_PIECE = re.compile(rb"[A-Z2-7]{32,}")
_BASE32_RUN = re.compile(rb"[a-z0-9]{24,}|[A-Z0-9]{24,}")
# Groups of five whose first byte is ASCII: one text in a hundred has none of the punctuation.
_BASE85_TEXT = re.compile(rb"[A-Za-e](?:[A-Za-z0-9+=_-]{4}[A-Za-e]){3}")
_BASE85_ONLY = re.compile(rb"[!#$%&()*;<>?@^`{|}~]")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_UNPRINTABLE = bytes(byte for byte in range(256) if not (32 <= byte < 127 or byte in b"\0\t\n\r"))
# First bytes of a raw deflate stream: a block with fixed codes and an ASCII character first, or a dynamic
# one, which is never shorter than this in base64.
FIXED = frozenset(
    byte
    for byte in range(256)
    if byte & 6 == 2 and int(f"{byte >> 3:05b}"[::-1], 2) in (6, 7, *range(10, 22))
)
DYNAMIC = frozenset(byte for byte in range(0xF0) if byte & 6 == 4)
LEAST_DYNAMIC = 48
_SHORTEST_TOKEN = 12
_SMALL = 4096
_PROBE = 256  # groups or bytes that are decoded to see whether the rest is worth it
# Lengths in Base64 without padding of digests of 16, 20, 28, 32, 48 and 64 bytes.
BASE64_DIGESTS = frozenset((22, 27, 38, 43, 64, 86))


class Profile(NamedTuple):
    """What one run may be: whether it may spell base32, its possible digests, and what it decodes to.

    `blobs` is None where that is still to be seen, with the limit that the caller sets.
    """

    base32: bool
    digests: tuple[bytes, ...]
    blobs: tuple[Blob, ...] | None


def profile(run: bytes) -> Profile:
    """Judge one run; the same identifiers come again and again, so short runs are remembered."""
    return _short_profile(run) if len(run) <= 128 else _profile(run)


def _profile(run: bytes) -> Profile:
    blobs = tuple(decodings_of(run, _SMALL)) if len(run) <= 128 else None
    if blobs is not None and any(blob.unread or len(blob.data) > _SMALL // 8 for blob in blobs):
        blobs = None  # something packed: nothing large is remembered
    return Profile(_BASE32_RUN.search(run) is not None, tuple(digests_in(run)), blobs)


_short_profile = lru_cache(maxsize=8192)(_profile)


def decodings_of(run: bytes, limit: int) -> Iterator[Blob]:
    """Every plausible reading of one run: readable text, or something packed that `unpack` knows.

    Args:
        run: the encoded characters.
        limit: largest decoded size in bytes.
    """
    for piece in _hex_pieces(run):
        yield from _hex_readings(piece, limit)
    # Words and identifiers: 24 characters of real base64 without a single capital do not happen.
    if not run.islower():
        for piece in _BASE64_PIECE.findall(run):
            blob = _base64_reading(piece, limit)
            yield from _plausible_one(blob)
            if blob is None or not blob.data.isascii():
                yield from _plausible_one(_deflated(piece, limit))
        for piece in _BASE32_PIECE.findall(run):
            yield from _plausible_one(_plausible(Form.BASE32, _base32(piece), limit))
    for name in _names85(run):
        probe = _plausible(Form.BASE85, decode85(run[: _PROBE * 5], BASE85[name]), limit)
        if probe is not None and len(run) > _PROBE * 5:
            probe = _plausible(Form.BASE85, decode85(run, BASE85[name]), limit)
        yield from _plausible_one(probe)


def _names85(run: bytes) -> tuple[str, ...]:
    """The base85 alphabets in which a run may be written: punctuation tells, else how it begins."""
    if _BASE85_ONLY.search(run):
        return ("b85", "z85")
    begins = _BASE85_TEXT.match(run) is not None and decode85(run[:20], BASE85["b85"]).isascii()
    return ("b85",) if begins else ()


def digests_in(run: bytes) -> list[bytes]:
    """The bytes of every digest that one run may spell in hex, as a UUID, or in base64."""
    out = []
    for piece in _hex_pieces(run):
        digits = piece.replace(b"-", b"")
        if 32 <= len(digits) <= 160:
            out.append(binascii.unhexlify(digits[: len(digits) & ~1]))
    if run.islower():
        return out
    pieces = _BASE64_PIECE.findall(run)
    return out + [_base64(piece.translate(_URL_SAFE)) for piece in pieces if len(piece) in BASE64_DIGESTS]


def _hex_pieces(run: bytes) -> list[bytes]:
    # In a long run of letters every one of a to f is tried: its marks tell twenty times as fast.
    if len(run) > _PROBE and _HEX_LONG not in run.translate(_HEX_MARKS):
        return []
    return _HEX_PIECE.findall(run)


def _plausible_one(blob: Blob | None) -> tuple[Blob, ...]:
    return () if blob is None else (blob,)


def _hex_readings(piece: bytes, limit: int) -> Iterator[Blob]:
    digits = piece.replace(b"-", b"")
    if len(digits) < 2 * _SHORTEST_TOKEN:
        return
    for start in (0, 1):
        data = binascii.unhexlify(digits[start : start + (len(digits) - start & ~1)])
        yield from _plausible_one(_plausible(Form.HEX, data, limit))


def _base64_reading(piece: bytes, limit: int) -> Blob | None:
    text = piece.translate(_URL_SAFE) if b"-" in piece or b"_" in piece else piece
    # Letters glued to the front of a blob shift it: the first start that gives something readable is taken.
    for start in (0, 1, 2, 3):
        probe = _base64(text[start : start + _PROBE * 4])
        blob = _plausible(Form.BASE64, probe, limit)
        # A packed stream may give nothing before its end.
        if len(text) - start > _PROBE * 4 and (blob is not None or may_be_packed(probe)):
            blob = _plausible(Form.BASE64, _base64(text[start:]), limit) or blob
        if blob is not None:
            return blob
    # Binary at the front, and something to read behind it.
    data = _base64(text)[:limit] if len(text) > _PROBE * 4 else b""
    return Blob(Form.BASE64, data) if _holds_more(data, len(data)) else None


def _deflated(piece: bytes, limit: int) -> Blob | None:
    """A raw deflate stream, as SAML and web clients send it: it has no magic number, but an end."""
    data = _base64(piece.translate(_URL_SAFE))
    if data[0] not in FIXED and (data[0] not in DYNAMIC or len(piece) < LEAST_DYNAMIC):
        return None
    unpacker = zlib.decompressobj(-15)
    try:
        out = unpacker.decompress(data, limit)
    except zlib.error:
        return None
    if len(out) < _SHORTEST_TOKEN or not (unpacker.eof and out.isascii()):
        return None
    return Blob(f"{Form.BASE64}>{Form.DEFLATE}", out)


def _base64(text: bytes) -> bytes:
    rest = len(text) & 3
    if rest == 1:
        text = text[:-1]
    elif rest:
        text += b"=" * (4 - rest)
    return binascii.a2b_base64(text)


def _base32(text: bytes) -> bytes:
    whole = len(text) & ~7
    tail = {2: 2, 4: 4, 5: 5, 7: 7}.get(len(text) - whole, 0)
    text = text[: whole + tail]
    return base64.b32decode(text + b"=" * (-len(text) % 8))


def _plausible(form: Form, data: bytes, limit: int) -> Blob | None:
    unread = max(0, len(data) - limit)
    data = data[:limit] if unread else data
    if data.isascii():
        return Blob(form, data, unread)
    # Random bytes have 38 % of these; text in other scripts is recognised by its UTF-8 in the first bytes.
    printable = len(data.translate(None, _UNPRINTABLE))
    if printable * 10 >= len(data) * 7 or _begins_as_text(data[:32]):
        return Blob(form, data, unread)
    packed = unpack(data, limit)
    if packed is not None:
        return Blob(f"{form}>{packed.form}", packed.data, unread + packed.unread)
    return Blob(form, data, unread) if _holds_more(data, printable) else None


def _holds_more(data: bytes, printable: int) -> bool:
    """Whether binary data may hold a text or a packed stream later on; random bytes hardly ever do."""
    if printable >= len(_LETTERED) and _LETTERED in data.translate(ENCODED):
        return True
    return holds_packed(data)


def _begins_as_text(data: bytes) -> bool:
    return len(data.decode("utf-8", "ignore").encode()) >= len(data) - 3
