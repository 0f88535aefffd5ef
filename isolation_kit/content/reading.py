"""Reads one content file into its record; anything that the reader does not know is refused by name."""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from isolation_kit.content.rules import RULES, Rule
from isolation_kit.errors import ContentError

__all__ = ["read_record", "refuse"]

_SINGULAR = {
    "carriers": "carrier",
    "examples": "example",
    "remedies": "remedy",
}  # [[carrier]] reads better than [[carriers]]

T = TypeVar("T")


def refuse(path: Path, key: str, given: str, allowed: str, example: str) -> NoReturn:
    """Refuse a content file.

    Raises:
        ContentError: always; names the file, the key, what was given and what is allowed.
    """
    raise ContentError(
        f"{path}: key {key!r}: {given}; allowed: {allowed}; example: {example}. Correct or remove the file."
    )


def read_record(kind: type[T], path: Path) -> T:
    """Read one file into a record of `kind`.

    Raises:
        ContentError: if the file cannot be read, or has a key or a value that `RULES` does not allow.
    """
    reason = ""
    raw: dict[str, Any] = {}
    try:
        if path.exists() and not path.is_file():
            raise OSError("no regular file")
        raw = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (tomllib.TOMLDecodeError, RecursionError, UnicodeDecodeError, OSError) as error:
        reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else type(error).__name__
    except ValueError:
        reason = "an integer has too many digits"
    if reason:
        refuse(path, "(the whole file)", f"cannot be read ({reason})", "TOML in UTF-8", 'id = "two-subjects"')
    value: T = _table(kind, raw, path, "")
    return value


def _table(kind: type[Any], raw: object, path: Path, prefix: str) -> Any:
    if not isinstance(raw, dict):
        refuse(path, prefix.rstrip("."), f"is a {type(raw).__name__}", "a table", "[structure]")
    hints = get_type_hints(kind)
    keys = {_SINGULAR.get(item.name, item.name): item for item in fields(kind)}
    for key in raw:
        if key not in keys:
            allowed = ", ".join(sorted(keys))
            refuse(path, prefix + key, "is not known here", allowed, f"{sorted(keys)[0]} = ...")
    values = {}
    for key, item in keys.items():
        rule = RULES[f"{kind.__name__}.{item.name}"]
        if key in raw:
            values[item.name] = _value(hints[item.name], raw[key], path, prefix + key, rule)
        elif item.default is MISSING:
            refuse(path, prefix + key, "is missing", rule.allowed, rule.example)
    return kind(**values)


def _value(hint: Any, raw: Any, path: Path, key: str, rule: Rule) -> Any:
    if get_origin(hint) is UnionType:
        hint = get_args(hint)[0]
    if is_dataclass(hint):
        return _table(hint, raw, path, f"{key}.")  # type: ignore[arg-type]
    if get_origin(hint) is not tuple:
        if type(raw) is not hint or not rule.holds(raw):
            refuse(path, key, _shown(raw), rule.allowed, rule.example)
        return raw
    if type(raw) is not list:
        refuse(path, key, f"is a {type(raw).__name__}", f"a list: {rule.allowed}", rule.example)
    item = get_args(hint)[0]
    if is_dataclass(item) and not rule.holds(raw):
        refuse(path, key, "is an empty list", rule.allowed, rule.example)
    return tuple(_value(item, entry, path, f"{key}[{index}]", rule) for index, entry in enumerate(raw))


def _shown(raw: object) -> str:
    # Long texts are payloads, short ones are typing slips that the author must see.
    if isinstance(raw, str):
        return f"got {raw!r}" if len(raw) <= 40 else f"got a text of {len(raw)} characters"
    return f"got {raw!r}" if isinstance(raw, (bool, int)) else f"is a {type(raw).__name__}"
