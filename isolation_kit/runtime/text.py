"""Canonical JSON, marked cuts and keyed digests: the three ways in which this runtime handles text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import blake2b

__all__ = ["Digest", "canonical", "cut", "encodable", "keyed_digest", "mark", "parted"]

_MARK = re.compile(r"…\[cut ([1-9][0-9]{0,14})\]\Z")
_LONGEST_MARK = 22

Digest = Callable[[bytes], str]

canonical: Callable[[object], str] = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
).encode


def keyed_digest(key: bytes) -> Digest:
    """A digest that only the holder of `key` can compare: a plain hash of a short value can be guessed."""
    keyed = blake2b(key=key, digest_size=8)  # a copy of it saves the work on the key for each digest

    def digest(data: bytes) -> str:
        one = keyed.copy()
        one.update(data)
        return one.hexdigest()

    return digest


def cut(text: str, limit: int) -> str:
    """`text` in at most `limit` characters; a cut text ends in `…[cut N]`, N being the characters removed.

    Where even the mark has no room, the mark is all that is left. A cut text is not cut again at the same
    limit, and a shorter limit adds up: `cut(cut(t, a), b) == cut(t, b)` for b <= a.
    """
    if len(text) <= limit:
        return text
    body, gone = parted(text)
    kept = max(0, limit - len(mark(len(body) + gone)))
    return body[:kept] + mark(len(body) - kept + gone)


def mark(removed: int) -> str:
    """What stands where `removed` characters were cut off."""
    return f"…[cut {removed}]"


def parted(text: str) -> tuple[str, int]:
    """A text without its mark, and how many characters the mark says are gone (0 without one)."""
    found = _MARK.search(text, max(0, len(text) - _LONGEST_MARK)) if text.endswith("]") else None
    return (text, 0) if found is None else (text[: found.start()], int(found[1]))


def encodable(text: str) -> bool:
    """True if `text` is valid UTF-8 when encoded: a lone surrogate is not."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
