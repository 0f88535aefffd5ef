"""Residue: a case after an ended session is the case alone; what came through is named by its slot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from tiny_target import at, full_case, tiny

from isolation_kit import mutants
from isolation_kit.finding import Judgement, Verdict
from isolation_kit.oracles.variants import after, pair
from isolation_kit.scenario import Answer, Scenario, Temperament, TurnPlan

Judge = Callable[..., Judgement]


@pytest.mark.parametrize(
    ("name", "slot", "channel"),
    [
        ("m06_aliased_examples", "task.input", "child.request"),
        ("m70_known_user", "parent.state", "child.context"),
    ],
)
def test_what_came_through_is_named(name: str, slot: str, channel: str, judge: Judge) -> None:
    """By the slot of the ended session's token, or as the parent's state where no token stands."""
    judgement = judge("residue", getattr(mutants, name), full_case())
    found = {(f.fingerprint.what, f.fingerprint.channel) for f in judgement.findings}
    assert judgement.verdict is Verdict.LEAK
    assert (slot, channel) in found
    assert {f.fingerprint.direction for f in judgement.findings} == {"after"}


def test_the_clean_twin_passes(judge: Judge) -> None:
    """Neither the children's Views nor the parent's show that somebody was there before."""
    judgement = judge("residue", tiny(), full_case())
    assert (judgement.verdict, judgement.findings, judgement.applicable) == (Verdict.PASS, (), True)


def test_chance_is_inconclusive_with_the_mask_to_add(judge: Judge) -> None:
    """A random header differs within one case."""
    noisy = tiny(headers=lambda history: {"X-Request-Id": uuid4().hex})
    judgement = judge("residue", noisy, full_case())
    assert (judgement.verdict, judgement.findings) == (Verdict.INCONCLUSIVE, ())
    assert judgement.masks == ("x_request_id: uuid",)
    assert '[policy] masks = ["x_request_id: uuid"]' in judgement.reason


def test_the_places_of_an_ended_session_are_its_own() -> None:
    """No place of the case stands in the turns before it, and none of the case's moved."""
    scenario = full_case()
    later = after(scenario, "both")
    own = later.turns[later.lead :]
    assert own == scenario.turns
    before = Scenario("f", "a", 1, later.turns[: later.lead], users=later.users).places()
    assert before.isdisjoint(scenario.places())
    assert {place.turn for place in before} <= set(range(-later.lead, 0))


def test_a_stored_pair_can_be_made_again() -> None:
    """The name that a finding carries is enough, and both cases survive their file."""
    for name in (
        "after:user",
        "after:session",
        "chat",
        "repeated",
        "padded:user.current",
        "error:user.current:1",
    ):
        for scenario in pair(full_case(), name):
            assert Scenario.from_json(scenario.to_json()) == scenario


@pytest.mark.parametrize(
    ("factory", "scenario"),
    [
        (tiny(scope="campaign"), full_case()),
        (tiny(), full_case(child=Temperament.PARROT)),
        (tiny(), full_case(concurrent=True)),
        (tiny(), full_case(turns=(TurnPlan(0, at("user.current"), (Answer("ok"),)),))),
        (tiny(headers=lambda history: 1 / 0), full_case()),  # type: ignore[arg-type,return-value]
    ],
    ids=["campaign", "parrot", "concurrent", "no-child", "failing"],
)
def test_where_it_does_not_apply_it_says_why(factory: Any, scenario: Scenario, judge: Judge) -> None:
    """With a reason, and no finding."""
    judgement = judge("residue", factory, scenario)
    assert not judgement.applicable
    assert judgement.reason
