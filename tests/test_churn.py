"""Session churn: sessions come, are killed, retried, resumed and go; a clean target keeps them apart."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import pytest
from tiny_target import tiny

from isolation_kit.audit.churn import Churned, churn_machine, run_churn
from isolation_kit.errors import UsageError
from isolation_kit.mutants import all_mutants
from isolation_kit.oracles.interleaving import ORACLE
from isolation_kit.scenario import Order
from isolation_kit.targets.reference import reference_rules, reference_task

LEAKY = {mutant.name: mutant.target for mutant in all_mutants()}


def drops_after_the_first() -> Any:
    """A system whose second delegation of a run is given no task."""
    given: list[str] = []

    def brief(task: str, history: list[str]) -> str:
        given.append(task)
        return task if len(given) % 2 else "nothing"

    return tiny(brief=brief)


@pytest.mark.parametrize("factory", [reference_task, reference_rules, tiny()], ids=["task", "rules", "tiny"])
def test_a_clean_target_keeps_its_sessions_apart(factory: Any) -> None:
    """No foreign token, and no own one lost."""
    run_churn(factory, examples=8, steps=8)


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (LEAKY["m31_current_session"], "LEAK task.goal -> result (across)"),
        (LEAKY["m42_pooled_child"], "LEAK task.input -> child.request (a"),
        (drops_after_the_first(), "LOSS task."),
    ],
    ids=["overwritten", "pooled", "dropped"],
)
def test_a_leaky_twin_is_found(factory: Any, said: str) -> None:
    """The message names slot and channel, never a token, and holds the case."""
    with pytest.raises(Churned) as caught:
        run_churn(factory, examples=30, steps=8, shrink=False)
    assert said in str(caught.value)
    assert "canary" not in str(caught.value)
    assert caught.value.scenario.schedule.order in Order


def test_what_is_found_replays(judge: Callable[..., Any]) -> None:
    """The case is one like any other: the interleaving oracle says the same of it."""
    factory = LEAKY["m31_current_session"]
    with pytest.raises(Churned) as caught:
        run_churn(factory, examples=30, steps=8, shrink=False)
    found = judge(ORACLE.name, factory, caught.value.scenario).findings
    assert ("task.input", "result") in {(f.fingerprint.what, f.fingerprint.channel) for f in found}


def test_the_machine_is_a_test_case_of_ones_own() -> None:
    """`churn_machine(target).TestCase` is what a test module holds."""
    case = churn_machine(tiny()).TestCase
    case.settings = type(case.settings)(case.settings, max_examples=2, stateful_step_count=4, deadline=None)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert (result.testsRun, result.errors, result.failures) == (1, [], [])


def test_a_failing_target_is_told_apart() -> None:
    """Its error is named, as the stage names it."""

    def fails(history: list[str]) -> dict[str, str]:
        raise RuntimeError("secret")

    with pytest.raises(Churned, match="RuntimeError") as caught:
        run_churn(tiny(headers=fails), examples=5, steps=6, shrink=False)
    assert "secret" not in str(caught.value)


def test_what_is_no_target_is_refused() -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match="is no target"):
        run_churn(lambda stage: None)


def test_scripts_in_which_nothing_is_said_are_no_pass() -> None:
    """One step makes a session at most: such a run never meets the target."""
    with pytest.raises(UsageError, match="proves nothing"):
        run_churn(tiny(), examples=3, steps=1)
