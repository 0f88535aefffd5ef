"""Conservation: what a child is handed does not grow with history, siblings or repetition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from tiny_target import at, full_case, tiny

from isolation_kit import mutants
from isolation_kit.finding import Judgement, Verdict
from isolation_kit.policy import Allow, Policy
from isolation_kit.scenario import Answer, Scenario, Temperament, TurnPlan

Judge = Callable[..., Judgement]


def grows_with_history(task: str, history: list[str]) -> str:
    """A point for each thing that the user said."""
    return task + "." * len(history)


def test_a_brief_that_grows_with_the_history_is_a_leak_of_it(judge: Judge) -> None:
    """Down, of what the user said earlier; the same fingerprint as a count that noninterference sees."""
    judgement = judge("conservation", tiny(brief=grows_with_history), full_case())
    found = {(f.fingerprint.what, f.fingerprint.direction, f.variant) for f in judgement.findings}
    assert judgement.verdict is Verdict.LEAK
    assert found == {("user.earlier", "down", "chat")}
    assert {f.form for f in judgement.findings} == {"length or shape"}


def test_notes_that_grow_with_delegations_are_a_leak_of_answers(judge: Judge) -> None:
    """Sideways: a turn of chat alone moves nothing."""
    judgement = judge("conservation", mutants.m69_growing_notes, full_case())
    found = {(f.fingerprint.what, f.fingerprint.direction, f.variant) for f in judgement.findings}
    assert found == {("child.answer", "sideways", "repeated")}


def test_the_clean_twin_passes(judge: Judge) -> None:
    """A delegation more, a turn more: no size moves."""
    judgement = judge("conservation", tiny(), full_case())
    assert (judgement.verdict, judgement.findings, judgement.applicable) == (Verdict.PASS, (), True)


def test_a_random_id_of_equal_length_is_no_growth(judge: Judge) -> None:
    """Sizes are compared, not contents."""
    noisy = tiny(headers=lambda history: {"X-Request-Id": uuid4().hex})
    assert judge("conservation", noisy, full_case()).verdict is Verdict.PASS


def test_a_size_that_changes_by_itself_is_inconclusive(judge: Judge) -> None:
    """Never a leak: the same case gave another size."""
    runs: list[int] = []

    def longer(history: list[str]) -> dict[str, str]:
        runs.append(1)
        return {"n": "1" * len(runs)}

    judgement = judge("conservation", tiny(headers=longer), full_case())
    assert (judgement.verdict, judgement.findings) == (Verdict.INCONCLUSIVE, ())
    assert "the same case" in judgement.reason


def test_the_mask_that_it_names_makes_it_pass(judge: Judge) -> None:
    """A word of another length each time is named by its own path, not by that of a size."""
    runs: list[int] = []

    def longer(history: list[str]) -> dict[str, str]:
        runs.append(1)
        return {"n": "1" * (1 + len(runs) % 100)}

    system = tiny(headers=longer)
    judgement = judge("conservation", system, full_case())
    assert (judgement.verdict, judgement.masks) == (Verdict.INCONCLUSIVE, ("n: string",))
    pasted = Policy(masks=judgement.masks)
    assert judge("conservation", system, full_case(), pasted).verdict is Verdict.PASS
    grows = tiny(headers=longer, brief=grows_with_history)
    assert judge("conservation", grows, full_case(), pasted).verdict is Verdict.LEAK


def test_an_allow_entry_marks_it(judge: Judge) -> None:
    """The finding stays, and does not count."""
    entries = tuple(
        Allow("user.earlier", channel, "kid", "by design", "team")
        for channel in ("child.context", "child.request")
    )
    judgement = judge("conservation", tiny(brief=grows_with_history), full_case(), Policy(entries))
    assert judgement.findings
    assert judgement.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("factory", "scenario"),
    [
        (tiny(scope="campaign"), full_case()),
        (tiny(), full_case(root=Temperament.PARROT)),
        (tiny(), full_case(concurrent=True)),
        (tiny(), full_case(turns=(TurnPlan(0, at("user.current"), (Answer("ok"),)),))),
        (tiny(headers=lambda history: 1 / 0), full_case()),  # type: ignore[arg-type,return-value]
    ],
    ids=["campaign", "parrot", "concurrent", "no-child", "failing"],
)
def test_where_it_does_not_apply_it_says_why(factory: Any, scenario: Scenario, judge: Judge) -> None:
    """With a reason, and no finding."""
    judgement = judge("conservation", factory, scenario)
    assert not judgement.applicable
    assert judgement.reason
