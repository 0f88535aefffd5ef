"""Filter rules as reports print them, ready for an application to load: drop noise fields from tool replies.

    FILTERS = load_filters("filters.toml")          # paste the report's [[filter]] blocks into this file
    async def lookup(query: str) -> str:
        return drop_fields(await raw_lookup(query), FILTERS)

A deny-list repairs what a report found. An allow-list (`runtime/fields.py`) also stops what nobody has found
yet; prefer it where a tool's fields are known.
Source: article 000 section 5.4 (the most frequent pollutants become filter rules).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isolation_kit.content import normalise_field
from isolation_kit.errors import ConfigError, StrictJSONError
from isolation_kit.strictjson import loads

__all__ = ["Filter", "drop_fields", "load_filters"]


@dataclass(frozen=True, slots=True)
class Filter:
    """Field names to drop at every depth, compared without regard to case, hyphens and encoding."""

    fields: tuple[str, ...]
    reason: str = ""


def load_filters(path: str | Path) -> tuple[Filter, ...]:
    """Read the `[[filter]]` blocks of a TOML file.

    Raises:
        ConfigError: if the file is missing or a block is not of the form that reports print.
    """
    path = Path(path)
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            f"{path.name} cannot be read as TOML ({type(error).__name__}); paste the [[filter]] blocks of a "
            'report into it, for example [[filter]] with field = ["trace_id"] and action = "drop"'
        ) from None
    blocks = raw.get("filter", [])
    return tuple(_filter(path, block) for block in (blocks if isinstance(blocks, list) else [blocks]))


def _filter(path: Path, block: Any) -> Filter:
    fields = block.get("field") if isinstance(block, dict) else None
    if (
        not isinstance(fields, list)
        or not all(isinstance(name, str) for name in fields)
        or block.get("action", "drop") != "drop"
    ):
        raise ConfigError(
            f'{path.name}: a [[filter]] block needs field = ["name", ...] and action = "drop"; '
            'example: field = ["trace_id", "debug_info"], action = "drop", reason = "noise"'
        )
    return Filter(tuple(fields), str(block.get("reason", "")))


def drop_fields(reply: str, filters: Iterable[Filter]) -> str:
    """`reply` without the filtered fields at any depth; what is no JSON object or list stays as it is."""
    names = {normalise_field(name) for rule in filters for name in rule.fields}
    if not names:
        return reply
    try:
        value = loads(reply)
    except StrictJSONError:
        return reply
    if not isinstance(value, dict | list):
        return reply
    return json.dumps(_without(value, names), ensure_ascii=False)


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _without(item, names) for key, item in value.items() if normalise_field(key) not in names
        }
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    return value
