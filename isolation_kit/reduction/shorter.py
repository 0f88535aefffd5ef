"""Shorter texts and shorter JSON replies, the shortest first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from isolation_kit.scenario import fill, places_in

__all__ = ["shorter", "shorter_reply"]


def shorter(text: str) -> Iterator[str]:
    """Nothing, the placeholders alone, then without one of them or any, then halves of what is long."""
    if not text:
        return
    places = places_in(text)
    yield ""
    bare = " ".join(place.placeholder for place in places)
    if len(bare) < len(text):
        yield bare
    if len(places) > 1:
        for skipped in places:
            yield fill(text, lambda place, gone=skipped: "" if place == gone else place.placeholder)  # type: ignore[misc]
    if places:
        # A text that is needed, though not for its secret: a task must say something.
        rest = fill(text, lambda _: "")
        yield rest if rest.strip() else "x"
    parts = text.split() if places else list(text)
    if len(parts) > 3:
        glue = " " if places else ""
        yield glue.join(parts[: len(parts) // 2])
        yield glue.join(parts[len(parts) // 2 :])


def shorter_reply(text: str) -> Iterator[str]:
    """A shorter text, or a JSON reply without one of its keys or items."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if len(text) > 1:
            yield "x"
        yield from shorter(text)
        return
    if len(text) > 2:
        yield "{}"
    if places_in(text):
        # As it is written: a key that stands twice is lost where the value is written anew.
        yield fill(text, lambda _: "")
    for smaller in _smaller(value):
        reply = json.dumps(smaller, ensure_ascii=False, separators=(",", ":"))
        if len(reply) < len(text):
            yield reply


def _smaller(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        if len(value) > 3:
            entries = list(value.items())
            yield dict(entries[: len(entries) // 2])
            yield dict(entries[len(entries) // 2 :])
        for key in value:
            yield {name: item for name, item in value.items() if name != key}
        for key, item in value.items():
            for inner in _smaller(item):
                yield {**value, key: inner}
    elif isinstance(value, list):
        if len(value) > 3:
            yield value[: len(value) // 2]
            yield value[len(value) // 2 :]
        for index in range(len(value)):
            yield [*value[:index], *value[index + 1 :]]
        for index, item in enumerate(value):
            for inner in _smaller(item):
                yield [*value[:index], inner, *value[index + 1 :]]
    elif isinstance(value, str):
        yield from (text for text in shorter(value) if text != value and len(text) < len(value))
