"""Filter rules as reports print them, for an application to load: what of a tool reply a child may see.

    FILTERS = load_filters("filters.toml")          # paste the report's [[filter]] blocks into this file
    async def lookup(query: str) -> str:
        return apply_filters(await raw_lookup(query), FILTERS, tool="lookup")

A `keep` rule is an allow-list for one tool: it also stops what nobody has found yet, so prefer it. A `drop`
rule is a deny-list: it repairs what a report found, for every tool.
Source: article 000 section 2.2 (allow-list on tool replies) and section 5.4 (pollutants become filter rules).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from isolation_kit.content import normalise_field
from isolation_kit.errors import ConfigError, StrictJSONError
from isolation_kit.strictjson import loads

__all__ = ["Filter", "apply_filters", "load_filters"]

_REFUSED = '{"error": "the tool\'s reply was not strict JSON and was withheld"}'


@dataclass(frozen=True, slots=True)
class Filter:
    """One rule. `fields` are names at any depth, compared without regard to case, hyphens and encoding.

    Attributes:
        action: "drop" removes the fields; "keep" removes everything else.
        tool: the tool that the rule is for; "" stands for every tool.
    """

    fields: tuple[str, ...]
    action: Literal["drop", "keep"] = "drop"
    tool: str = ""


def load_filters(path: str | Path) -> tuple[Filter, ...]:
    """Read the `[[filter]]` blocks of a TOML file.

    Raises:
        ConfigError: if the file is missing or a block is not of the form that reports print.
    """
    path = Path(path)
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:  # ValueError: no TOML, no UTF-8, or a number without end
        raise ConfigError(
            f"{path.name} cannot be read as TOML ({type(error).__name__}); paste the [[filter]] blocks of a "
            'report into it, for example [[filter]] with field = ["trace_id"] and action = "drop"'
        ) from None
    blocks = raw.get("filter", [])
    return tuple(_filter(path, block) for block in (blocks if isinstance(blocks, list) else [blocks]))


def _filter(path: Path, block: Any) -> Filter:
    block = block if isinstance(block, dict) else {}
    fields, action, tool = block.get("field"), block.get("action", "drop"), block.get("tool", "")
    if (
        not isinstance(fields, list)
        or not all(isinstance(name, str) for name in fields)
        or action not in ("drop", "keep")
        or not isinstance(tool, str)
        or (action == "keep" and not tool)
    ):
        raise ConfigError(
            f'{path.name}: a [[filter]] block needs field = ["name", ...] and action = "drop", or action = '
            '"keep" and a tool; example: tool = "lookup", action = "keep", field = ["amount", "date"]'
        )
    return Filter(tuple(fields), action, tool)


def apply_filters(reply: str, filters: Sequence[Filter], tool: str = "") -> str:
    """`reply` of `tool` as a child may see it.

    A reply that is no strict JSON object or list is withheld under a keep rule, and left alone otherwise.
    """
    mine = [rule for rule in filters if rule.tool in ("", tool)]
    if not mine:
        return reply
    keeps = [_names(rule) for rule in mine if rule.action == "keep"]
    drops = set().union(*(_names(rule) for rule in mine if rule.action == "drop"))
    try:
        value = loads(reply)
    except StrictJSONError:
        return _REFUSED if keeps else reply
    if not isinstance(value, dict | list):
        return _REFUSED if keeps else reply
    return json.dumps(
        _filtered(value, set.intersection(*keeps) if keeps else None, drops), ensure_ascii=False
    )


def _names(rule: Filter) -> set[str]:
    return {normalise_field(name) for name in rule.fields}


def _filtered(value: Any, keep: set[str] | None, drop: set[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _filtered(item, keep, drop)
            for key, item in value.items()
            if (name := normalise_field(key)) not in drop and (keep is None or name in keep)
        }
    if isinstance(value, list):
        return [_filtered(item, keep, drop) for item in value]
    return value
