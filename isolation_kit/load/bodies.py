"""What stands in a response, its body in bounds: an endless one must not fill the memory of who loads."""

from __future__ import annotations

import zlib
from typing import Any

__all__ = ["LONGEST", "head_of", "plain"]

LONGEST = 8 << 20  # bytes of an answer that are read; the rest is counted as unread
_MEMBERS = 64  # of a packed answer


def head_of(stream: Any) -> bytes:
    """The status line's phrase and every header line of a geventhttpclient response, cookies among them.

    Trailers and interim responses are not among them: `wire` keeps those, for responses of the kit's client.

    Args:
        stream: the response; None where there is none.
    """
    if stream is None:
        return b""
    lines = [f"{name}: {value}" for name, value in stream.headers]
    return "\n".join((stream.status_message or "", *lines)).encode("utf-8", "replace")


def plain(data: bytes, encoding: str) -> tuple[bytes, int]:
    """`data` unpacked, within bounds; what cannot be is unread."""
    if not encoding or encoding == "identity":
        return data, 0
    if encoding not in ("gzip", "deflate"):
        return data, len(data)
    plain, rest = b"", data
    for _ in range(_MEMBERS):  # a packed answer may be of several, one behind the other
        if not rest:
            break
        unpacker = zlib.decompressobj(wbits=47 if encoding == "gzip" else 15)
        try:
            plain += unpacker.decompress(rest, LONGEST + 1 - len(plain))
        except zlib.error:
            return plain or data, len(rest)
        if not unpacker.eof or len(plain) > LONGEST:  # cut off, or too long
            return plain, max(1, len(unpacker.unconsumed_tail))
        rest = unpacker.unused_data
    return plain, len(rest)
