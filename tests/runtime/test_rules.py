"""The compiled rules say what jsonschema says, of every value that the allow-list leaves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from isolation_kit.errors import UsageError
from isolation_kit.runtime import ChildSpec, rules
from isolation_kit.runtime.fields import AllowList
from isolation_kit.runtime.text import keyed_digest

DIGEST = keyed_digest(b"k")
SUITE = Path("JSON-Schema-Test-Suite/tests/draft2020-12")

texts = st.text("ab1", max_size=3)
numbers = st.integers(-3, 3) | st.sampled_from([-1.5, 0.0, 1.0, 2.5])
scalars = st.none() | st.booleans() | numbers | texts
names = st.sampled_from(["a", "b", "c"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
KINDS = ["string", "number", "integer", "boolean", "null", "array", "object"]
kinds = st.sampled_from(KINDS)
small = st.integers(0, 3)


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of the everyday keywords, in any order."""

    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        keywords = {
            "required": st.lists(names, max_size=2, unique=True),
            "enum": st.lists(scalars, min_size=1, max_size=4),
            "const": scalars,
            "pattern": st.sampled_from(["^a", "b$", "^[ab]*$", "1"]),
            "minimum": numbers,
            "maximum": numbers,
            "exclusiveMinimum": numbers,
            "exclusiveMaximum": numbers,
            "minLength": small,
            "maxLength": small,
            "minItems": small,
            "maxItems": small,
            "description": texts,
            "additionalProperties": st.booleans(),
            "properties": st.dictionaries(names, inner, max_size=3),
            "items": inner,
        }
        types = kinds | st.lists(kinds, min_size=1, max_size=3, unique=True)
        chosen = st.lists(st.sampled_from(sorted(keywords)), max_size=3, unique=True)
        return chosen.flatmap(
            lambda some: st.fixed_dictionaries({"type": types, **{name: keywords[name] for name in some}})
        )

    return st.recursive(around(st.just({"type": "string"})), around, max_leaves=4)


def first_error(schema: dict[str, Any], value: Any) -> str:
    """What jsonschema finds first, as a path of the schema."""
    error = next(Draft202012Validator(schema).iter_errors(value), None)
    return "" if error is None else ".".join(str(part) for part in error.schema_path)


@given(schemas(), values)
def test_the_compiled_rules_say_what_jsonschema_says(schema: dict[str, Any], value: Any) -> None:
    """The same first error, for whatever the allow-list leaves of any value."""
    allow = AllowList(schema)
    kept = allow.keep(value, DIGEST)
    if kept.ok:
        assert allow.problem(kept.value) == first_error(schema, kept.value)


@given(schemas())
def test_everyday_schemas_ask_no_jsonschema(schema: dict[str, Any]) -> None:
    """The property above compares two things, not one with itself."""
    assert rules._everyday(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "date"},
        {"type": "number", "multipleOf": 2},
        {"type": "array", "items": {"type": "number"}, "uniqueItems": True},
        {"type": "object", "properties": {"a": {"type": "string", "not": {"const": "x"}}}},
        {"type": "string", "enum": [["x"]]},
        {"type": "object", "properties": {"a": True}},
    ],
    ids=["format", "multipleOf", "uniqueItems", "nested", "enum of lists", "boolean"],
)
def test_any_other_keyword_is_left_to_jsonschema(schema: dict[str, Any]) -> None:
    """At any depth."""
    assert not rules._everyday(schema)


def test_a_format_is_checked() -> None:
    """A schema that goes to jsonschema as a whole is checked with its formats."""
    allow = AllowList({"type": "object", "properties": {"day": {"type": "string", "format": "date"}}})
    assert allow.problem({"day": "2024-05-01"}) == ""
    assert allow.problem({"day": "yesterday"}) == "properties.day.format"


def test_a_pattern_that_python_does_not_know_is_refused() -> None:
    """With the way out, before any value is asked."""
    with pytest.raises(UsageError, match="for example"):
        AllowList({"type": "string", "pattern": r"\p{Letter}"}).problem("x")


def test_a_subschema_that_is_false_is_a_broken_rule() -> None:
    """jsonschema names no path for it; silence would let the value pass."""
    assert AllowList({"type": "string", "if": {"const": "x"}, "then": False}).problem("x") == "false"


def test_a_closed_object_is_no_problem() -> None:
    """`additionalProperties` is settled by the allow-list, which has dropped what it forbids."""
    closed = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    assert AllowList(closed).problem({"a": "x"}) == ""
    assert AllowList({**closed, "minProperties": 1}).problem({"a": "x"}) == ""


def test_the_public_suite_agrees(corpora: Path) -> None:
    """Where the allow-list leaves a value of the JSON Schema Test Suite whole, the verdict is the suite's."""
    compared = compiled = 0
    for path in sorted((corpora / SUITE).glob("*.json")):
        for group in json.loads(path.read_text("utf-8")):
            schema = group["schema"]
            text = json.dumps(schema)
            # Left out: what leads elsewhere, what Python's re lacks, and formats, which are checked here.
            if not isinstance(schema, dict) or any(
                word in text for word in ("$ref", "$dynamic", "\\p", "format")
            ):
                continue
            # Most schemas of the suite name no type, which declares nothing here: every type says the same.
            schema = {"type": KINDS, **schema}
            allow = AllowList(schema)
            for case in group["tests"]:
                kept = allow.keep(case["data"], DIGEST)
                if kept.ok and not kept.dropped:
                    verdict = allow.problem(kept.value) == ""
                    assert verdict is case["valid"], (path.name, case["description"])
                    compared += 1
                    compiled += rules._everyday(schema)
    assert compared > compiled > 100


_CYCLE: dict[str, Any] = {"type": "object"}
_CYCLE["properties"] = {"a": _CYCLE}
_HIDDEN: dict[str, Any] = {"type": "object"}
_HIDDEN["anyOf"] = [_HIDDEN]


@pytest.mark.parametrize(
    "schema",
    [{"type": 5}, {"type": [5]}, {"properties": []}, {"properties": {1: {}}}, {"items": 5}, [], _CYCLE],
    ids=["type", "types", "properties", "name", "items", "list", "cycle"],
)
def test_an_allow_list_of_no_schema_is_refused(schema: Any) -> None:
    """When it is made, in the kit's own words: not in the middle of a delegation."""
    with pytest.raises(UsageError):
        AllowList(schema)


@pytest.mark.parametrize(
    "extra",
    [
        {"required": 5},
        {"required": "answer"},
        {"enum": 5},
        {"minLength": "1"},
        {"maximum": "1"},
        {"pattern": "["},
        {"anyOf": 5},
        {"default": {1, 2}},
        {"properties": {"a": {"default": float("nan")}}},
        _HIDDEN,
    ],
    ids=lambda extra: "-".join(extra),
)
def test_a_spec_whose_outputs_are_no_schema_is_refused(worker: ChildSpec, extra: Any) -> None:
    """Of its inputs as well; the clean twin is the worker itself."""
    schema = {"type": "object", **extra}
    for changed in ({"outputs": schema}, {"inputs": schema}):
        with pytest.raises(UsageError):
            replace(worker, **changed)
