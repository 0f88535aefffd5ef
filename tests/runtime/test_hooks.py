"""Hooks: every watcher hears every moment, in order."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import replace
from typing import Any

import pytest

from isolation_kit.errors import KitError, UsageError
from isolation_kit.runtime import ModelReply, ParentScope, delegate
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


def test_a_broken_watcher_is_logged_once_by_its_type(caplog: pytest.LogCaptureFixture) -> None:
    """Its moment and the type of its error, none of its words, however often it raises."""
    broken = Several(Broken(RuntimeError("secret-7")))
    for _ in range(3):
        broken.log_line("worker", "a line")
    assert [record.getMessage() for record in caplog.records] == [
        "watcher failed moment=log_line error=RuntimeError"
    ]
    assert broken.failed == 3


@pytest.mark.parametrize("error", [KitError, UsageError])
def test_a_fault_of_the_kit_goes_through(error: type[Exception]) -> None:
    """A watcher of the kit that finds the kit at fault, or wrongly used, must be heard."""
    with pytest.raises(error):
        Several(Broken(error("no such state"))).log_line("worker", "a line")


class Raising(NoHooks):
    """Raises at each moment."""

    def __init__(self) -> None:
        for moment in MOMENTS:
            setattr(self, moment, self._raise)

    def _raise(self, *_: object) -> None:
        raise RuntimeError("full disk")


class Needed(Raising):
    """Raises, and must be heard."""

    unguarded = True


def _delegated(rig: Any, worker: Any, hooks: Any) -> Any:
    runtime = replace(rig({"worker": [ModelReply("42")]}).runtime, hooks=hooks)
    return runtime, asyncio.run(delegate(runtime, ParentScope("u", "s"), worker, {"request": "x"}))


def test_a_runtime_guards_a_single_watcher(rig: Any, worker: Any) -> None:
    """One that raises at each moment changes nothing: the child's answer comes up; a copy guards once."""
    runtime, result = _delegated(rig, worker, Raising())
    assert result.key_outputs == {"answer": "42"}
    assert replace(runtime).hooks is runtime.hooks
    assert runtime.hooks.failed > 5


def test_a_watcher_whose_record_is_needed_breaks_the_run(rig: Any, worker: Any) -> None:
    """An audit that could not record must not look clean."""
    with pytest.raises(RuntimeError, match="full disk"):
        _delegated(rig, worker, Needed())
