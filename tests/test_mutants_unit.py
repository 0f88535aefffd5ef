"""Each seeded defect on the smallest case that shows it: its oracle kills it, the clean runtime is silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from isolation_kit.finding import Finding
from isolation_kit.mutants import MUTANTS, Mutant
from isolation_kit.oracles import all_oracles, drive
from isolation_kit.policy import Policy
from isolation_kit.scenario import Act, Answer, Delegate, Place, Say, Scenario, TurnPlan, UseTool
from isolation_kit.stage import Ledger, Runner
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference import reference_rules, reference_task

JUDGES = tuple(oracle for oracle in all_oracles() if oracle.name in ("canary", "contract", "noninterference"))
TWINS = {"task": reference_task, "rules": reference_rules}


def at(slot: str, user: int = 0, subject: int = -1, turn: int = 0) -> str:
    """The placeholder of a place."""
    return Place(slot, user, subject, turn).placeholder


def turn(*acts: Act, text: str = "hello", user: int = 0, subject: int = -1) -> TurnPlan:
    """One turn of a user in a session of their own."""
    return TurnPlan(user, text, (*acts, Answer("ok")), f"s{user}", subject)


def case(*turns: TurnPlan) -> Scenario:
    """A quiet case with as many users as its turns name."""
    users = tuple(f"u_{number}" for number in range(1 + max(plan.user for plan in turns)))
    return Scenario("unit", "unit", 1, turns, users=users, subjects=("张伟", "李娜"))


def reply(raw: str) -> Scenario:
    """One delegation whose child reads one tool reply."""
    return case(turn(Delegate(0, "find it", (UseTool(0, "q", raw), Answer("42")))))


TASK = Delegate(0, "find it", (Answer("42"),))
NOISE = at("child.tool.noise")
SMALLEST: dict[int, Scenario] = {
    1: case(turn(TASK, text=f"hello {at('user.current')}")),
    2: case(turn(TASK, text=f"hello {at('user.current')}")),
    5: case(turn(Say(f"plan {at('parent.text')}"), TASK)),
    7: case(turn(Delegate(0, f"for {at('task.input')}")), turn(TASK, user=1)),
    10: reply(f'{{"amount": 1, "trace_id": "{NOISE}"}}'),
    11: reply(f'{{"items": [{{"name": "a", "debug": "{NOISE}"}}]}}'),
    14: reply('{"amount": 129.5} // rounded'),
    17: reply(f'{{"amount": 1, "%74race_id": "{NOISE}"}}'),
    21: case(turn(TASK, text=f"hello {at('user.current')}")),
    28: reply(f'{{"amount": 1}} // {NOISE}'),
    29: case(turn(Delegate(0, f"for {at('task.input')}"))),
    35: case(turn(Delegate(0, "one", (Answer(at("child.answer")),))), turn(Delegate(0, "two"), user=1)),
    42: case(turn(Delegate(0, at("task.input"))), turn(Delegate(0, "two"), user=1)),
    49: case(turn(TASK)),
    64: case(
        turn(Delegate(0, at("task.input", subject=1)), subject=1),
        turn(Delegate(0, at("task.input", subject=0)), subject=0),
    ),
}


@pytest.fixture
def judge() -> Iterator[Callable[..., list[Finding]]]:
    """Runs a case against a target and returns the findings that decide."""
    runners: list[Runner] = []

    def run(factory: Callable[..., object], scenario: Scenario) -> list[Finding]:
        declaration = declaration_of(factory)
        runner = Runner(declaration, Ledger(11))
        runners.append(runner)
        verdicts = [
            drive(oracle, scenario, declaration, Policy(), lambda variant: runner.execute(variant.scenario))
            for oracle in JUDGES
        ]
        assert not any(verdict.verdict == "ERROR" for verdict in verdicts)
        return [item for verdict in verdicts for item in verdict.findings if item.counts]

    yield run
    for runner in runners:
        runner.close()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_defect_is_killed_as_expected(mutant: Mutant, judge: Callable[..., list[Finding]]) -> None:
    """By its oracle, at its slot, channel and direction."""
    found = judge(mutant.target, SMALLEST[mutant.number])
    expected = (mutant.oracle, mutant.slot, mutant.channel, mutant.direction)
    prints = [(item.oracle, *_place(item)) for item in found]
    assert expected in prints, sorted(set(prints))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_clean_twin_is_silent(mutant: Mutant, judge: Callable[..., list[Finding]]) -> None:
    """The same case raises nothing against the clean runtime."""
    assert judge(TWINS[mutant.base], SMALLEST[mutant.number]) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_table_states_the_size_of_the_smallest_case(mutant: Mutant) -> None:
    """Users, turns and placeholders of the case above."""
    smallest = SMALLEST[mutant.number]
    sizes = (len(smallest.users), len(smallest.turns), len(smallest.places()))
    assert sizes == (mutant.users, mutant.turns, mutant.secrets)


def test_each_defect_is_selectable_by_its_name() -> None:
    """`isolation_kit.mutants:<name>` is the target of that name."""
    import isolation_kit.mutants as module

    for mutant in MUTANTS:
        assert getattr(module, mutant.name) is mutant.target
        assert declaration_of(mutant.target).name == mutant.name


def _place(finding: Finding) -> tuple[str, str, str]:
    print_ = finding.fingerprint
    return print_.what, print_.channel, print_.direction
