"""How a run's prefix looks in the encodings that services use most: literals to search for in each answer."""

from __future__ import annotations

import codecs
from base64 import b64encode
from collections.abc import Iterator

from isolation_kit.detect.unfold import unfold

__all__ = ["encoded", "readings"]


def encoded(prefix: bytes) -> tuple[bytes, ...]:
    """What must stand in any text that holds an encoded token: each is searched for as it is.

    Base64 depends on how many bytes stand before; characters that mix neighbouring bytes are left out.
    """
    text = prefix.decode()
    hexed = prefix.hex()
    escapes = (
        "\\u00{:02x}",
        "\\u00{:02X}",
        "%{:02x}",
        "%{:02X}",
        "&#{};",
        "&#x{:x};",
        "\\x{:02x}",
        "={:02X}",
    )
    return (
        *(_base64(prefix, before) for before in range(3)),
        hexed.encode(),
        hexed.upper().encode(),
        text.upper().encode(),
        prefix[::-1],
        codecs.encode(text, "rot13").encode(),
        b"\0".join(prefix[at : at + 1] for at in range(len(prefix))),  # UTF-16
        *("".join(map(escape.format, prefix)).encode() for escape in escapes),
    )


def readings(data: bytes) -> Iterator[tuple[str, bytes]]:
    """What `data` says in other renderings, with their names: for tokens of which no list is known."""
    yield "case", data.lower()
    yield "reversed", data[::-1]
    yield "rot13", codecs.encode(data.decode("latin-1"), "rot13").encode("latin-1")
    for reading in unfold(data):
        if reading.path:
            yield reading.path[-1], reading.data


def _base64(prefix: bytes, before: int) -> bytes:
    whole = b64encode(b"\0" * before + prefix).rstrip(b"=")
    first = -(-before * 8 // 6)
    last = (before + len(prefix)) * 8 // 6
    return whole[first:last]
