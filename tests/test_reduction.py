"""Reduction: the result still leaks, is never larger, costs at most its budget, and is the same again."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import scenarios

from isolation_kit.reduction import reduce
from isolation_kit.scenario import (
    Act,
    Answer,
    Break,
    Breaking,
    Delegate,
    Limits,
    Order,
    Place,
    Say,
    Scenario,
    Schedule,
    Temperament,
    TurnPlan,
    UseTool,
    fill,
)

Witness = Callable[[Scenario], bool]


def _slots(scenario: Scenario) -> set[str]:
    return {place.slot for place in scenario.places()}


WITNESSES: dict[str, Callable[[Scenario], Witness]] = {
    "a slot": lambda base: lambda case: min(_slots(base), default="") in {"", *_slots(case)},
    "two users": lambda base: (
        lambda case: (
            len({turn.user for turn in case.turns}) >= min(2, len({turn.user for turn in base.turns}))
        )
    ),
    "as many acts": lambda base: (
        lambda case: (
            sum(len(turn.acts) for turn in case.turns) >= min(2, sum(len(turn.acts) for turn in base.turns))
        )
    ),
    "any": lambda base: lambda case: True,
    "only the whole": lambda base: lambda case: case == base,
}
witnesses = st.sampled_from(sorted(WITNESSES))


def size(scenario: Scenario) -> tuple[int, int, int]:
    """Users, turns and places: what a reader must follow."""
    return len({t.user for t in scenario.turns}), len(scenario.turns), len(scenario.places())


def characters(scenario: Scenario) -> int:
    """All that there is to read, each placeholder taken as one sign."""
    return sum(len(fill(text, lambda place: "*")) for text in scenario.texts())


@given(scenarios(), witnesses)
@settings(max_examples=60)
def test_the_result_still_leaks_and_is_never_larger(scenario: Scenario, name: str) -> None:
    """What is handed out shows the leak, with no more users, turns, places or characters."""
    witness = WITNESSES[name](scenario)
    smaller, _ = reduce(scenario, witness, 120)
    assert witness(smaller)
    assert all(new <= old for new, old in zip(size(smaller), size(scenario), strict=True))
    assert characters(smaller) <= characters(scenario)


@given(scenarios(), witnesses, st.integers(0, 40))
@settings(max_examples=60)
def test_it_is_bounded_and_deterministic(scenario: Scenario, name: str, budget: int) -> None:
    """Never more executions than the budget, no candidate twice, the same result again."""
    runs: list[str] = []
    witness = WITNESSES[name](scenario)

    def counted(candidate: Scenario) -> bool:
        runs.append(candidate.digest())
        return witness(candidate)

    first = reduce(scenario, counted, budget)
    assert len(runs) == len(set(runs)) == first[1] <= budget
    assert reduce(scenario, witness, budget) == first


@given(scenarios(), witnesses)
@settings(max_examples=40)
def test_a_finished_reduction_is_its_own_result(scenario: Scenario, name: str) -> None:
    """Where the budget sufficed, nothing is left to drop."""
    witness = WITNESSES[name](scenario)
    smaller, spent = reduce(scenario, witness, 2000)
    if spent < 2000:
        assert reduce(smaller, witness, 2000)[0] == smaller


@given(scenarios())
@settings(max_examples=40)
def test_reduced_cases_are_stored_and_read_back(scenario: Scenario) -> None:
    """Indices of users, subjects and turns stay valid through every step."""
    seen: list[Scenario] = []

    def keep(candidate: Scenario) -> bool:
        seen.append(candidate)
        return True

    reduce(scenario, keep, 60)
    for candidate in seen:
        assert Scenario.from_json(candidate.to_json()) == candidate


SECRET = Place("user.earlier", 1, 0, 1).placeholder
NOISY = '{"amount": 1, "meta": {"debug": "%s", "node": "n1"}, "items": [{"a": 1}, {"b": 2}]}'
ACTS: tuple[Act, ...] = (
    Say("a plan"),
    UseTool(1, "query", NOISY % "none"),
    Delegate(1, "the task", (UseTool(0, "q", NOISY % SECRET), Answer("found")), "be brief"),
    Answer("done"),
)
LARGE = Scenario(
    "f",
    "a",
    3,
    (TurnPlan(0, "hello there", ACTS[:1]), TurnPlan(1, "long " * 50, ACTS, "s1", 1), TurnPlan(2, "bye")),
    users=("u_a", "u_b", "u_c"),
    subjects=("张伟", "李娜"),
    root=Temperament.PARROT,
    concurrent=True,
    limits=Limits(600, 400),
)


def test_a_large_case_reduces_to_its_one_line() -> None:
    """One user, one turn, one delegation with one tool reply that holds nothing but the secret."""

    def leaks(case: Scenario) -> bool:
        return any(
            isinstance(inner, UseTool) and "user.earlier" in inner.reply
            for turn in case.turns
            for act in turn.acts
            if isinstance(act, Delegate)
            for inner in act.acts
        )

    smallest, spent = reduce(LARGE, leaks)
    assert spent < 200
    assert smallest.quiet
    assert (smallest.users, smallest.subjects, smallest.concurrent) == (("u_b",), (), False)
    (turn,) = smallest.turns
    (delegate,) = turn.acts
    assert isinstance(delegate, Delegate)
    assert (turn.text, turn.session, delegate.task, delegate.constants) == ("", "s", "", "")
    (use,) = delegate.acts
    assert isinstance(use, UseTool)
    assert json.loads(use.reply) == {"meta": {"debug": Place("user.earlier", 0, -1, 0).placeholder}}


@pytest.mark.parametrize("budget", [0, 1, 7])
def test_a_spent_budget_keeps_what_it_has(budget: int) -> None:
    """The case so far is returned, leaking as before."""
    smaller, spent = reduce(LARGE, lambda case: SECRET in case.to_json(), budget)
    assert spent == budget
    assert SECRET in smaller.to_json()


def test_places_move_up_with_their_turns() -> None:
    """Dropping the first turn leaves no placeholder that names a turn which is not there."""
    turns = tuple(TurnPlan(0, Place("user.current", 0, -1, index).placeholder) for index in range(3))
    smallest, _ = reduce(Scenario("f", "a", 1, turns), lambda case: len(case.places()) >= 1)
    assert [place.turn for place in smallest.places()] == [0]


@pytest.mark.parametrize(
    "reply", ["", "1", "x", "{}", SECRET * 2], ids=["empty", "number", "x", "object", "glued"]
)
def test_a_short_reply_is_not_replaced_by_a_longer_one(reply: str) -> None:
    """The smallest replies stay as they are, so that a reduced case reduces no further."""
    case = Scenario("f", "a", 1, (TurnPlan(0, "", (UseTool(0, "", reply),)),))
    smallest, _ = reduce(case, lambda case: bool(case.turns[0].acts))
    assert characters(smallest) <= characters(case)
    assert reduce(smallest, lambda case: bool(case.turns[0].acts))[0] == smallest


def test_a_schedule_is_reduced_with_its_case() -> None:
    """Breaks that do not matter go; those that do move with their turn."""
    breaks = (Break(Breaking.RETRY, 0, 1), Break(Breaking.CANCEL, 2, 1))
    turns = tuple(TurnPlan(user, "", (Answer("x"),), "s") for user in (0, 1, 0))
    case = Scenario("f", "a", 1, turns, users=("u_a", "u_b"))

    def cancelled(candidate: Scenario) -> bool:
        cut = [item for item in candidate.schedule.breaks if item.kind is Breaking.CANCEL]
        return any(candidate.turns[item.turn].user == 0 for item in cut)

    smallest, _ = reduce(case.scheduled(Schedule(Order.ROUND_ROBIN, breaks)), cancelled)
    assert smallest.schedule == Schedule(Order.ROUND_ROBIN, (Break(Breaking.CANCEL, 0, 1),))
    assert (len(smallest.turns), smallest.users) == (1, ("u_a",))


def test_a_schedule_that_does_not_matter_goes() -> None:
    """A leak that needs no order gets none."""
    case = Scenario("f", "a", 1, (TurnPlan(0, "x"),)).scheduled(Schedule(Order.REVERSED))
    assert reduce(case, lambda candidate: True)[0].schedule == Schedule()
