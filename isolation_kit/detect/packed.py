"""Unpack what is compressed: gzip, zlib, bzip2 and xz, told by their magic numbers, anywhere in a view."""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from isolation_kit.detect.forms import Form

__all__ = ["Blob", "holds_packed", "is_text", "may_be_packed", "packed_at", "unpack"]

_MAGIC = re.compile(rb"\x1f\x8b\x08|x[\x01\x5e\x9c\xda]|BZh[1-9]1AY|\xfd7zXZ\0")
_LATER_MAGIC = re.compile(rb"\x1f\x8b\x08|BZh[1-9]1AY|\xfd7zXZ\0")
_LATER_STARTS = (b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0")
_TRIED = 256  # bytes that are unpacked to see whether the rest is worth it


class Blob(NamedTuple):
    """One decoded blob: its form, its bytes, and how many bytes were left unread."""

    form: str
    data: bytes
    unread: int = 0


def packed_at(data: bytes) -> Iterator[int]:
    """Where a compressed stream may begin."""
    return iter(()) if is_text(data) else (match.start() for match in _MAGIC.finditer(data))


def is_text(data: bytes) -> bool:
    """Whether these bytes are ASCII or UTF-8, which no compressed stream is."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def unpack(data: bytes | memoryview, limit: int) -> Blob | None:
    """Decompress gzip, zlib, bzip2 or xz by their magic numbers, at most `limit` bytes."""
    magic = bytes(data[:8])
    if magic.startswith(b"\x1f\x8b\x08"):
        return _inflate(Form.GZIP, data, 31, limit)
    if magic[:1] == b"x" and len(magic) == 8 and (magic[0] * 256 + magic[1]) % 31 == 0:
        return _inflate(Form.ZLIB, data, 15, limit)
    if magic.startswith(b"BZh"):
        return _decompress(Form.BZIP2, bz2.BZ2Decompressor(), data, limit)
    if magic.startswith(b"\xfd7zXZ\0"):
        return _decompress(Form.XZ, lzma.LZMADecompressor(memlimit=64 << 20), data, limit)
    return None


def may_be_packed(data: bytes) -> bool:
    """Whether a compressed stream may begin right here."""
    return _MAGIC.match(data) is not None


def holds_packed(data: bytes) -> bool:
    """Whether a stream with a magic number of three bytes or more lies in binary data."""
    return any(start in data for start in _LATER_STARTS) and _LATER_MAGIC.search(data) is not None


def _inflate(form: Form, data: bytes | memoryview, bits: int, limit: int) -> Blob | None:
    # zlib keeps a copy of the input that it did not use: try a little before it is given everything.
    if _decompress(form, zlib.decompressobj(bits), data[:_TRIED], limit, partial=True) is None:
        return None
    return _decompress(form, zlib.decompressobj(bits), data, limit)


def _decompress(
    form: Form, unpacker: object, data: bytes | memoryview, limit: int, partial: bool = False
) -> Blob | None:
    decompress = unpacker.decompress  # type: ignore[attr-defined]
    try:
        out: bytes = decompress(data, limit)
    except (zlib.error, OSError, EOFError, ValueError, lzma.LZMAError):
        return None
    if not out and not partial:
        return None
    more = not unpacker.eof and len(out) >= limit  # type: ignore[attr-defined]
    return Blob(form, out, 1 if more else 0)
