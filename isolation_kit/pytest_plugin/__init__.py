"""The pytest plugin: `pytest --isolation` audits what `isolation.toml` declares, beside the user's own tests.

pytest imports this module in every project that has the kit installed. So it imports nothing of the kit, nor
any library, until `--isolation` is given or one of its fixtures is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from isolation_kit.pytest_plugin.probe import Probe
    from isolation_kit.pytest_plugin.under_test import TargetUnderTest

__all__ = [
    "isolation_probe",
    "isolation_target",
    "pytest_addoption",
    "pytest_configure",
    "pytest_runtest_call",
]

_MARKER = (
    "isolation: a hand-written isolation test; `pytest --isolation` wants at least one, or isolation.toml"
)
_PASSED = pytest.StashKey[bool]()
_UNUSED = (
    "the test takes {} and ended without a judgement of it, so it proves nothing; judge what it did, for "
    "example {}, or do not take the fixture"
)

# name, metavar, help; each becomes --isolation-NAME
_VALUES = (
    ("cases", "N", "generated cases per item (target x family)"),
    ("seed", "S", "seed of the run: same seed, same findings"),
    ("profile", "NAME", "how much each oracle judges: quick, ci or deep"),
    ("max-time", "5m", "start no further block of cases after this time; what was cut is shown"),
    ("baseline", "PATH", "file of known leaks"),
    ("fail-on", "WHAT", "which leaks fail: any, new (not in the baseline) or never"),
    ("replay", "CASE.json", "judge one stored case on every target, instead of the audit"),
    ("shard", "i/n", "run the i-th of n parts; `isolation-kit merge` adds the reports up"),
)
_FLAGS = (
    ("update-baseline", "write this run's leaks into the baseline"),
    ("reveal", "store the raw bytes of leaking cases, readable by the owner only"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; their texts are checked in `pytest_configure`."""
    group = parser.getgroup("isolation", "context isolation of agent systems")
    group.addoption("--isolation", action="store_true", help="audit the targets of isolation.toml")
    for name, metavar, text in _VALUES:
        group.addoption(f"--isolation-{name}", metavar=metavar, default=None, help=text)
    for name, text in _FLAGS:
        group.addoption(f"--isolation-{name}", action="store_true", default=False, help=text)
    group.addoption(
        "--isolation-report",
        action="append",
        metavar="TYPE:PATH",
        default=None,
        help="write a further report: json, md or html (repeatable)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load and check everything under `--isolation`; otherwise only make the marker known."""
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("isolation"):
        from isolation_kit.pytest_plugin.run import start

        start(config)
        return
    for name in (*(name for name, *_ in _VALUES), *(name for name, _ in _FLAGS), "report"):
        if config.getoption(f"isolation_{name.replace('-', '_')}"):
            raise pytest.UsageError(
                f"--isolation-{name} does nothing without --isolation; add it, for example: "
                f"pytest --isolation --isolation-{name} ..."
            )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Remember that the test ran to its end, for its fixtures' tear-down."""
    yield
    item.stash[_PASSED] = True


@pytest.fixture
def isolation_target(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], TargetUnderTest]]:
    """Make a target under test of a factory that `@target` declared, perhaps inside the test itself."""
    from isolation_kit.pytest_plugin.under_test import Bench

    with Bench(request.config) as make:
        yield make
        if _passed(request) and not make.ran:
            pytest.fail(_UNUSED.format("isolation_target", "isolation_target(team).assert_isolated()"), False)


@pytest.fixture
def isolation_probe(request: pytest.FixtureRequest) -> Iterator[Probe]:
    """Canaries and a recorder for a test that drives its system itself, sync or in the test's own loop."""
    from isolation_kit.pytest_plugin.probe import probe_of

    probe = probe_of(request.config, request.node.nodeid)
    yield probe
    if _passed(request) and not probe.judged:
        pytest.fail(_UNUSED.format("isolation_probe", "isolation_probe.assert_isolated()"), False)


def _passed(request: pytest.FixtureRequest) -> bool:
    """True if the test ran to its end; one that was skipped or failed says enough itself."""
    return bool(request.node.stash.get(_PASSED, False))
