"""Canonical JSON, marked cuts and keyed digests: the three ways in which this runtime handles text."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import blake2b

__all__ = ["Digest", "canonical", "cut", "encodable", "keyed_digest"]

Digest = Callable[[bytes], str]

canonical: Callable[[object], str] = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
).encode


def keyed_digest(key: bytes) -> Digest:
    """A digest that only the holder of `key` can compare: a plain hash of a short value can be guessed."""

    def digest(data: bytes) -> str:
        return blake2b(data, key=key, digest_size=8).hexdigest()

    return digest


def cut(text: str, limit: int) -> str:
    """`text` in at most `limit` characters; a cut text ends in `…[cut N]`, N being the characters removed.

    Where even the mark has no room, the mark is all that is left.
    """
    if len(text) <= limit:
        return text
    kept = limit - len(_mark(len(text)))
    while kept > 0 and kept + len(_mark(len(text) - kept)) > limit:
        kept -= 1
    kept = max(kept, 0)
    return text[:kept] + _mark(len(text) - kept)


def _mark(removed: int) -> str:
    return f"…[cut {removed}]"


def encodable(text: str) -> bool:
    """True if `text` is valid UTF-8 when encoded: a lone surrogate is not."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
