"""Reads a response, its body in bounds: an endless one must not fill the memory of who loads."""

from __future__ import annotations

import time
import zlib
from typing import Any

__all__ = ["LONGEST", "BrokenOff", "body_of", "head_of"]

LONGEST = 8 << 20  # bytes of an answer that are read; the rest is counted as unread
_CHUNK = 64 << 10
_SECONDS = 60.0  # of one answer
_MEMBERS = 64  # of a packed answer
_DRIP, _DRIPS, _PAUSE = 64, 8, 0.002  # bytes, reads and seconds of a slow reader


class BrokenOff(Exception):
    """An answer that did not come to its end.

    Attributes:
        data: what of it had arrived.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__("an answer broke off")  # of what it held nothing is told
        self.data = data


def body_of(stream: Any, *, drips: bool) -> tuple[bytes, int]:
    """The body of a geventhttpclient response, and how many bytes of it were left unread.

    Args:
        stream: the response; None where there is none.
        drips: read the beginning slowly.

    Raises:
        BrokenOff: for an answer that does not come to its end.
    """
    if stream is None:
        return b"", 0
    parts: list[bytes] = []
    try:
        rest = _read(stream, parts, drips=drips)
    except Exception:  # the client is foreign code: whatever it raises, the answer broke off
        parts.append(_arrived(stream))
        raise BrokenOff(_plain(b"".join(parts), _packing(stream))[0]) from None
    return (b"".join(parts), rest) if rest else _plain(b"".join(parts), _packing(stream))


def _read(stream: Any, parts: list[bytes], *, drips: bool) -> int:
    """Read into `parts`, and return how much is left of what is too long."""
    size, ends = 0, time.monotonic() + _SECONDS
    while part := stream.read(_DRIP if drips and len(parts) < _DRIPS else _CHUNK):
        parts.append(bytes(part))
        size += len(part)
        if size > LONGEST:
            length = str(stream.get("content-length"))
            return max(1, int(length) - size) if length.isdecimal() else 1
        if time.monotonic() > ends:
            raise TimeoutError
        if drips:
            time.sleep(_PAUSE)
    return 0


def _arrived(stream: Any) -> bytes:
    """What came before a failure, of which the client has let go of the connection."""
    try:
        return bytes(stream.read())
    except Exception:  # it has nothing more
        return b""


def _packing(stream: Any) -> str:
    return str(stream.get("content-encoding") or "")


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


def _plain(data: bytes, encoding: str) -> tuple[bytes, int]:
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
