"""The fixture `isolation_target`: audits a target that a test builds, with the test's own fixtures inside."""

from __future__ import annotations

from typing import Any

import pytest

from isolation_kit.audit import Campaign, items
from isolation_kit.closing import Closing
from isolation_kit.faces import Project, judge
from isolation_kit.faces.work import replayed
from isolation_kit.finding import Verdict
from isolation_kit.fingerprints import CaseOutcome
from isolation_kit.hush import hushed
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.pytest_plugin.items import IsolationFailure
from isolation_kit.pytest_plugin.setting import config_of, project_for
from isolation_kit.scenario import Scenario
from isolation_kit.target import declaration_of

__all__ = ["Bench", "TargetUnderTest"]


class Bench(Closing):
    """Call it with a factory to get a target under test."""

    def __init__(self, pytestconfig: pytest.Config) -> None:
        self._config = pytestconfig
        self._made: list[tuple[TargetUnderTest, Campaign]] = []

    def __call__(self, factory: Any) -> TargetUnderTest:
        """A target under test of a factory that `@target` declared.

        Raises:
            UsageError: if it is no such factory.
        """
        declaration = declaration_of(factory)
        project = project_for(config_of(self._config), declaration)
        with hushed():
            campaign = Campaign(declaration, project.plan(declaration.name))
        made = TargetUnderTest(project, campaign)
        self._made.append((made, campaign))
        return made

    @property
    def ran(self) -> bool:
        """True if at least one of them ran."""
        return any(made.outcomes for made, _ in self._made)

    def close(self) -> None:
        """Tear all of them down."""
        with hushed():
            while self._made:
                self._made.pop()[1].close()


class TargetUnderTest:
    """One target with everything that was run against it so far.

    The target runs in a thread with an event loop of its own: a fixture that belongs to the test's loop must
    not be used inside it.
    """

    def __init__(self, project: Project, campaign: Campaign) -> None:
        self._project = project
        self._campaign = campaign
        self._name = campaign.declaration.name
        self.outcomes: list[ItemOutcome] = []

    def run(self, scenario: Scenario) -> CaseOutcome:
        """Judge one case under every oracle."""
        item = Item(len(self.outcomes), self._name, f"case-{len(self.outcomes)}")
        with hushed():
            case = self._campaign.replay(scenario)
        self.outcomes.append(replayed(item, scenario, case))
        return case

    def sweep(self) -> ItemOutcome:
        """Plant every slot once, reach every child once under each temperament."""
        return self._run("sweep")

    def census(self, family: str) -> ItemOutcome:
        """The generated cases of one family, as many as `isolation.toml` says."""
        return self._run(family)

    def _run(self, family: str) -> ItemOutcome:
        (item,) = [item for item in items((self._name,), self._project.families) if item.family == family]
        with hushed():
            outcome = self._campaign.run(item)
        self.outcomes.append(outcome)
        return outcome

    def assert_isolated(self) -> None:
        """Fail unless everything that ran passed; if nothing ran, the sweep runs first.

        Raises:
            IsolationFailure: the verdict, the top fingerprints and where the smallest case lies.
        """
        if not self.outcomes:
            self.sweep()
        judged = [judge(self._project, outcome) for outcome in self.outcomes]
        failed = [item for item in judged if item.verdict is not Verdict.PASS]
        if not failed:
            return
        for outcome in self.outcomes:
            self._project.output.store_cases(outcome)
        failed.sort(key=lambda item: tuple(Verdict).index(item.verdict))
        raise IsolationFailure("\n".join(item.text for item in failed))
