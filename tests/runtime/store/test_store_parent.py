"""A parent on a SQLite store that fails: the right end of the turn, and no word of it in any context."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.runtime import ModelReply, ParentScope, RulesParent, rules_turn
from isolation_kit.runtime.failures import Language, in_language
from isolation_kit.runtime.store import StoreFullError
from isolation_kit.runtime.store_sqlite import SqliteStore
from isolation_kit.targets.reference import BILL_QUERY, PDF_EXPORT, RULES

ASKED = "查张伟的账单 编号〔zhang1〕"
FOLLOW_UP = "张伟的账单最便宜吗"
ROOM = 60_000  # bytes: some dozen steps

Failing = Callable[[Path], AbstractContextManager[None]]

_NOT_STORED = in_language("not_stored", Language.CHINESE)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def _full(path: Path) -> Iterator[None]:
    async def fill(value: str) -> None:
        while True:
            await store.append("other", "other", value)

    with SqliteStore(path, max_bytes=ROOM) as store:
        for size in (1000, 10):  # the last page as well
            with pytest.raises(StoreFullError):
                asyncio.run(fill("x" * size))
    yield


@contextmanager
def _moved(path: Path) -> Iterator[None]:
    path.rename(path.with_suffix(".away"))
    yield
    path.with_suffix(".away").rename(path)


def _turn(made: Any, store: SqliteStore, scope: ParentScope, text: str) -> str:
    children = {spec.name: spec for spec in (BILL_QUERY, PDF_EXPORT)}
    return asyncio.run(rules_turn(made.runtime, RulesParent("parent", RULES, children, store), scope, text))


def _rig(rig: Any) -> Any:
    return rig({child.name: [ModelReply('{"answer": "129.5"}')] for child in (BILL_QUERY, PDF_EXPORT)})


@pytest.mark.parametrize(
    ("failing", "reason"),
    [(_locked, "store_locked"), (_full, "store_full"), (_moved, "store_unavailable")],
)
def test_a_step_that_cannot_be_stored_ends_its_turn(
    rig: Any, tmp_path: Path, failing: Failing, reason: str
) -> None:
    """Fixed words for the user, a code for the log; and the child never heard of a store."""
    made, scope = _rig(rig), ParentScope("zhang", "session-4711")
    with SqliteStore(tmp_path / "s.db", busy_ms=20, max_bytes=ROOM) as store:
        with failing(tmp_path / "s.db"):
            assert _turn(made, store, scope, ASKED) == _NOT_STORED
        assert [message.content for message in scope.history] == [ASKED, _NOT_STORED]
        (line,) = [line for _, line in made.watcher.named("log_line") if "reason=" in line]
        assert re.fullmatch(f"failure agent=parent reason={reason} error=Store[A-Za-z]+", line)
        shown = repr([script.requests for script in made.scripts.values()])
        assert not any(word in shown for word in ("store", "s.db", "session-4711", "SQLITE"))
        assert asyncio.run(store.steps("zhang", "session-4711")) == ()


def test_the_next_turn_works_again(rig: Any, tmp_path: Path) -> None:
    """A lock that is gone leaves no trace: the step is stored, and a follow-up finds it."""
    made, scope = _rig(rig), ParentScope("zhang", "s")
    with SqliteStore(tmp_path / "s.db", busy_ms=20) as store:
        with _locked(tmp_path / "s.db"):
            _turn(made, store, scope, ASKED)
        assert [_turn(made, store, scope, text) for text in (ASKED, FOLLOW_UP)] == ["张伟: 129.5"] * 2
        (step,) = asyncio.run(store.steps("zhang", "s"))
    assert step["subject"] == "张伟"
