"""Shared settings and fixtures: no test's verdict depends on how busy the machine is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from isolation_kit.finding import Judgement
from isolation_kit.oracles import Oracle, Variant, all_oracles, drive
from isolation_kit.policy import Policy
from isolation_kit.scenario import Scenario
from isolation_kit.stage import Ledger, Runner
from isolation_kit.target import declaration_of
from isolation_kit.trace import Trace

settings.register_profile(
    "isolation-kit",
    deadline=None,  # the machine may be busy: slowness alone is no failure
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("isolation-kit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest file first, so that no worker waits for another one at the end."""
    items.sort(key=lambda item: item.path.name != "test_readme.py")


Execute = Callable[..., Trace]
Judge = Callable[..., Judgement]


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of public corpora; a test that needs it is skipped where it is absent."""
    default = Path(__file__).parents[2] / "shared" / "corpora"
    folder = Path(os.environ.get("ISOLATION_KIT_CORPORA", default))
    if not folder.is_dir():
        pytest.skip("no public corpora here; set ISOLATION_KIT_CORPORA to the folder that holds them")
    return folder


@pytest.fixture
def execute() -> Iterator[Execute]:
    """Runs one scenario against a target factory and returns the Trace; one runner a target."""
    runners: dict[object, Runner] = {}

    def run(
        factory: object, scenario: Scenario, timeout: float = 20.0, inspect: bool = False, case: str = ""
    ) -> Trace:
        if factory not in runners:
            runners[factory] = Runner(declaration_of(factory), Ledger(11), timeout=timeout)
        return runners[factory].execute(scenario, case, inspect=inspect)

    yield run
    for runner in runners.values():
        runner.close()


@pytest.fixture
def judge(execute: Execute) -> Judge:
    """Judges one scenario on a target factory by the oracle of a name."""

    def run(
        name: str, factory: object, scenario: Scenario, policy: Policy | None = None, timeout: float = 20.0
    ) -> Judgement:
        oracle: Oracle = next(oracle for oracle in all_oracles() if oracle.name == name)

        def once(variant: Variant) -> Trace:
            return execute(factory, variant.scenario, timeout, variant.inspect, scenario.base_digest())

        return drive(oracle, scenario, declaration_of(factory), policy or Policy(), once)

    return run
