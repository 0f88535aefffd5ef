"""One event loop with one host for all tests here; children that are entries of `hostile_children`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from watched import ENTRIES

from isolation_kit.runtime import ChildSpec, ModelReply, ParentScope, RunLimits, SubAgentResult, delegate
from isolation_kit.runtime.contract import Contract, declared_fields
from isolation_kit.runtime.process import ProcessHost, ProcessLimits
from isolation_kit.runtime.process.control import available
from isolation_kit.runtime.process.linux import children_of


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip this folder where there are no child processes."""
    problem = available()
    for item in items:
        if problem and Path(__file__).parent in item.path.parents and "everywhere" not in item.name:
            item.add_marker(pytest.mark.skip(reason=problem))


@dataclass
class Place:
    """A loop and a host in it."""

    runner: asyncio.Runner
    host: ProcessHost

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do `work` in the loop."""
        return self.runner.run(work)

    @property
    def zygote(self) -> int:
        """The zygote's pid."""
        assert self.host._zygote is not None
        return self.host._zygote.pid

    def left(self) -> int:
        """How many processes are below the zygote, but for the one that waits for its task."""
        end = time.monotonic() + 2
        while not (below := children_of(self.zygote)) and time.monotonic() < end:
            time.sleep(0.002)  # it is about to be forked
        return len(below) - 1


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """The shared host, closed at the end."""
    limits = ProcessLimits(frame_bytes=1 << 20, total_bytes=4 << 20)
    with asyncio.Runner() as runner:
        host = ProcessHost(limits, ENTRIES, preload=("hostile_children",))
        yield Place(runner, host)
        runner.run(host.aclose())


@pytest.fixture
def spec(worker: ChildSpec) -> Callable[..., ChildSpec]:
    """A child by the name of its entry."""

    def make(name: str, memory_limit_mb: int = 32) -> ChildSpec:
        contract = Contract(8000, declared_fields(worker.tools), 3000, memory_limit_mb, "INFO")
        return replace(worker, name=name, contract=contract)

    return make


@dataclass
class Ended:
    """How one delegation ended: its result, its seconds, and what the hooks saw."""

    result: SubAgentResult
    seconds: float
    made: Any

    @property
    def outcome(self) -> tuple[str, tuple[str, ...]]:
        """Status and reasons."""
        return str(self.result.status), self.result.errors


@pytest.fixture
def live(place: Place, rig: Any, spec: Callable[..., ChildSpec]) -> Callable[..., Ended]:
    """Delegates once to an entry and returns how it ended."""

    def run(name: str, text: str = "hello", timeout_ms: int = 20_000, **more: Any) -> Ended:
        made = rig({name: [ModelReply("said")]}, limits=RunLimits(timeout_ms=timeout_ms))
        runtime = replace(made.runtime, launch=place.host.launch)
        start = time.monotonic()
        result = place.run(delegate(runtime, ParentScope("u", "s"), spec(name, **more), {"request": text}))
        return Ended(result, time.monotonic() - start, made)

    return run
