"""The rules of a JSON Schema beyond types and names, compiled: what `AllowList.problem` asks of a message.

jsonschema answers the same at ten times the cost, so the everyday keywords are checked here, and a schema
that uses any other keyword, anywhere, is left to jsonschema as a whole. It is loaded when the first such
schema comes: it is big, and most processes never need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import ge, gt, le, lt
from typing import Any

from isolation_kit.errors import UsageError
from isolation_kit.runtime.text import canonical

__all__ = ["Rule", "check", "compiled"]

Rule = Callable[[Any], str]
"""Takes a value of declared fields and types only; gives the path of the first broken rule, or ""."""

_SILENT = frozenset({"$schema", "$comment", "title", "description", "default", "examples", "deprecated"})
_SCALAR = str | int | float | bool | None
_LENGTHS: Mapping[str, tuple[type[Any], Callable[[Any, Any], bool]]] = {
    "minLength": (str, ge),
    "maxLength": (str, le),
    "minItems": (list, ge),
    "maxItems": (list, le),
}
_BOUNDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": ge,
    "maximum": le,
    "exclusiveMinimum": gt,
    "exclusiveMaximum": lt,
}


def compiled(schema: Mapping[str, Any]) -> Rule:
    """The rules of `schema`, in the order in which it states them."""
    if _everyday(schema):
        return _rule(schema) or _no_problem
    validator = _validator(schema)

    def first(value: Any) -> str:
        # Never the library's own message: it quotes the value.
        error = next(validator.iter_errors(value), None)
        if error is None:
            return ""
        # The path is empty where a subschema is `false`: still a broken rule.
        return ".".join(str(part) for part in error.schema_path) or "false"

    return first


def check(schema: Mapping[str, Any]) -> None:
    """Refuse what is no JSON Schema, or cannot be sent to a model as JSON.

    Raises:
        UsageError: it names the rule and none of the schema's words.
    """
    try:
        canonical(schema)
        if _everyday(schema):
            _rule(schema)
        else:
            _strict().check_schema(schema)
    except UsageError:
        raise
    except Exception as error:  # jsonschema's own errors among them, which quote the schema
        raise UsageError(
            f"a schema that is no JSON Schema ({type(error).__name__}); write it as 2020-12 has it, of "
            "objects, lists, texts and finite numbers, for example {'type': 'object', "
            "'properties': {'answer': {'type': 'string'}}}"
        ) from None


def _everyday(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    for name, stated in schema.items():
        if name == "properties":
            known = all(_everyday(inner) for inner in stated.values())
        elif name == "items":
            known = _everyday(stated)
        elif name in ("enum", "const"):
            known = all(isinstance(each, _SCALAR) for each in (stated if name == "enum" else (stated,)))
        else:
            known = name in _MAKERS or name in _BOUNDS or name in _LENGTHS or name in _SILENT
        if not known:
            return False
    return True


def _rule(schema: Mapping[str, Any]) -> Rule | None:
    """One rule for all that `schema` states, or None if it states nothing beyond types and names."""
    rules = tuple(rule for name, stated in schema.items() if (rule := _keyword(name, stated)) is not None)
    if len(rules) < 2:
        return rules[0] if rules else None

    def every(value: Any) -> str:
        for rule in rules:
            if problem := rule(value):
                return problem
        return ""

    return every


def _keyword(name: str, stated: Any) -> Rule | None:
    if (name in _BOUNDS or name in _LENGTHS) and type(stated) not in (int, float):
        raise TypeError("a bound is a number")
    if name in _BOUNDS:
        return _bound(name, stated, _BOUNDS[name])
    if name in _LENGTHS:
        return _length(name, stated, *_LENGTHS[name])
    return _MAKERS[name](stated) if name in _MAKERS else None


def _no_problem(_value: Any) -> str:
    return ""


def _properties(stated: Mapping[str, Any]) -> Rule | None:
    inner = tuple((name, rule) for name, schema in stated.items() if (rule := _rule(schema)) is not None)

    def properties(value: Any) -> str:
        if isinstance(value, dict):
            for name, rule in inner:
                if name in value and (problem := rule(value[name])):
                    return f"properties.{name}.{problem}"
        return ""

    return properties if inner else None


def _items(stated: Mapping[str, Any]) -> Rule | None:
    rule = _rule(stated)
    if rule is None:
        return None

    def items(value: Any) -> str:
        if isinstance(value, list):
            for item in value:
                if problem := rule(item):
                    return f"items.{problem}"
        return ""

    return items


def _required(stated: Sequence[str]) -> Rule:
    if isinstance(stated, str) or not all(isinstance(name, str) for name in stated):
        raise TypeError("required is a list of texts")
    names = frozenset(stated)
    return lambda value: "" if not isinstance(value, dict) or names <= value.keys() else "required"


def _type(stated: str | Sequence[str]) -> Rule | None:
    """The allow-list has settled all but one thing: it knows numbers, and no integers."""
    if "integer" not in stated or "number" in stated:
        return None
    return lambda value: "type" if isinstance(value, float) and not value.is_integer() else ""


def _enum(stated: Sequence[Any], name: str = "enum") -> Rule:
    allowed = frozenset((isinstance(each, bool), each) for each in stated)  # in JSON, true is not 1

    def enum(value: Any) -> str:
        known = not isinstance(value, list | dict) and (isinstance(value, bool), value) in allowed
        return "" if known else name

    return enum


def _const(stated: Any) -> Rule:
    return _enum((stated,), "const")


def _pattern(stated: str) -> Rule:
    search = _ending_strictly(stated).search
    return lambda value: "pattern" if isinstance(value, str) and search(value) is None else ""


def _bound(name: str, stated: float, holds: Callable[[Any, Any], bool]) -> Rule:
    def bound(value: Any) -> str:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return name if number and not holds(value, stated) else ""

    return bound


def _length(name: str, stated: float, kind: type[Any], holds: Callable[[Any, Any], bool]) -> Rule:
    return lambda value: name if isinstance(value, kind) and not holds(len(value), stated) else ""


def _no_rule(_stated: Any) -> None:
    return None


_MAKERS: Mapping[str, Callable[[Any], Rule | None]] = {
    "properties": _properties,
    "items": _items,
    "required": _required,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "additionalProperties": _no_rule,  # only declared names are left
}


def _ending_strictly(pattern: str) -> re.Pattern[str]:
    """`$` in Python accepts a newline after the match; here the end is the end."""
    if pattern.endswith("$") and not pattern.endswith("\\$"):
        pattern = pattern[:-1] + r"\Z"
    try:
        return re.compile(pattern)
    except re.error:
        raise UsageError(
            "a schema has a pattern that Python's re refuses; write it in what JSON Schema and Python share, "
            "for example '^U_[a-z0-9]{4}$'"
        ) from None


def _validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema import FormatChecker

    return _strict()(schema, format_checker=FormatChecker())


@cache
def _strict() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def strict_pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Any:
        if isinstance(value, str) and _ending_strictly(pattern).search(value) is None:
            yield ValidationError("a string does not match its pattern")

    return extend(Draft202012Validator, {"pattern": strict_pattern})
