"""Texts that break a rule of their schema: pattern, format, enum, length. A pattern's `$` is the very end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache
from typing import Any

from isolation_kit.target import Schema

__all__ = ["misfits"]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


def misfits(schema: Schema, value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the texts in `value` that break a rule which `schema` declares for them.

    As deep as the schema goes; what it does not declare is not looked at.
    """
    if isinstance(value, str):
        if path and _breaks(schema, value):
            yield path
    elif isinstance(value, Mapping):
        for key, inner in schema.get("properties", {}).items():
            if key in value and isinstance(inner, Mapping):
                yield from misfits(inner, value[key], (*path, key))
    elif isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, Mapping):
            for item in value:
                yield from misfits(items, item, path)


def _breaks(schema: Schema, text: str) -> bool:
    longest, allowed, pattern = schema.get("maxLength"), schema.get("enum"), schema.get("pattern")
    if isinstance(longest, int) and len(text) > longest:
        return True
    if isinstance(allowed, list | tuple) and text not in allowed:
        return True
    if isinstance(pattern, str) and not _matches(pattern, text):
        return True
    return schema.get("format") == "date" and not _is_date(text)


def _matches(pattern: str, text: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is None or compiled.search(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """In Python `$` also stands before a last newline. A pattern that Python does not read is not judged."""
    if pattern.endswith("$") and not pattern.endswith("\\$"):
        pattern = pattern[:-1] + r"\Z"
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _is_date(text: str) -> bool:
    try:
        return _DATE.match(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False
