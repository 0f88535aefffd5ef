"""Shared settings and fixtures: no test's verdict depends on how busy the machine is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

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


# Tests that run whole audits. ISOLATION_KIT_TEST_PART=1/2 runs one half of them, beside all others.
SLOW = (
    *("cli", "detect", "load", "matrix", "oracles", "plugin", "runtime", "service", "targets"),
    *("test_audit.py", "test_mutants.py"),
)


def _part() -> tuple[int, int]:
    """(i, n) of the environment: the i-th of n parts of the slow tests; all without it."""
    number, _, count = os.environ.get("ISOLATION_KIT_TEST_PART", "1/1").partition("/")
    return int(number), int(count)


def pytest_report_header() -> str:
    """Says which slow tests are left out, for nothing may be left out silently."""
    number, count = _part()
    left = "all tests" if count == 1 else f"part {number} of {count} of the slow tests ({', '.join(SLOW)})"
    return f"isolation-kit: {left}; ISOLATION_KIT_TEST_PART=i/n chooses"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The slowest file first, so that no worker waits for another at the end; one part of the slow ones."""
    number, count = _part()
    here = Path(__file__).parent
    left = [
        item
        for item in items
        if item.path.relative_to(here).parts[0] in SLOW and crc32(item.nodeid.encode()) % count != number - 1
    ]
    if left:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
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
