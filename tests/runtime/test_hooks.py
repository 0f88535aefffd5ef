"""Hooks: every watcher hears every moment, in order."""

from __future__ import annotations

import inspect

import pytest

from isolation_kit.errors import KitError
from isolation_kit.runtime.hooks import Hooks, NoHooks
from isolation_kit.runtime.several import Several

MOMENTS = [name for name, _ in inspect.getmembers(Hooks, inspect.isfunction) if not name.startswith("_")]


class Ear(NoHooks):
    """Writes down what it hears."""

    def __init__(self, name: str, heard: list[tuple[str, str, tuple[object, ...]]]) -> None:
        for moment in MOMENTS:
            setattr(self, moment, lambda *args, moment=moment: heard.append((name, moment, args)))


@pytest.mark.parametrize("moment", MOMENTS)
def test_several_watchers_all_hear_each_moment(moment: str) -> None:
    """A moment added to the protocol and forgotten in the fan-out is found here."""
    heard: list[tuple[str, str, tuple[object, ...]]] = []
    arguments = tuple(object() for _ in list(inspect.signature(getattr(Hooks, moment)).parameters)[1:])
    getattr(Several(Ear("first", heard), Ear("second", heard)), moment)(*arguments)
    assert heard == [("first", moment, arguments), ("second", moment, arguments)]


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_hooks_hears_each_moment_and_does_nothing(moment: str) -> None:
    """The default takes the arguments of the protocol, and returns nothing."""
    wanted = inspect.signature(getattr(Hooks, moment))
    assert (
        inspect.signature(getattr(NoHooks, moment)) == wanted == inspect.signature(getattr(Several, moment))
    )
    assert getattr(NoHooks(), moment)(*[None] * (len(wanted.parameters) - 1)) is None


class Broken(NoHooks):
    """Raises when it hears a line."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def log_line(self, agent: str, line: str) -> None:
        """Raise."""
        raise self.error


def test_a_watcher_that_raises_breaks_no_run_and_is_counted() -> None:
    """The next one hears the moment all the same."""
    heard: list[tuple[str, str, tuple[object, ...]]] = []
    both = Several(Broken(RuntimeError("full disk")), Ear("second", heard))
    both.log_line("worker", "a line")
    assert (both.failed, heard) == (1, [("second", "log_line", ("worker", "a line"))])


def test_a_fault_of_the_kit_goes_through() -> None:
    """A watcher of the kit that finds the kit at fault must be heard."""
    with pytest.raises(KitError):
        Several(Broken(KitError("no such state"))).log_line("worker", "a line")
