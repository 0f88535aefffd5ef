"""Each seeded defect on the smallest case that shows it: its oracle kills it, the clean runtime is silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from isolation_kit.finding import Finding
from isolation_kit.mutants import Mutant, all_mutants
from isolation_kit.oracles import Variant, all_oracles, drive
from isolation_kit.policy import Policy
from isolation_kit.stage import Ledger, Runner
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference import reference_rules, reference_task
from isolation_kit.trace import Trace

TWINS = {"task": reference_task, "rules": reference_rules}


@pytest.fixture
def judge() -> Iterator[Callable[..., list[Finding]]]:
    """Runs a case against a target and returns the findings that decide."""
    runners: list[Runner] = []

    def run(factory: Callable[..., object], mutant: Mutant) -> list[Finding]:
        declaration = declaration_of(factory)
        runner = Runner(declaration, Ledger(11))
        runners.append(runner)
        case = mutant.smallest.base_digest()

        def once(variant: Variant) -> Trace:
            return runner.execute(variant.scenario, case, inspect=variant.inspect)

        verdicts = [
            drive(oracle, mutant.smallest, declaration, Policy(), once)
            for oracle in all_oracles()
            if oracle.name == mutant.oracle
        ]
        assert not any(verdict.verdict == "ERROR" for verdict in verdicts)
        return [item for verdict in verdicts for item in verdict.findings if item.counts]

    yield run
    for runner in runners:
        runner.close()


@pytest.mark.parametrize("mutant", all_mutants(), ids=lambda mutant: mutant.name)
def test_a_defect_is_killed_as_expected(mutant: Mutant, judge: Callable[..., list[Finding]]) -> None:
    """By its oracle, at its slot, channel and direction."""
    found = judge(mutant.target, mutant)
    assert any(mutant.shown_by(item) for item in found), [str(item.fingerprint) for item in found]


@pytest.mark.parametrize("mutant", all_mutants(), ids=lambda mutant: mutant.name)
def test_the_clean_twin_is_silent(mutant: Mutant, judge: Callable[..., list[Finding]]) -> None:
    """The same case raises nothing against the clean runtime."""
    assert judge(TWINS[mutant.base], mutant) == []


def test_each_defect_is_selectable_by_its_name() -> None:
    """`isolation_kit.mutants:<name>` is the target of that name."""
    import isolation_kit.mutants as module

    for mutant in all_mutants():
        assert getattr(module, mutant.name) is mutant.target
        assert declaration_of(mutant.target).name == mutant.name
