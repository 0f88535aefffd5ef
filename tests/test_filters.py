"""Filter rules that reports print: loading them, and what they drop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.content import load_fingerprint_classes
from isolation_kit.errors import ConfigError
from isolation_kit.filters import Filter, apply_filters, load_filters

_KEYS = st.sampled_from(["trace_id", "traceId", "Trace-Id", "amount", "note", "%74race_id"])
_JSON = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=4)),
)
_RULES = (Filter(("trace_id",)),)


@given(st.dictionaries(_KEYS, _JSON, max_size=4))
def test_filtered_field_is_gone_at_every_depth(value: dict[str, object]) -> None:
    """Whatever the nesting and the spelling, no filtered field is left, and the rest stays."""
    text = apply_filters(json.dumps(value), _RULES)
    assert "race" not in text.lower()
    if "race" not in json.dumps(value).lower():
        assert json.loads(text) == value


@given(st.dictionaries(_KEYS, _JSON, max_size=4))
def test_keep_rule_leaves_only_what_it_names(value: dict[str, object]) -> None:
    """An allow-list also stops what nobody thought of."""
    rules = (Filter(("amount",), "keep", "lookup"),)
    kept = apply_filters(json.dumps(value), rules, tool="lookup")
    assert not {"race", "note"} & {key for key in ("race", "note") if f'{key}"' in kept}
    assert apply_filters(json.dumps(value), rules, tool="other") == json.dumps(value)


@pytest.mark.parametrize("reply", ["", "plain text", '{"amount": 1} // trace', '{"amount": 1, "amount": 2}'])
def test_keep_rule_withholds_what_is_no_strict_json(reply: str) -> None:
    """What cannot be filtered does not pass an allow-list."""
    assert "trace" not in apply_filters(reply, (Filter(("amount",), "keep", "lookup"),), tool="lookup")


@pytest.mark.parametrize("reply", ["", "plain text", "[1,", "3", '{"a": 1, "a": 2}'])
def test_what_is_no_json_stays(reply: str) -> None:
    """A reply that cannot be read strictly is not touched: other checks judge it."""
    assert apply_filters(reply, _RULES) == reply


def test_every_shipped_rule_loads_and_drops_its_fields(tmp_path: Path) -> None:
    """The rule of each pollutant class can be pasted as it is printed."""
    for kind in load_fingerprint_classes():
        if not kind.rule.strip():
            continue
        (tmp_path / "filters.toml").write_text(kind.rule, "utf-8")
        rules = load_filters(tmp_path / "filters.toml")
        reply = json.dumps({name: "x" for rule in rules for name in rule.fields} | {"amount_due": 1})
        assert json.loads(apply_filters(reply, rules)) == {"amount_due": 1}


@pytest.mark.parametrize(
    "text",
    [
        "[[filter]]\nfield = 'trace_id'",
        "[[filter]]\naction = 'drop'",
        "[[filter]]\naction = 'keep'\nfield = ['amount']",
        "filter = 3",
        "[[filter",
        "\x00",
    ],
    ids=["string", "no-field", "keep-without-tool", "no-table", "torn", "binary"],
)
def test_broken_rules_say_the_way_out(tmp_path: Path, text: str) -> None:
    """A broken file names itself and shows a good block."""
    (tmp_path / "filters.toml").write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=r"filters\.toml"):
        load_filters(tmp_path / "filters.toml")
