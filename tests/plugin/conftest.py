"""Runs pytest with the plugin, in this process or in one of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from systems import project

import isolation_kit

# Imported here, so that pytester, which forgets what an inner run imported, keeps one copy of each.
import isolation_kit.pytest_plugin.probe
import isolation_kit.pytest_plugin.run
import isolation_kit.pytest_plugin.under_test
import isolation_kit.targets.reference

__all__ = ["project"]

PLUGIN = ("-p", "isolation_kit.pytest_plugin", "-p", "no:cacheprovider")


def pytest_configure(config: pytest.Config) -> None:
    """Bring pytester along; below the top a conftest may not name plugins, so its options are set here."""
    if not config.pluginmanager.hasplugin("pytester"):
        config.option.lsof, config.option.runpytest = False, "inprocess"
        config.pluginmanager.import_plugin("pytester")


@pytest.fixture
def inner(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """Run pytest with the plugin in this process."""

    def run(*args: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess(*PLUGIN, *args)

    return run


@pytest.fixture
def outer(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Run pytest with the plugin in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(Path(isolation_kit.__file__).parents[1]))

    def run(*args: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess(*PLUGIN, *args)

    return run
