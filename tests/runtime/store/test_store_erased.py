"""What has expired is gone from the disk: no byte of it in the file, nor in the files beside it."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from isolation_kit.runtime import StepKey
from isolation_kit.runtime.store import LIFETIME, StoreLockedError, encoded
from isolation_kit.runtime.store_file import connected, erased
from isolation_kit.runtime.store_rows import TABLES, append, cleared
from isolation_kit.runtime.store_sqlite import SqliteStore

SECRET = "sk-fake-4711"


def _raw(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def _written(store: SqliteStore, *sizes: int) -> None:
    for number, size in enumerate(sizes):
        await store.append("u", f"session {number} {SECRET}", {"key": SECRET * size})


@pytest.mark.parametrize("by", ["purge", "close"])
def test_an_expired_value_leaves_no_byte(tmp_path: Path, clock: Any, by: str) -> None:
    """Both value and session id are in the file while they live, and not after a purge or a close."""
    with SqliteStore(tmp_path / "s.db", now=clock) as store:
        asyncio.run(_written(store, 1, 30, 3000))
        assert SECRET.encode() in _raw(tmp_path)
        clock.pass_minutes(30)
        if by == "purge":
            asyncio.run(store.purge())
            assert SECRET.encode() not in _raw(tmp_path)
    assert SECRET.encode() not in _raw(tmp_path)


def test_any_call_deletes_what_has_expired(tmp_path: Path, clock: Any) -> None:
    """A read of another session is enough for the rows; the file is rewritten in the background."""
    with SqliteStore(tmp_path / "s.db", now=clock) as store:
        asyncio.run(_written(store, 30))
        clock.pass_minutes(30)
        asyncio.run(store.read(StepKey("other", "other", 0)))
        with closing(sqlite3.connect(tmp_path / "s.db")) as reader:
            assert reader.execute("SELECT count(*) FROM step").fetchone() == (0,)
            assert reader.execute("SELECT count(*) FROM session").fetchone() == (0,)


def test_a_killed_process_leaves_nothing_that_the_next_one_keeps(tmp_path: Path, clock: Any) -> None:
    """A log with deleted content that was left behind is emptied soon after the file is opened again."""
    left = tmp_path / "left"
    left.mkdir()
    with closing(connected(tmp_path / "s.db", TABLES, 0, None)) as killed:
        append(killed, clock(), "u", "s", encoded(SECRET))
        cleared(killed, clock() + LIFETIME)
        for name in ("s.db", "s.db-wal"):
            (left / name).write_bytes((tmp_path / name).read_bytes())
    assert SECRET.encode() in _raw(left)
    with SqliteStore(left / "s.db", now=clock) as store:
        for _ in range(2):  # the second call waits for what the first one started
            assert asyncio.run(store.steps("u", "s")) == ()
        assert SECRET.encode() not in _raw(left)


def test_a_reader_that_blocks_the_purge_is_told(tmp_path: Path, clock: Any) -> None:
    """A purge that could not erase is an error, not a success; a later one erases."""
    with SqliteStore(tmp_path / "s.db", now=clock, busy_ms=20) as store:
        asyncio.run(_written(store, 1))
        with closing(sqlite3.connect(tmp_path / "s.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM step").fetchall()
            clock.pass_minutes(30)
            with pytest.raises(StoreLockedError):
                asyncio.run(store.purge())
        asyncio.run(store.purge())
        assert SECRET.encode() not in _raw(tmp_path)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 63))
@example(seed=36)  # where SQLite's overwriting alone left copies (3.40)
@example(seed=58)
def test_no_expired_value_hides_among_living_ones(quick: Path, seed: int) -> None:
    """Steps of all sizes expire in any order: rows move between pages, and erasing leaves no copy behind."""
    draw = random.Random(seed)
    names = [f"token{draw.randrange(10**6):06d}x" for _ in range(100)]
    with (
        TemporaryDirectory(dir=quick) as folder,
        closing(connected(Path(folder, "s.db"), TABLES, 0, None)) as connection,
    ):
        for number, name in enumerate(names):
            written, user, session = (
                draw.uniform(0, 100),
                f"u{draw.randrange(9)}",
                name * draw.choice([1, 2, 8]),
            )
            append(connection, written, user, session, encoded(name * draw.choice([1, 5, 20, 60])))
            if number % 10 == 9:
                cleared(connection, LIFETIME + number / 2)
        rows = connection.execute("SELECT session FROM step").fetchall()
        living = {session.decode()[: len(names[0])] for (session,) in rows}
        before, done, after = _raw(Path(folder)), erased(connection), _raw(Path(folder))
    assert done
    assert {name for name in names if name.encode() in before} > living
    assert {name for name in names if name.encode() in after} == living
