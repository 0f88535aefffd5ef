"""Every session store, fresh, behind one fixture: what a store of another kind must pass as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
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


@pytest.fixture(params=["memory", "sqlite"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Fresh:
    """Opens a new, empty store; its arguments are those of the stores (`on_write`, `now`)."""
    files = (tmp_path / f"{number}.db" for number in count())

    @contextmanager
    def opened(**arguments: Any) -> Iterator[Store]:
        if request.param == "memory":
            yield MemoryStore(**arguments)
        else:
            with SqliteStore(next(files), **arguments) as store:
                yield store

    return opened
