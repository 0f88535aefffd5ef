"""A runtime of scripts that all observers watch, with a clock that the tests move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.runtime import ChildSpec, Message, ParentScope, SubAgentResult, delegate
from isolation_kit.runtime.observe import Measure, Names, Watching, names_of, watch
from isolation_kit.runtime.text import keyed_digest


@dataclass
class Clock:
    """Seconds that pass when told to."""

    now: float = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass
class Watched:
    """A rig whose runtime is watched."""

    made: Any
    watching: Watching
    folder: Path
    spec: ChildSpec
    clock: Clock = field(default_factory=Clock)

    def run(self, text: str = "find it", history: tuple[Message, ...] = ()) -> SubAgentResult:
        """One delegation."""
        scope = ParentScope("u", "s", list(history))
        runtime = replace(self.made.runtime, hooks=self.watching.hooks)
        result = asyncio.run(delegate(runtime, scope, self.spec, {"request": text}))
        self.flush()
        return result

    def flush(self) -> None:
        """Write what waits."""
        for file in self.watching.files:
            file.flush()


MakeWatched = Callable[..., Watched]


@pytest.fixture
def watched(rig: Any, worker: ChildSpec, tmp_path: Path) -> Iterator[MakeWatched]:
    """Makes a watched rig; `watch` takes the keywords that the rig does not."""
    with ExitStack() as stack:

        def make(scripts: Any, *, tool: Any = '{"amount": 1}', parts: Any = None, **options: Any) -> Watched:
            made = rig(scripts, tool, **({"parts": parts} if parts is not None else {}))
            clock = Clock()
            options = {"parents": ("parent",), "clock": clock, **options}
            digest = made.runtime.digest
            watching = stack.enter_context(watch(tmp_path, (worker,), digest, **options))
            return Watched(made, watching, tmp_path, worker, clock)

        yield make


@pytest.fixture
def names(worker: ChildSpec) -> Names:
    """The names of the worker and of a parent."""
    return names_of((worker,), keyed_digest(b"test"), parents=("parent",))


@pytest.fixture
def measure() -> Measure:
    """Characters as tokens."""
    return Measure(len, keyed_digest(b"test"))
