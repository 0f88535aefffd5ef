"""What a target cannot keep equal, left out by typed JSON paths: `messages[*].id: string`, `prompt: uuid`.

A number, or a word without spaces, is left out whole; within a text only its uuids and times are. A text is
never left out whole: that would hide what is looked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from isolation_kit.oracles.names import shown_name

__all__ = ["embedded", "masks_for", "parsed", "under", "without"]

_WORD = 128  # characters of a word that may be left out whole
_WITHIN = {
    "uuid": re.compile(r"\b[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\b"),
    "time": re.compile(
        r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
        r"|\b\d\d:\d\d:\d\d(?:\.\d+)?\b"
        r"|(?<![\d.])1[6-9]\d{8}(?:\d{3}){0,3}(?:\.\d+)?(?!\d)"
    ),
}


def without(data: bytes, masks: frozenset[str]) -> bytes:
    """The data of an event without the values that `masks` name."""
    value = parsed(data)
    if value is None:
        return data
    return json.dumps(_without(value, "", masks), separators=(",", ":")).encode()


def _without(value: Any, path: str, masks: frozenset[str]) -> Any:
    value = embedded(value)
    if isinstance(value, dict):
        return {key: _without(item, under(path, key), masks) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(item, f"{path}[*]", masks) for item in value]
    if isinstance(value, str):
        value = _without_within(value, [name for name in _WITHIN if f"{path}: {name}" in masks])
    return "<masked>" if f"{path}: {_type(value)}" in masks and _maskable(value) else value


def _without_within(text: str, names: Collection[str]) -> str:
    """The text with each uuid or time in it replaced by what it is."""
    for name in names:
        text = _WITHIN[name].sub(f"<{name}>", text)
    return text


def masks_for(path: str, old: Any, new: Any) -> tuple[str, ...]:
    """The narrowest masks under which two values are equal; none where that would hide a text."""
    if isinstance(old, str) and isinstance(new, str):
        for names in (("uuid",), ("time",), ("uuid", "time")):
            if _without_within(old, names) == _without_within(new, names):
                return tuple(f"{path}: {name}" for name in names)
    fits = _type(old) == _type(new) and _maskable(old) and _maskable(new)
    return (f"{path}: {_type(old)}",) if fits else ()


def _maskable(value: Any) -> bool:
    if isinstance(value, str):
        return " " not in value and len(value) <= _WORD
    return isinstance(value, int | float) and not isinstance(value, bool)


def under(path: str, key: str) -> str:
    """The path of what stands under `key`, as it may be shown: the target chose its keys."""
    name = shown_name(key, ())
    return f"{path}.{name}" if path else name


def parsed(data: bytes) -> Any:
    """The value of JSON bytes, or None."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def embedded(value: Any) -> Any:
    """JSON in a string is read: a tool's reply in a message is a value like any other."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        inner = parsed(value.encode("utf-8", "surrogatepass"))
        return value if inner is None else inner
    return value


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    names = {str: "string", dict: "object", list: "array", type(None): "null"}
    return names.get(type(value), "string")
