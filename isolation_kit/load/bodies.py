"""Reads a response's body in bounds: an endless one must not fill the memory of who loads."""

from __future__ import annotations

import time
import zlib
from typing import Any

__all__ = ["LONGEST", "body_of"]

LONGEST = 8 << 20  # bytes of an answer that are read; the rest is counted as unread
_CHUNK = 64 << 10
_DRIP, _DRIPS, _PAUSE = 64, 8, 0.002  # bytes, reads and seconds of a slow reader


def body_of(stream: Any, *, drips: bool) -> tuple[bytes, int]:
    """The body of a geventhttpclient response, and how many bytes of it were left unread.

    Args:
        stream: the response; None where there is none.
        drips: read the beginning slowly.
    """
    if stream is None:
        return b"", 0
    parts: list[bytes] = []
    size = 0
    while part := stream.read(_DRIP if drips and len(parts) < _DRIPS else _CHUNK):
        parts.append(bytes(part))
        size += len(part)
        if size > LONGEST:
            return b"".join(parts), max(1, int(stream.get("content-length") or 0) - size)
        if drips:
            time.sleep(_PAUSE)
    return _plain(b"".join(parts), stream.get("content-encoding") or "")


def _plain(data: bytes, encoding: str) -> tuple[bytes, int]:
    """`data` unpacked, within bounds; what cannot be is unread."""
    if not encoding or encoding == "identity":
        return data, 0
    if encoding not in ("gzip", "deflate"):
        return data, len(data)
    unpacker = zlib.decompressobj(wbits=47 if encoding == "gzip" else 15)
    try:
        plain = unpacker.decompress(data, LONGEST)
    except zlib.error:
        return data, len(data)
    return plain, len(unpacker.unconsumed_tail)
