"""Views: tokens and ids are comparable, masks are learnt and stay narrow, a difference names its path."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_target import full_case, tiny

from isolation_kit.canary import Skin
from isolation_kit.oracles.views import (
    Key,
    Seen,
    Views,
    bits,
    child_views,
    differences,
    learn,
    masked,
    parent_views,
)
from isolation_kit.scenario import Place
from isolation_kit.trace import Channel, Event, Planted, Trace

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def one_view(value: Any) -> Views:
    """A recipient that got one request."""
    return {Key("kid", 0): (Seen(Channel.CHILD_REQUEST, "", json.dumps(value).encode()),)}


@given(JSON, JSON)
def test_a_difference_is_found_and_its_masks_close_it(one: Any, two: Any) -> None:
    """Two values differ exactly if a difference is named; masks that were learnt make them equal."""
    left, right = one_view(one), one_view(two)
    assert bool(differences(left, right)) == (left != right)
    masks, rest = learn(left, right)
    assert bool(masks or rest) == (left != right)
    if masks and not rest:
        assert masked(left, masks) == masked(right, masks)


@pytest.mark.parametrize(
    ("one", "two", "path"),
    [
        ({"messages": [{"id": "a"}]}, {"messages": [{"id": "b"}]}, "messages[*].id"),
        ({"traceId": 1}, {"traceId": 2}, "trace_id"),
        ({"a": '{"b": 1}'}, {"a": '{"b": 2}'}, "a.b"),
        ({"a": [1]}, {"a": [1, 2]}, "a (length)"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "(order of keys, or spelling)"),
    ],
)
def test_the_first_difference_names_its_path(one: Any, two: Any, path: str) -> None:
    """In words that may be shown, also inside JSON in a string."""
    (found,) = differences(one_view(one), one_view(two))
    assert (found.channel, found.step, found.path) == (Channel.CHILD_REQUEST, 0, path)


def test_a_key_is_shown_only_if_it_is_a_plain_name() -> None:
    """The target chose it."""
    (found,) = differences(one_view({"sk secret <b>": 1}), one_view({"sk secret <b>": 2}))
    assert "secret" not in found.path


def test_a_text_is_never_masked() -> None:
    """A mask for a whole text, a longer list or another type would hide what is looked for."""
    for one, two in (("x" * 200, "y" * 200), ([1], [1, 2]), (1, "1"), (True, False)):
        masks, rest = learn(one_view({"a": one}), one_view({"a": two}))
        assert masks == frozenset()
        assert rest


def test_a_mask_holds_for_its_type_only() -> None:
    """A number that becomes a text is a difference again."""
    mask = {"a: number"}
    assert masked(one_view({"a": 1}), mask) == masked(one_view({"a": 2}), mask)
    assert masked(one_view({"a": 1}), mask) != masked(one_view({"a": "1"}), mask)


def trace_of(*data: bytes, turn: int = 0) -> Trace:
    """A trace of requests of one child, with one planted token."""
    events = tuple(Event(n + 1, Channel.CHILD_REQUEST, "kid", d, 0, turn=turn) for n, d in enumerate(data))
    return Trace("c", events, planted=(Planted(0, Place("user.current"), "tokentokentoken12345"),))


def test_tokens_and_running_ids_are_made_comparable() -> None:
    """A token stands for its place; ids of puppet and stage count by first appearance, other numbers stay."""
    one = child_views(trace_of(b"call_000003 x call_000004 tokentokentoken12345 call_000003 n_12"))
    two = child_views(trace_of(b"call_000007 x call_000009 tokentokentoken12345 call_000007 n_12"))
    assert one == two
    assert one[Key("kid", 0)][0].data == b"call_#0 x call_#1 <user.current/u0/t0/0> call_#0 n_12"
    assert child_views(trace_of(b"n_12")) != child_views(trace_of(b"n_13"))


@pytest.mark.parametrize("skin", list(Skin), ids=str)
def test_a_token_stands_for_its_place_in_any_skin(skin: Skin, execute: Callable[..., Any]) -> None:
    """A copied history is the same View under another secret, whatever shape the secret wears."""
    leaky = tiny(brief=lambda task, history: f"{task} {' '.join(history)}")
    dressed = full_case().with_skins({"user.current": skin})
    one, two = (
        child_views(execute(leaky, case)) for case in (dressed, dressed.with_variant({"user.current": 1}))
    )
    assert one == two
    assert any(b"<user.current/u0/t0/0>" in seen.data for view in one.values() for seen in view)


def test_delegations_are_aligned_by_turn() -> None:
    """A case with one turn more before it gives the same Views from that turn on."""
    assert child_views(trace_of(b"a", turn=2), first_turn=2) == child_views(trace_of(b"a"))
    assert child_views(trace_of(b"a", turn=1), first_turn=2) == {}


def test_child_and_parent_have_views_of_their_own(execute: Callable[..., Any]) -> None:
    """A leaky tool reply is the child's, the result is the parent's."""
    trace = execute(tiny(), full_case())
    child, parent = child_views(trace), parent_views(trace, "boss")
    assert {key.agent for key in child} == {"kid"}
    assert {key.agent for key in parent} == {"boss"}
    assert Channel.RESULT in {seen.channel for view in parent.values() for seen in view}


def test_a_random_header_is_learnt_as_a_mask(execute: Callable[..., Any]) -> None:
    """Two runs with one secret tell what the target cannot keep equal."""
    noisy = tiny(headers=lambda history: {"X-Request-Id": uuid4().hex})
    one, two = (child_views(execute(noisy, full_case())) for _ in range(2))
    masks, rest = learn(one, two)
    assert (masks, rest) == (frozenset({"x_request_id: uuid"}), ())
    assert masked(one, masks) == masked(two, masks)


def test_bits_count_different_views() -> None:
    """log2: four Views tell two bits, one tells nothing."""
    views = [one_view({"a": n % 4})[Key("kid", 0)] for n in range(32)]
    assert bits(views) == 2
    assert bits(views[:1]) == bits([]) == 0


@pytest.mark.parametrize(
    ("texts", "masks"),
    [
        ((f"id {uuid4()} of ours", f"id {uuid4()} of ours"), {"prompt: uuid"}),
        (("it is 2026-11-30T22:40:01Z now", "it is 2026-11-30T22:40:02.5Z now"), {"prompt: time"}),
        (("at 1796078401.25 sharp", "at 1796078402 sharp"), {"prompt: time"}),
        (("seen 3 questions", "seen 4 questions"), set()),
    ],
)
def test_within_a_text_only_ids_and_times_are_left_out(texts: tuple[str, str], masks: set[str]) -> None:
    """A text is never left out whole: what else differs in it is named, and no mask is offered."""
    one, two = (
        {Key("kid", 0): (Seen(Channel.CHILD_REQUEST, "", json.dumps({"prompt": text}).encode()),)}
        for text in texts
    )
    learnt, rest = learn(one, two)
    assert learnt == masks
    assert bool(rest) is not bool(masks)
    assert (masked(one, learnt) == masked(two, learnt)) is bool(masks)
