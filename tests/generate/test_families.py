"""Families and the sweep: any draw is a valid case whose placeholders say whose they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.content import load_attacks
from isolation_kit.generate import FAMILIES, SWEEP, Family, sweep
from isolation_kit.scenario import (
    Act,
    Delegate,
    Place,
    Scenario,
    Slot,
    Temperament,
    TurnPlan,
    check_slot,
    places_in,
)
from isolation_kit.target import Declaration, declaration_of
from isolation_kit.targets.reference import reference_rules, reference_task

ATTACKS = load_attacks()
TARGETS = {name: declaration_of(f) for name, f in (("task", reference_task), ("rules", reference_rules))}
targets = st.sampled_from(sorted(TARGETS)).map(TARGETS.__getitem__)
families = st.sampled_from(sorted(FAMILIES)).map(FAMILIES.__getitem__)


def attacks_of(family: Family) -> tuple[Any, ...]:
    """The attacks of one family."""
    return tuple(attack for attack in ATTACKS if attack.family == family.name)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Scenario, Declaration, Family, Any]:
    """A case, and what it was made from."""
    family, declaration = draw(families), draw(targets)
    drawn = draw(family.draws)
    return family.build(attacks_of(family), declaration, drawn), declaration, family, drawn


def texts_of(turn: TurnPlan) -> Iterator[str]:
    """All texts of one turn."""
    yield from Scenario("f", "a", 0, (turn,)).texts()


@given(cases())
def test_any_draw_is_a_valid_case(case: tuple[Scenario, Declaration, Family, Any]) -> None:
    """Stored and read back; users, subjects and slots are known; there is at least one delegation."""
    scenario, _, family, _ = case
    assert Scenario.from_json(scenario.to_json()) == scenario
    assert scenario.family == family.name
    assert scenario.attack in {attack.id for attack in attacks_of(family)}
    assert all(check_slot(place.slot) for place in scenario.places())
    assert any(turn.delegations for turn in scenario.turns)


@given(cases())
def test_the_same_draw_is_the_same_case(case: tuple[Scenario, Declaration, Family, Any]) -> None:
    """Building is pure: a seed is all that a rerun needs."""
    scenario, declaration, family, drawn = case
    assert family.build(attacks_of(family), declaration, drawn) == scenario


@given(cases())
def test_a_placeholder_names_the_turn_in_which_it_stands(
    case: tuple[Scenario, Declaration, Family, Any],
) -> None:
    """User, subject and turn agree; only a follow-up repeats an earlier task of the same person."""
    scenario, *_ = case
    for index, turn in enumerate(scenario.turns):
        for place in (place for text in texts_of(turn) for place in places_in(text)):
            assert (place.user, place.subject) == (turn.user, turn.subject)
            assert place.turn == index or (place.slot == Slot.TASK_INPUT and place.turn < index)


@given(cases())
def test_no_two_carriers_share_a_place(case: tuple[Scenario, Declaration, Family, Any]) -> None:
    """Each text plants canaries of its own, so that a sighting tells which text it came from."""
    scenario, *_ = case
    seen = Counter(
        place
        for index, turn in enumerate(scenario.turns)
        for text in texts_of(turn)
        for place in set(places_in(text))
        if place.turn == index
    )
    assert [place for place, times in seen.items() if times > 1] == []


@given(cases())
def test_only_the_last_turn_is_current(case: tuple[Scenario, Declaration, Family, Any]) -> None:
    """What was said before is *earlier*: the two have different audiences."""
    scenario, *_ = case
    last = len(scenario.turns) - 1
    for place in scenario.places():
        if place.slot == Slot.USER_CURRENT:
            assert place.turn == last
        elif place.slot == Slot.USER_EARLIER:
            assert place.turn < last


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_family_reaches_all_its_attacks_and_temperaments(name: str) -> None:
    """The drawn numbers cover every attack of the family, quiet in most cases."""
    family, declaration = FAMILIES[name], TARGETS["task"]
    attacks = attacks_of(family)
    made = [family.build(attacks, declaration, drawn) for drawn in some_draws(name)]
    assert {scenario.attack for scenario in made} == {attack.id for attack in attacks}
    tempers = Counter((scenario.root, scenario.child) for scenario in made)
    assert len(tempers) == 4
    assert tempers[Temperament.QUIET, Temperament.QUIET] == 56


def some_draws(name: str) -> Iterator[Any]:
    """64 draws of a family by hand: attack and temperament run through all their numbers."""
    turn = (1, 2, 39)
    for number in range(64):
        match name:
            case "noise-injection":
                yield number, number, number, *turn * 3
            case "cross-user" | "state-residue" | "turn-drift":
                yield number, number, 0, *turn * 2
            case "boundary-overflow":
                yield number, number, number % 16, number, number, *turn * 2


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_sweep_needs_no_chance_and_takes_each_child_in_each_temperament(name: str) -> None:
    """Four conversations a child: quiet, and one parrot, and two."""
    scenarios = list(sweep(TARGETS[name]))
    assert scenarios == list(sweep(TARGETS[name]))
    children = len(TARGETS[name].direct)
    assert len(scenarios) == 4 * children
    tempers = Counter((scenario.root, scenario.child) for scenario in scenarios)
    assert set(tempers.values()) == {children}
    assert len(tempers) == 4
    numbers = {act.child for s in scenarios for t in s.turns for act in t.acts if isinstance(act, Delegate)}
    assert numbers == set(range(children))
    assert {scenario.family for scenario in scenarios} == {SWEEP}


PLANTABLE = {
    *("user.current", "user.earlier", "parent.text", "task.input"),
    *("child.text", "child.tool.args", "child.tool.result", "child.tool.noise", "child.answer"),
}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        (
            "task",
            {"task.goal", "task.constants", "parent.tool.args", "parent.tool.result", "parent.tool.noise"},
        ),
        ("rules", set()),
    ],
    ids=["task", "rules"],
)
def test_the_sweep_plants_every_slot_at_once(name: str, more: set[str]) -> None:
    """All that a script can plant on the target stands in each of its conversations."""
    for scenario in sweep(TARGETS[name]):
        assert {place.slot for place in scenario.places()} == PLANTABLE | more


def test_the_sweep_has_two_users_whose_names_begin_alike() -> None:
    """The cheapest look at what crosses users."""
    for scenario in sweep(TARGETS["task"]):
        one, two = (scenario.users[number] for number in sorted({turn.user for turn in scenario.turns}))
        assert two.startswith(one)


def inner(acts: tuple[Act, ...]) -> Iterator[Act]:
    """All acts, those of children included."""
    for act in acts:
        yield act
        if isinstance(act, Delegate):
            yield from inner(act.acts)


def test_structures_of_cross_user_attacks_are_kept() -> None:
    """Users, sessions and subjects of a full draw are those of the attack file, in its order."""
    family = FAMILIES["cross-user"]
    for number, attack in enumerate(attacks_of(family)):
        scenario = family.build(attacks_of(family), TARGETS["task"], (number, *[0] * 8))
        assert scenario.attack == attack.id
        assert tuple(turn.user for turn in scenario.turns) == attack.structure.order
        assert scenario.users == attack.structure.users
        assert scenario.concurrent == attack.structure.concurrent
        if attack.structure.sessions:
            assert tuple(turn.session for turn in scenario.turns) == attack.structure.sessions
        if attack.structure.about:
            assert tuple(turn.subject for turn in scenario.turns) == attack.structure.about


def test_a_follow_up_after_an_edit_carries_the_new_value() -> None:
    """The old value is in no later task, and the edit is never left out."""
    family = FAMILIES["turn-drift"]
    mine = attacks_of(family)
    number = next(i for i, attack in enumerate(mine) if attack.id == "edited-earlier-step")
    for name, declaration in TARGETS.items():
        for keep in range(64):
            scenario = family.build(mine, declaration, (number, 0, keep, *[0] * 6))
            *_, edit, last = (places_in(turn.delegations[0].task)[-1] for turn in scenario.turns)
            assert (edit, edit.turn) == (last, len(scenario.turns) - 2), (name, keep)


def test_a_turn_can_hand_over_two_tasks() -> None:
    """Two children of one turn, each with places of its own; at a parent of rules each task is a text."""
    family = FAMILIES["state-residue"]
    drawn = (0, 0, 2, *[0] * 6)
    for name, wanted in (("task", 2), ("rules", 1)):
        last = family.build(attacks_of(family), TARGETS[name], drawn).turns[-1]
        assert len(last.delegations) == wanted


SIZES = {"limit-1": -1, "limit": 0, "limit+1": 1}


@pytest.mark.parametrize("of", ["task", "tool.args"])
def test_an_overflowing_text_has_exactly_the_size(of: str) -> None:
    """limit-1, limit, limit+1 and ten times the limit, tokens counted, for every script of atoms."""
    family = FAMILIES["boundary-overflow"]
    attacks = tuple(a for a in attacks_of(family) if a.overflow and a.overflow.of == of and a.overflow.sizes)
    assert attacks
    for number, attack in enumerate(attacks):
        assert attack.overflow is not None
        for size, name in enumerate(attack.overflow.sizes):
            for atom in range(len(attack.overflow.atoms)):
                drawn = (number, 0, size, atom, *[0] * 7)
                scenario = family.build(attacks, TARGETS["task"], drawn)
                limit = scenario.limits.window if of == "task" else scenario.limits.tool_output
                wanted = 10 * limit if name == "10x" else limit + SIZES[name]
                if attack.overflow.twist:
                    wanted += 1  # the lone surrogate at its end
                assert max(lengths(scenario, of)) == wanted, (attack.id, name, atom)


def lengths(scenario: Scenario, of: str) -> Iterator[int]:
    """The lengths of the attacked texts with tokens of twenty characters in them."""
    for act in inner(scenario.turns[-1].acts):
        text = getattr(act, "task" if of == "task" else "query", None)
        if text is not None and (of == "task" or act is not scenario.turns[-1].acts[0]):
            yield len(text) - sum(len(place.placeholder) - 20 for place in places_in(text))


def test_a_place_is_counted_once_for_each_carrier() -> None:
    """Two texts of one slot in one turn get running numbers."""
    numbers = Counter(
        (place.slot, place.turn, place.n)
        for scenario in sweep(TARGETS["task"])
        for place in scenario.places()
    )
    assert {key[2] for key in numbers} == {0}
    assert Place("task.input", 0, 0, 0, 0) in next(iter(sweep(TARGETS["task"]))).places()
