"""The texts of recorded messages, whatever kind of object a framework keeps them in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from isolation_kit.errors import UsageError

__all__ = ["texts"]

_NODES = 200_000
_STRUCTURE = frozenset(
    {
        *("role", "content", "type", "text", "tool_calls", "function", "name", "arguments", "id"),
        *("messages", "input"),
    }
)
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "human", "ai", "text"})


def texts(messages: Any) -> tuple[str, ...]:
    """One text a message: all strings in it, keys of its own included.

    Args:
        messages: a text, one message, a list of messages, or a request body with `messages` or `input`;
            a message is a text, a mapping, a data class, or an object with `model_dump()` or `content`.

    Raises:
        UsageError: for an object of another kind, by its type: what cannot be read must not look clean.
    """
    if isinstance(messages, Mapping):
        inner = messages.get("messages", messages.get("input"))
        if isinstance(inner, list | tuple):
            rest = {key: value for key, value in messages.items() if value is not inner}
            return (*texts(inner), *([_text(rest)] if rest else []))
        return (_text(messages),)
    if isinstance(messages, list | tuple):
        return tuple(_text(message) for message in messages)
    return (_text(messages),)


def _text(message: Any) -> str:
    return "\n".join(_strings(message, [_NODES]))


def _strings(value: Any, left: list[int]) -> Iterator[str]:
    left[0] -= 1
    if left[0] < 0:
        raise UsageError(
            f"a message has more than {_NODES:,} parts; give the messages that reached one child, for "
            "example the `messages` of its first model call"
        )
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, bytes | bytearray):
        yield bytes(value).decode("utf-8", "replace")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _STRUCTURE:
                yield str(key)
            if not (key in ("role", "type") and isinstance(item, str) and item in _ROLES):
                yield from _strings(item, left)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _strings(item, left)
    else:
        yield from _strings(_plain(value), left)


def _plain(value: Any) -> Any:
    """A message object as plain data."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "content"):
        return {"content": value.content, "calls": getattr(value, "tool_calls", None)}
    raise UsageError(
        f"a message holds a {type(value).__name__}, which cannot be read; give texts, mappings, data "
        'classes, or objects with content or model_dump(), for example {"role": "user", "content": "..."}'
    )
