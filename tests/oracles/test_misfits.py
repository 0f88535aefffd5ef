"""Texts that break the rules of their schema: what Python's own matching lets through is told."""

from __future__ import annotations

from typing import Any

import pytest

from isolation_kit.oracles.misfits import misfits

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ({"pattern": "^[a-z]+$"}, "abc", "abc\n"),
        ({"pattern": r"cost\$"}, "cost$", "cost"),
        ({"format": "date"}, "2024-05-01", "2024-13-01"),
        ({"format": "date"}, "2024-05-01", "20240501"),
        ({"enum": ["ok", "failed"]}, "ok", "fine"),
        ({"maxLength": 3}, "abc", "abcd"),
    ],
    ids=["end", "escaped-end", "month", "compact-date", "enum", "length"],
)
def test_a_broken_rule_is_told_by_its_path(rule: dict[str, Any], good: str, bad: str) -> None:
    """At any depth, in lists too; what keeps the rule, or is not declared, is silent."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"properties": {"b": {**TEXT, **rule}}}}},
    }
    assert list(misfits(schema, {"a": [{"b": good, "c": bad}], "b": bad})) == []
    assert list(misfits(schema, {"a": [{"b": good}, {"b": bad}]})) == [("a", "b")]


def test_a_pattern_that_python_does_not_read_is_not_judged() -> None:
    """A schema may use more than Python's `re` knows."""
    schema = {"properties": {"a": {**TEXT, "pattern": r"^\p{L}+$"}}}
    assert list(misfits(schema, {"a": "1"})) == []
