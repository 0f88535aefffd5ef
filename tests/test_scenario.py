"""Scenarios: complete, stored without a token, and read back as they were."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SLOTS, carriers, places, scenarios, slots, texts

from isolation_kit.errors import UsageError
from isolation_kit.scenario import (
    Break,
    Breaking,
    Delegate,
    Order,
    Place,
    Scenario,
    Schedule,
    Temperament,
    TurnPlan,
    check_slot,
    fill,
    places_in,
)

PLAIN = Scenario("family", "attack", 1, (TurnPlan(0, "hello"),))


@given(scenarios())
def test_json_round_trip(scenario: Scenario) -> None:
    """A stored case is read back equal, with the same digest, from pure ASCII."""
    text = scenario.to_json()
    assert text.isascii()
    assert Scenario.from_json(text) == scenario
    assert Scenario.from_json(text).digest() == scenario.digest()


@given(scenarios(), scenarios())
def test_the_digest_tells_cases_apart(one: Scenario, two: Scenario) -> None:
    """Equal digests mean equal cases, and the other way round."""
    assert (one.digest() == two.digest()) == (one == two)


@given(scenarios(), st.data())
def test_any_change_changes_the_digest(scenario: Scenario, data: st.DataObject) -> None:
    """Seed, temperament, users, schedule and text are all part of the identity."""
    turn = scenario.turns[-1]
    changed = data.draw(
        st.sampled_from(
            (
                replace(scenario, seed=scenario.seed + 1),
                replace(scenario, attack=scenario.attack + "2"),
                replace(scenario, users=(*scenario.users, "more")),
                replace(scenario, concurrent=not scenario.concurrent),
                replace(scenario, turns=(*scenario.turns[:-1], replace(turn, text=turn.text + "."))),
                replace(scenario, turns=(*scenario.turns, turn)),
            )
        )
    )
    assert changed.digest() != scenario.digest()


def test_the_digest_is_the_same_on_every_machine() -> None:
    """A known case has a known digest: stored cases keep their names."""
    assert PLAIN.digest() == "825be78f60a1e73e"


@given(scenarios(), st.dictionaries(slots, st.integers(1, 3), min_size=1, max_size=3))
def test_a_variant_is_another_case_of_the_same_base(scenario: Scenario, secrets: dict[str, int]) -> None:
    """Only the secrets differ: the base digest holds, the order of slots does not matter."""
    base = scenario.with_variant({}).scheduled(Schedule())
    varied = base.with_variant(secrets)
    assert varied.base_digest() == base.digest() == base.base_digest()
    assert varied.digest() != base.digest()
    assert varied == base.with_variant(dict(reversed(secrets.items())))
    assert [varied.variant_of(slot) for slot in SLOTS] == [secrets.get(slot, 0) for slot in SLOTS]


def test_a_schedule_is_a_part_of_the_case_and_an_old_case_has_none() -> None:
    """Tokens stay those of the base; a case from before there were schedules reads as it did."""
    in_turn = Schedule(Order.ROUND_ROBIN, (Break(Breaking.RETRY, 0, 2, "kid"),))
    scheduled = PLAIN.scheduled(in_turn)
    assert Scenario.from_json(scheduled.to_json()) == scheduled
    assert scheduled.digest() != PLAIN.digest() == scheduled.base_digest()
    assert "schedule" not in PLAIN.to_json()
    assert str(in_turn) == "round-robin, retry of turn 0 at step 2"


@pytest.mark.parametrize(
    "change",
    [
        {"order": "random"},
        {"only": 9},
        {"breaks": {}},
        {"breaks": [{"kind": "cancel", "turn": 7, "step": 0, "agent": ""}]},
        {"breaks": [{"kind": "cancel", "turn": 0, "step": 10**18, "agent": ""}]},
    ],
    ids=["order", "user", "breaks", "turn", "step"],
)
def test_a_schedule_that_fits_no_case_is_refused(change: dict[str, object]) -> None:
    """With what to do, and no traceback."""
    raw = json.loads(PLAIN.scheduled(Schedule(Order.REVERSED)).to_json())
    with pytest.raises(UsageError, match="no stored case"):
        Scenario.from_json(json.dumps({**raw, "schedule": {**raw["schedule"], **change}}))


@given(places)
def test_a_placeholder_names_its_place(place: Place) -> None:
    """Placeholder and place are one and the same."""
    assert places_in(f"a{place.placeholder}b") == (place,)


@given(st.lists(st.tuples(texts, places), max_size=4), texts)
def test_places_come_in_order_and_are_all_filled(parts: list[tuple[str, Place]], tail: str) -> None:
    """`fill` replaces each placeholder and nothing else."""
    text = "".join(before + place.placeholder for before, place in parts) + tail
    assert places_in(text) == tuple(place for _, place in parts)
    assert fill(text, lambda place: f"<{place.n}>") == "".join(f"{b}<{p.n}>" for b, p in parts) + tail


@given(carriers())
def test_filling_with_the_placeholder_changes_nothing(text: str) -> None:
    """The identity leaves a carrier as it is."""
    assert fill(text, lambda place: place.placeholder) == text


@pytest.mark.parametrize(
    "text",
    ["{{canary:user.current}}", "{{canary:user.current/0/0/0/-1}}", "{canary:user.current/0/0/0/0}", "{{x}}"],
    ids=["too-few", "negative-n", "one-brace", "another-name"],
)
def test_what_only_resembles_a_placeholder_stays_text(text: str) -> None:
    """Hostile carriers are not taken for placeholders."""
    assert places_in(text) == ()
    assert fill(text, lambda place: "filled") == text


@pytest.mark.parametrize("name", SLOTS)
def test_known_and_own_slots_are_accepted(name: str) -> None:
    """The closed enum and the namespace `x.`."""
    assert check_slot(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "user", "user.current ", "USER.CURRENT", "x.", "x.A", "x..a", "x.a\n", "y.a"],
    ids=["empty", "half", "blank", "upper", "bare", "x-upper", "two-dots", "newline", "other"],
)
def test_unknown_slots_are_refused(name: str) -> None:
    """The message lists what is allowed and gives an example of an own name."""
    with pytest.raises(UsageError, match=r"allowed: .*user\.current.*x\.session_cache"):
        check_slot(name)


@given(st.one_of(st.text(max_size=20), st.recursive(st.none() | st.integers(), st.lists).map(json.dumps)))
def test_what_is_no_stored_case_is_refused_without_showing_it(text: str) -> None:
    """Garbage gives the one message with the way out, whatever it is."""
    with pytest.raises(UsageError, match="this is no stored case") as caught:
        Scenario.from_json(text)
    assert "replay" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, 7) for name in ("turns", "root", "limits", "users", "variant", "family")),
        ("seed", "7"),
        ("limits", {"window": "600"}),
        ("turns", [{"user": 1, "text": "t", "acts": []}]),
        ("turns", [{"user": 0, "text": "t", "acts": [], "subject": 0}]),
        ("turns", [{"user": 0, "text": "t", "acts": [{"act": "say", "text": None}]}]),
        ("turns", [{"user": 0, "text": "t", "acts": [{"act": "shout", "text": "t"}]}]),
        ("turns", [{"user": 0, "text": "t", "acts": [], "subject": -7}]),
        ("users", "ab"),
        ("users", [1]),
        ("lead", -1),
        ("lead", 10**9),
        ("limits", {"rounds": -1}),
        ("limits", {"window": 10**30}),
        ("variant", [["user.current", "x"]]),
        ("variant", [["user.current", -1]]),
        ("skins", ["ab"]),
        ("skins", [["user.current", {"a": 1}]]),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_stored_case_with_a_broken_field_is_refused(field: str, value: object) -> None:
    """A hand-edited file fails at the reader, not in a run."""
    raw = json.loads(PLAIN.to_json())
    raw[field] = value
    with pytest.raises(UsageError, match="this is no stored case"):
        Scenario.from_json(json.dumps(raw))


@pytest.mark.parametrize(
    "change",
    [
        {"skins": [["nonsense", "email"]]},
        {"variant": [["nonsense", 1]]},
        {"turns": [{"user": 0, "text": "{{canary:nonsense/0/-1/0/0}}", "acts": []}]},
    ],
    ids=["skins", "variant", "text"],
)
def test_a_slot_that_there_is_not_is_named(change: dict[str, object]) -> None:
    """A slot that was misspelt by hand would be planted, and be denied to everybody."""
    with pytest.raises(UsageError, match="unknown slot 'nonsense'"):
        Scenario.from_json(json.dumps({**json.loads(PLAIN.to_json()), **change}))


@given(scenarios())
def test_places_are_those_of_all_texts(scenario: Scenario) -> None:
    """Plants are derived from the placeholders; there is no second list."""
    found = {place for text in scenario.texts() for place in places_in(text)}
    assert scenario.places() == found
    written = scenario.to_json()
    assert all(place.placeholder in written for place in found)


def test_quiet_means_no_parrot_anywhere() -> None:
    """One parrot is enough to turn a leak into an exposure."""
    pairs = [(root, child) for root in Temperament for child in Temperament]
    quiet = [replace(PLAIN, root=root, child=child).quiet for root, child in pairs]
    assert quiet == [True, False, False, False]


def test_delegations_are_those_of_the_root() -> None:
    """A child's own delegations are not the turn's."""
    inner = Delegate(1, "inner")
    outer = Delegate(0, "outer", (inner,))
    assert TurnPlan(0, "t", (outer,)).delegations == (outer,)


def test_a_label_shows_no_token() -> None:
    """`slot/user/turn`, and the system's own by its name."""
    assert Place("user.current", 1, 0, 2, 3).label == "user.current/u1/t2"
    assert Place("parent.system", -1, -1, -1).label == "parent.system/system/t-1"
