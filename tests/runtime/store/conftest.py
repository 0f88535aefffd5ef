"""Every session store, fresh, behind one fixture: what a store of another kind must pass as well."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from isolation_kit.runtime import MemoryStore, Store
from isolation_kit.runtime.store_sqlite import SqliteStore

Fresh = Callable[..., AbstractContextManager[Store]]


@dataclass
class Clock:
    """A clock that stands until it is set."""

    seconds: float = 1_000_000.0

    def __call__(self) -> float:
        """The time in seconds."""
        return self.seconds

    def pass_minutes(self, minutes: float) -> None:
        """Move on."""
        self.seconds += 60 * minutes


@pytest.fixture
def clock() -> Clock:
    """A clock that stands until it is set."""
    return Clock()


@pytest.fixture
def quick() -> Iterator[Path]:
    """A folder in memory where there is one: these tests are not about the disk, and each step is synced."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


@pytest.fixture(params=["memory", "sqlite"])
def fresh(request: pytest.FixtureRequest, quick: Path) -> Fresh:
    """Opens a new, empty store; its arguments are those of the stores (`on_write`, `now`)."""
    files = (quick / f"{number}.db" for number in count())

    @contextmanager
    def opened(**arguments: Any) -> Iterator[Store]:
        if request.param == "memory":
            yield MemoryStore(**arguments)
        else:
            with SqliteStore(next(files), **arguments) as store:
                yield store

    return opened
