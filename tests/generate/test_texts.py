"""Carrier texts and tool replies: declared fields stay declared, noise stands where it is put."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.content import Attack, Carrier
from isolation_kit.generate.texts import carrier, filler, is_object, reply
from isolation_kit.oracles.contract import undeclared
from isolation_kit.scenario import Place, Slot, places_in
from isolation_kit.targets.reference import LOOKUP_FIELDS, SEARCH_FIELDS

PLAIN = Attack("x", "sweep", "", "", "", "", (), ())
SCHEMAS = {"lookup": LOOKUP_FIELDS, "search": SEARCH_FIELDS}
RESULT, NOISE = Place("child.tool.result").placeholder, Place("child.tool.noise").placeholder
schemas = st.sampled_from(sorted(SCHEMAS)).map(SCHEMAS.__getitem__)
shapes = st.integers(0, 3)
noises = st.sampled_from(
    (
        f'{{"trace_id": "{NOISE}"}}',
        f'{{"debug": {{"node": "n1", "ref": "{NOISE}"}}, "http_status": 200}}',
        f'{{"amount": "{NOISE}", "trace_id": "{NOISE}"}}',
        f"ERROR at line 7: {NOISE}",
    )
)


@pytest.mark.parametrize("slot", [*map(str, Slot), "x.my_cache"])
def test_every_slot_has_a_carrier(slot: str) -> None:
    """With exactly its own placeholder in it, whatever number is drawn."""
    place = Place(slot, 1, 0, 2, 3)
    for pick in range(4):
        assert set(places_in(carrier(PLAIN, place, pick))) == {place}


def test_an_attacks_own_texts_come_first() -> None:
    """In turn, modulo their number."""
    own = (Carrier("user.current", "eins {{token}}"), Carrier("user.current", "zwei {{token}}"))
    attack = Attack("x", "f", "", "", "", "", own, ())
    texts = [carrier(attack, Place("user.current"), pick).split()[0] for pick in range(3)]
    assert texts == ["eins", "zwei", "eins"]


@given(st.integers(0, 63), st.integers(0, 40))
def test_filler_is_the_same_for_the_same_seed(seed: int, words: int) -> None:
    """As many words as asked for, no placeholder."""
    text = filler(seed, words)
    assert text == filler(seed, words)
    assert len(text.split()) == words
    assert places_in(text) == ()


@given(schemas, st.sampled_from((RESULT, f'{{"note": "{RESULT}"}}')))
def test_a_clean_reply_holds_declared_fields_only(schema: Any, result: str) -> None:
    """And the result stands in one of them."""
    body = json.loads(reply(schema, result, "", 0))
    assert list(undeclared(schema, body)) == []
    assert set(body) == set(schema["properties"])
    assert RESULT in json.dumps(body)


@given(schemas, noises, shapes)
def test_noise_never_takes_a_declared_fields_name(schema: Any, noise: str, shape: int) -> None:
    """What a filter by name must delete is undeclared wherever it stands; declared fields stay."""
    raw = reply(schema, RESULT, noise, shape)
    if not is_object(raw):
        assert raw == noise
        return
    body = json.loads(raw)
    clean = json.loads(reply(schema, RESULT, "", 0))
    assert NOISE in raw
    assert list(undeclared(schema, body))
    assert only(body, clean) == clean


def only(value: Any, like: Any) -> Any:
    """`value` with the keys and the length of `like`."""
    if isinstance(like, dict):
        return {key: only(value[key], item) for key, item in like.items()}
    if isinstance(like, list):
        return [only(item, inner) for item, inner in zip(value, like, strict=False)]
    return value


@given(noises, shapes)
def test_a_tool_without_fields_gets_a_plain_reply(noise: str, shape: int) -> None:
    """Nothing is declared, so nothing is undeclared; result and noise are both there."""
    raw = reply(None, RESULT, noise, shape)
    assert NOISE in raw
    assert RESULT in raw or raw == noise


@pytest.mark.parametrize(
    ("shape", "path"),
    [(0, ("trace_id",)), (1, ("data", "trace_id")), (2, ("items", "trace_id")), (3, ("raw",))],
    ids=["top", "nested", "in-list", "as-string"],
)
def test_each_shape_puts_noise_elsewhere(shape: int, path: tuple[str, ...]) -> None:
    """Top level, inside a declared object, in list items, as JSON inside a string."""
    body = json.loads(reply(LOOKUP_FIELDS, RESULT, f'{{"trace_id": "{NOISE}"}}', shape))
    assert path in set(undeclared(LOOKUP_FIELDS, body))
