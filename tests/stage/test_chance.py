"""A target that throws dice throws others in each case and the same ones in each replay."""

from __future__ import annotations

import random

from tiny_target import full_case, tiny

from isolation_kit.audit import Campaign, Plan
from isolation_kit.content import load_attacks
from isolation_kit.finding import Verdict
from isolation_kit.outcome import Item
from isolation_kit.stage.chance import Dice
from isolation_kit.target import declaration_of

THROWS: list[float] = []


def brief(task: str, history: list[str]) -> str:
    """Half of the time all that the user ever said, so that it leaks."""
    THROWS.append(random.random())
    return f"{history} {task}" if THROWS[-1] < 0.5 else task


def audited(cases: int, seed: int) -> float:
    """The share of leaking cases in a run of this many."""
    with Campaign(
        declaration_of(tiny(brief=brief)), Plan(seed=seed, cases=cases, attacks=load_attacks())
    ) as run:
        tally = run.run(Item(0, "tiny", "noise-injection")).tally
    return tally.verdicts[str(Verdict.LEAK)] / tally.n


def test_dice_fall_differently_from_case_to_case() -> None:
    """A leak at every second throw is seen in about half of the delegations, not in none or in each."""
    THROWS.clear()
    share = audited(40, 7)
    assert len(set(THROWS)) > 0.7 * len(THROWS) > 30  # a case that is reduced is run again
    assert 0.2 < share < 1


def test_a_replay_throws_as_the_case_did() -> None:
    """The same case gives the same throws, in whatever run; a second execution of it gives others."""
    sets = []
    for _ in range(2):
        THROWS.clear()
        with Campaign(declaration_of(tiny(brief=brief)), Plan(attacks=load_attacks())) as run:
            run.replay(full_case())
        sets.append(tuple(THROWS))
    assert sets[0] == sets[1]
    assert len(set(sets[0])) > 1


def test_the_dice_are_given_back() -> None:
    """Who used Python's global generator before goes on as if no audit had been."""
    random.seed(3)
    expected = random.random()
    random.seed(3)
    dice = Dice()
    dice.throw("one case")
    dice.give_back()
    assert random.random() == expected
