"""Take the frame off small events, so that what comes piece by piece can be joined field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

__all__ = ["FRAME", "framed"]

FRAME = 2048
"""Largest event in bytes that is read as a chunk."""

Field = tuple[str, bytes]
_MOST_FIELDS = 32
_WORDS = re.compile(rb"[0-9A-Za-z]+")


def framed(data: bytes) -> list[Field]:
    """The fields of one event of at most `FRAME` bytes as (name, value), in its order.

    The fields of JSON are its strings and numbers by their path; those of another line are its words by their
    number from the left, among lines of equally many words. Server-sent events are read line by line.
    """
    out: list[Field] = []
    for line in data.splitlines():
        text = line.removeprefix(b"data:").strip()
        if text[:1] in (b"{", b"["):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                continue
            out += _leaves(value, "")
        if len(out) > _MOST_FIELDS:
            return out[:_MOST_FIELDS]
    return out or _words(data)


def _leaves(value: object, path: str) -> Iterator[Field]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{path}/{name}")
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, f"{path}/")
    elif isinstance(value, str):
        yield path, value.encode("utf-8", "replace")
    elif isinstance(value, int):
        yield path, str(value).encode() if abs(value) < 10**20 else b""


def _words(data: bytes) -> list[Field]:
    words = _WORDS.findall(data)
    if not 1 < len(words) <= _MOST_FIELDS:
        return []
    return [(f"{len(words)}.{number}", word) for number, word in enumerate(words)]
