"""The allow-list: nothing undeclared survives, at any depth, in any spelling."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime.fields import REPORTS, AllowList, plain_key
from isolation_kit.runtime.text import canonical, keyed_digest

DIGEST = keyed_digest(b"k")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "note": {"type": "string"},
        "data": {"type": "object", "properties": {"note": {"type": "string"}}},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"amount": {"type": "number"}}},
        },
    },
}
ALLOW = AllowList(SCHEMA)

names = st.sampled_from(["amount", "note", "data", "items", "trace_id", "%74race_id", "debug", "%6eote", ""])
leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


def undeclared(value: Any, schema: dict[str, Any]) -> bool:
    """True if a key stands in `value` that `schema` does not declare."""
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        return any(key not in inner or undeclared(item, inner[key]) for key, item in value.items())
    if isinstance(value, list):
        return any(undeclared(item, schema.get("items", {})) for item in value)
    return False


@given(values)
def test_nothing_undeclared_survives(value: Any) -> None:
    """Whatever the value, what is kept holds declared keys only."""
    kept = ALLOW.keep(value, DIGEST)
    assert not kept.ok or not undeclared(kept.value, SCHEMA)


@given(values)
def test_what_is_kept_is_kept_again(value: Any) -> None:
    """Filtering twice drops nothing more."""
    kept = ALLOW.keep(value, DIGEST)
    if kept.ok:
        assert ALLOW.keep(kept.value, DIGEST) == type(kept)(kept.value, ())


@given(st.dictionaries(st.sampled_from(["amount", "note"]), st.integers(0, 9), max_size=2), values)
def test_declared_fields_stay(declared: dict[str, int], noise: Any) -> None:
    """An undeclared neighbour costs a declared number nothing."""
    kept = ALLOW.keep({**declared, "debug": noise}, DIGEST)
    assert kept.value.get("amount") == declared.get("amount")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"trace_id": 1}, "trace_id"),
        ({"data": {"trace_id": 1}}, "data.trace_id"),
        ({"items": [{"amount": 1}, {"trace_id": 1}]}, "items[].trace_id"),
        ({"%74race_id": 1}, "trace_id"),
        ({"%2574race_id": 1}, "trace_id"),
        ({"\\u0074race_id": 1}, "trace_id"),
        ({"&#116;race_id": 1}, "trace_id"),
        ({"%6eote": "x"}, "note"),
        ({"amount": "DEBUG"}, "amount"),
        ({"note": {"trace_id": 1}}, "note"),
    ],
    ids=["top", "nested", "list", "percent", "twice", "escape", "entity", "declared", "type", "object"],
)
def test_drops_are_reported_under_their_plain_name(value: Any, path: str) -> None:
    """Each hiding place is dropped, and named as a reader would name it."""
    kept = ALLOW.keep(value, DIGEST)
    assert [item.path for item in kept.dropped] == [path]
    assert "DEBUG" not in canonical(kept.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"trace_id": "x"}',
        'see {"trace_id": "x"} there',
        '"{\\"trace_id\\": \\"x\\"}"',
        '[{"trace_id": 1}]',
        "%7B%22trace_id%22%3A1%7D",
        "{&quot;trace_id&quot;: 1}",
        "%257B%2522trace_id%2522%253A1%257D",
        "\\u007b\\u0022trace_id\\u0022: 1}",
        "[1, 2]",
        "{'trace_id': 1}",
        '{/* no */ "trace_id": 1}',
        '{// no\n"trace_id": 1}',
        "\\x7b\\x22trace_id\\x22: 1}",
        "%2525257B%25252522trace_id%25252522%2525253A1%2525257D",
    ],
    ids=[
        "object",
        "inside",
        "quoted",
        "list",
        "percent",
        "entity",
        "twice",
        "escapes",
        "numbers",
        "python",
        "comment",
        "line comment",
        "bytes",
        "four times",
    ],
)
def test_json_inside_a_declared_string_is_no_way_round(text: str) -> None:
    """A declared string that carries JSON is dropped where asked for, and kept where it is free text."""
    assert ALLOW.keep({"note": text}, DIGEST, embedded=True).value == {}
    assert ALLOW.keep({"note": text}, DIGEST).value == {"note": text}


@pytest.mark.parametrize(
    "text", ["[红色] 苹果", "a {b} c", "50% & more", "see [1]", "it's {x} 's: 1", "d['k']", ""]
)
def test_ordinary_brackets_are_no_json(text: str) -> None:
    """The clean twin: prose with brackets stays."""
    assert ALLOW.keep({"note": text}, DIGEST, embedded=True).value == {"note": text}


def test_a_report_holds_no_value() -> None:
    """Path, type, length and digest are told; the value is not."""
    (dropped,) = ALLOW.keep({"trace_id": "sk-secret"}, DIGEST).dropped
    assert (dropped.path, dropped.kind, dropped.length) == ("trace_id", "string", 11)
    assert "secret" not in repr(dropped)


def test_a_pattern_ends_where_the_text_ends() -> None:
    """`$` accepts no newline, and no message quotes the value."""
    allow = AllowList({"type": "object", "properties": {"id": {"type": "string", "pattern": "^U_[a-z]+$"}}})
    assert allow.problem({"id": "U_abc"}) == ""
    assert allow.problem({"id": "U_abc\n"}) == "properties.id.pattern"


def test_required_and_integer_rules_hold() -> None:
    """What the walk does not check, the schema still does."""
    allow = AllowList({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}})
    assert allow.problem({}) == "required"
    assert allow.problem({"n": 1.5}) == "properties.n.type"
    assert allow.problem({"n": 1}) == ""


@given(st.text(max_size=40))
def test_plain_key_takes_any_text(key: str) -> None:
    """No key, however odd, breaks the comparison."""
    assert isinstance(plain_key(key), str)


@pytest.mark.parametrize("extra", [0, 1, 5000])
def test_reports_of_one_value_are_bounded(extra: int) -> None:
    """A sender of a million names writes no million reports; the last one says how many there were."""
    kept = ALLOW.keep({"amount": 1} | {f"x{number}": 0 for number in range(REPORTS + extra)}, DIGEST)
    assert kept.value == {"amount": 1}
    assert len(kept.dropped) == REPORTS + bool(extra)
    assert [item.length for item in kept.dropped if item.kind == "rest"] == [extra] * bool(extra)
