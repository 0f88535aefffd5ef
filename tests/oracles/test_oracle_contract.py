"""The contract oracle: undeclared fields at any depth are found by name, by strict parsing only."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_target import FIELDS, full_case, tiny

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.oracles.contract import undeclared
from isolation_kit.scenario import Scenario, TurnPlan
from isolation_kit.stage import Stage
from isolation_kit.target import Agent, Via, target

Judge = Callable[..., Judgement]


def fields(judgement: Judgement) -> set[tuple[str, str, str]]:
    """(field, channel, path) of what crossed undeclared."""
    return {(f.fingerprint.what, f.fingerprint.channel, f.path) for f in judgement.findings}


def debug(answer: str, work: list[Any]) -> dict[str, Any]:
    """A result with a field too many."""
    return {"answer": answer, "debug": {"rounds": len(work)}}


@pytest.mark.parametrize(
    ("factory", "expected"),
    [
        (tiny(reply=lambda raw: raw), ("field.trace", "child.request", "trace")),
        (
            tiny(reply=lambda raw: raw + " // note"),
            ("field.(not strict JSON)", "child.request", "(not strict JSON)"),
        ),
        (tiny(result=debug), ("field.debug", "result", "debug")),
        (
            tiny(result=lambda answer, work: {"answer": {"text": answer}}),
            ("field.text", "result", "answer/text"),
        ),
    ],
    ids=["tool-reply", "lenient", "result", "nested"],
)
def test_an_undeclared_field_is_found(factory: Any, expected: tuple[str, str, str], judge: Judge) -> None:
    """By name, at its channel; without any token in it."""
    judgement = judge("contract", factory, full_case())
    assert judgement.verdict is Verdict.LEAK
    assert expected in fields(judgement)


def test_the_clean_twin_passes(judge: Judge) -> None:
    """Declared fields cross in silence."""
    judgement = judge("contract", tiny(), full_case())
    assert (judgement.verdict, judgement.findings, judgement.applicable) == (Verdict.PASS, (), True)


def test_the_source_tool_and_the_direction_are_named(judge: Judge) -> None:
    """A tool's field goes down to the child's model, a result's goes up."""
    (down,) = judge("contract", tiny(reply=lambda raw: raw), full_case()).findings
    (up,) = judge("contract", tiny(result=debug), full_case()).findings
    assert (down.source_tool, down.fingerprint.direction) == ("find", "down")
    assert (up.source_tool, up.fingerprint.direction) == ("", "up")


@target(root="boss", agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()})
async def no_contract(stage: Stage) -> AsyncIterator[Any]:
    """A target that declares neither brief nor result nor tool fields."""
    yield lambda turn: "ok"


@pytest.mark.parametrize(
    ("factory", "scenario", "reason"),
    [
        (no_contract, full_case(), "declares no brief, result or tool fields"),
        (tiny(), full_case(turns=(TurnPlan(0, "hi"),)), "no child was reached"),
    ],
    ids=["nothing-declared", "no-child"],
)
def test_without_a_contract_or_a_child_it_does_not_apply(
    factory: Any, scenario: Scenario, reason: str, judge: Judge
) -> None:
    """Not applicable, with the reason; never a pass."""
    judgement = judge("contract", factory, scenario)
    assert not judgement.applicable
    assert reason in judgement.reason


HOSTILE = ["a/b", "<script>", "x" * 60, "\u202e", "", "line\nbreak", "sk-live-abc$"]


@pytest.mark.parametrize("key", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_key_is_shown_as_a_digest(key: str, judge: Judge) -> None:
    """The target chose it: it may be a payload."""
    (finding,) = judge(
        "contract", tiny(result=lambda answer, work: {"answer": answer, key: 1}), full_case()
    ).findings
    assert finding.fingerprint.what.startswith("field.#")
    assert len(finding.fingerprint.what) == len("field.#") + 8
    assert not key or key not in finding.to_json()


def test_a_key_that_is_a_token_is_not_shown(judge: Judge, execute: Callable[..., Any]) -> None:
    """Keys can hold what values hold."""
    leaky = tiny(result=lambda answer, work: {"answer": "", answer.split()[-1]: 1})
    judgement = judge("contract", leaky, full_case())
    tokens = [item.token for item in execute(leaky, full_case()).planted]
    assert judgement.verdict is Verdict.LEAK
    assert not any(token in finding.to_json() for token in tokens for finding in judgement.findings)


SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "list": {"type": "array", "items": FIELDS},
        "open": {"type": "object", "additionalProperties": True},
        "map": {"type": "object", "additionalProperties": FIELDS},
    },
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": "x"}, []),
        ({"b": 1}, [("b",)]),
        ({"list": [{"note": "n"}, {"note": "n", "x": 1}]}, [("list", "x")]),
        ({"open": {"anything": {"deep": 1}}}, []),
        ({"map": {"k": {"note": "n"}}}, []),
        ({"map": {"k": {"z": 1}}}, [("map", "k", "z")]),
        ({"a": {"hidden": 1}}, [("a", "hidden")]),
        ({"a": ["x"]}, [("a", "[]")]),
        ({"list": [[{"note": "n"}]]}, [("list", "[]")]),
        ([], []),
        ("text", []),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_the_walk_is_closed_world(value: Any, expected: list[tuple[str, ...]]) -> None:
    """JSON Schema lets undeclared keys pass by default; this walk does not."""
    assert list(undeclared(SCHEMA, value)) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=12,
)


def schema_of(value: Any) -> dict[str, Any]:
    """A schema that declares exactly the fields of `value`."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: schema_of(item) for key, item in value.items()}}
    if isinstance(value, list):
        merged: dict[str, Any] = {}
        for item in value:
            merged = _union(merged, schema_of(item))
        return {"type": "array", "items": merged}
    return {}


def _union(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    properties = dict(one.get("properties", {}))
    for key, inner in two.get("properties", {}).items():
        properties[key] = _union(properties.get(key, {}), inner)
    out: dict[str, Any] = {"properties": properties}
    items = [schema["items"] for schema in (one, two) if "items" in schema]
    if items:
        out["items"] = _union(items[0], items[-1])
    return out


@given(json_values)
def test_what_is_declared_is_silent(value: Any) -> None:
    """A value is clean under the schema made of itself."""
    assert list(undeclared(schema_of(value), value)) == []


@given(json_values, st.data())
def test_one_field_too_many_is_found_at_any_depth(value: Any, data: st.DataObject) -> None:
    """Wherever an extra key is put in, exactly its path is reported."""
    schema = schema_of(value)
    here = value
    path: list[str] = []
    while isinstance(here, dict) and here and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(here)))
        if not isinstance(here[key], dict):
            break
        path.append(key)
        here = here[key]
    if isinstance(here, dict):
        here["extra"] = 1
        assert list(undeclared(schema, value)) == [(*path, "extra")]


def test_a_deep_or_wide_reply_does_not_stop_the_judge(judge: Judge) -> None:
    """The target is hostile: nesting and width are bounded, the row still concludes."""
    deep = tiny(reply=lambda raw: '{"note": ' + "[" * 5000 + "]" * 5000 + "}")
    wide = tiny(reply=lambda raw: json.dumps({f"k{n}": n for n in range(3000)}))
    for factory in (deep, wide):
        judgement = judge("contract", factory, full_case())
        assert judgement.verdict is Verdict.LEAK
