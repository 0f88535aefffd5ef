"""What may stand in `isolation.toml`: each table's keys with their types, ranges and an example."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from isolation_kit.canary import Skin
from isolation_kit.config.values import duration, report_file
from isolation_kit.errors import ConfigError, UsageError
from isolation_kit.finding import Direction
from isolation_kit.scenario import check_slot
from isolation_kit.trace import Channel

__all__ = ["LISTS", "TABLES", "check", "refuse", "toml_name"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key: the TOML type of its value (or of each entry of its list), what is allowed, an example."""

    kind: type
    allowed: str
    example: str
    holds: Callable[[Any], bool] = lambda value: True
    many: bool = False
    required: bool = False


def _accepts(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def holds(text: str) -> bool:
        try:
            parse(text)
        except UsageError:
            return False
        return True

    return holds


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


def _whole(low: int, high: int, example: str) -> Key:
    return Key(int, f"a whole number from {low} to {high}", example, lambda value: low <= value <= high)


def _number(low: float, high: float, example: str) -> Key:
    allowed = f"a number from {low:g} to {high:g}" if low else f"a share from 0 to {high:g}"
    return Key(float, allowed, example, lambda value: low <= value <= high)


def _one_of(*names: str) -> Key:
    return Key(str, " | ".join(f'"{name}"' for name in names), f'"{names[0]}"', lambda value: value in names)


def _text(allowed: str, example: str, *, required: bool = False) -> Key:
    return Key(str, allowed, f'"{example}"', lambda value: bool(value.strip()), required=required)


_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
_FACTORY = r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"
_SLOT = Key(
    str,
    'a slot of the kit, a name of your own under "x.", or "field.<name>"',
    '"user.current"',
    lambda value: _accepts(check_slot)(value) or _matches(r"field\.\S+")(value),
    required=True,
)
_CHANNEL = Key(
    str, ", ".join(Channel), '"child.request"', lambda value: value in tuple(Channel), required=True
)
_UNTIL = Key(date, "a date without quotes", "2027-03-01")
_FOLDERS = Key(str, "a list of folders", '["my_attacks"]', lambda value: bool(value.strip()), many=True)

_SKINS = tuple(str(skin) for skin in Skin if skin is not Skin.OPAQUE)

TABLES: Mapping[str, Mapping[str, Key]] = {
    "run": {
        "seed": _whole(0, 2**63 - 1, "7"),
        "cases": _whole(1, 1_000_000, "1000"),
        "families": Key(str, "a list of family names", '["cross-user"]', _matches(r"[a-z0-9-]+"), many=True),
        "skins": Key(
            str,
            f"a list of what canaries wear: {', '.join(_SKINS)}",
            '["email", "phone"]',
            lambda value: value in _SKINS,
            many=True,
        ),
        "profile": _one_of("quick", "ci", "deep"),
        "max_time": Key(str, "a duration with its unit", '"5m"', _accepts(duration)),
        "case_timeout": _number(0.001, 3600, "20"),
    },
    "gate": {
        "fail_on": _one_of("any", "new", "never"),
        "baseline": _text("a path", "isolation-baseline.json"),
        "refused_share": _number(0, 1, "0.25"),
    },
    "policy": {
        "reachable": _one_of("report", "deny"),
        "bits": Key(float, "a number of bits from 0 to 4", "1", lambda value: 0 <= value <= 4),
        "masks": Key(
            str,
            "a list of JSON paths with what is left out there: number, string, uuid or time",
            '["messages[*].id: string"]',
            _matches(r"[^\s:][^:]{0,199}: (?:number|string|uuid|time)"),
            many=True,
        ),
    },
    "content": {"attacks": _FOLDERS, "fingerprints": _FOLDERS},
    "report": {
        "output": _text("a folder", ".isolation"),
        "reports": Key(
            str,
            "a list of TYPE:PATH with TYPE json, md or html",
            '["html:build/isolation.html"]',
            _accepts(lambda text: report_file(text, Path())),
            many=True,
        ),
    },
}

LISTS: Mapping[str, Mapping[str, Key]] = {
    "target": {
        "name": Key(
            str, "letters, digits, '-' and '_', at most 64", '"support"', _matches(_NAME), required=True
        ),
        "factory": Key(
            str, '"module:function"', '"my_app.isolation:support_team"', _matches(_FACTORY), required=True
        ),
    },
    "allow": {
        "slot": _SLOT,
        "channel": _CHANNEL,
        "child": _text("the name of a declared agent", "writer", required=True),
        "reason": _text("why this is meant to be, not blank", "handoff by design", required=True),
        "owner": _text("who answers for it, not blank", "platform", required=True),
        "until": _UNTIL,
        "direction": _one_of(*Direction),
    },
    "untested": {
        "target": _text("the name of a [[target]]", "support", required=True),
        "child": _text("the name of a declared child", "writer", required=True),
        "reason": _text("why it is not tested, not blank", "needs a GPU", required=True),
        "until": _UNTIL,
    },
}


def refuse(path: Path, where: str, given: str, allowed: str, example: str) -> NoReturn:
    """Refuse the file: which key, what stands there, what is allowed, and an example.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(f"{path}: {where}: {given}; allowed: {allowed}; example: {example}. Correct the file.")


def toml_name(value: object) -> str:
    """What TOML calls the type of a value, with its article."""
    names: Mapping[type, str] = {
        dict: "a table",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
    }
    return names.get(type(value), "a date or time")


def close_to(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'seed'?)` if one of `known` looks like `name`, else nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def check(path: Path, table: str, keys: Mapping[str, Key], raw: object) -> dict[str, Any]:
    """The table's values, each of the right type and range.

    Args:
        table: how messages name it, for example `[run]` or `[[target]] 2`.

    Raises:
        ConfigError: for an unknown, missing, mistyped or out-of-range key.
    """
    if not isinstance(raw, dict):
        refuse(path, table, f"is {toml_name(raw)}", "a table", table)
    for name in raw:
        if name not in keys:
            given = f"the key {name[:40]!r} is not known{close_to(name, keys)}"
            first = next(iter(keys))
            refuse(path, table, given, ", ".join(keys), f"{first} = {keys[first].example}")
    for name, key in keys.items():
        if name in raw:
            _check_value(path, table, name, key, raw[name])
        elif key.required:
            refuse(path, table, f"{name} is missing", key.allowed, f"{name} = {key.example}")
    return dict(raw)


def _check_value(path: Path, table: str, name: str, key: Key, value: Any) -> None:
    example = f"{name} = {key.example}"
    if key.many and type(value) is not list:
        refuse(path, table, f"{name} is {toml_name(value)}", key.allowed, example)
    for entry in value if key.many else (value,):
        fits = type(entry) is key.kind or (key.kind is float and type(entry) is int)
        if not fits or not key.holds(entry):
            near = (
                close_to(entry, re.findall(r"[a-z][a-z.]+", key.allowed)) if fits and key.kind is str else ""
            )
            refuse(path, table, f"{name} = {_shown(entry)}{near}", key.allowed, example)


def _shown(value: object) -> str:
    # What a key holds may be anything at all, pasted by accident: long texts are not repeated.
    if isinstance(value, str):
        return repr(value) if len(value) <= 40 else f"a text of {len(value)} characters"
    return repr(value) if isinstance(value, int | float) else toml_name(value)
