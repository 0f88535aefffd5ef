"""The SQLite store's file: private, strict about what lies there, and clear about every failure."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from isolation_kit.runtime import StepKey
from isolation_kit.runtime.store import (
    StoreClosedError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from isolation_kit.runtime.store_sqlite import SqliteStore

SECRET = "sk-fake-4711"
FILLER = SECRET * 200


def _modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


def _is_silent(error: StoreError) -> bool:
    """Nothing of a value, an id or a statement stands in the message."""
    return not any(word in str(error) for word in (SECRET, "zhang", "INSERT", "SELECT", "step_", "PRAGMA"))


def test_the_file_and_its_side_files_are_the_owners_alone(tmp_path: Path) -> None:
    """Mode 0600 whatever the umask; nothing else is left in the directory."""
    before = os.umask(0)
    try:
        with SqliteStore(tmp_path / "s.db") as store:
            asyncio.run(store.append("u", "s", 1))
            assert _modes(tmp_path) == {"s.db": 0o600, "s.db-wal": 0o600, "s.db-shm": 0o600}
    finally:
        os.umask(before)
    assert _modes(tmp_path) == {"s.db": 0o600}


def test_a_file_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    """An existing store with a wider mode is narrowed before it is read."""
    SqliteStore(tmp_path / "s.db").close()
    (tmp_path / "s.db").chmod(0o664)
    SqliteStore(tmp_path / "s.db").close()
    assert _modes(tmp_path) == {"s.db": 0o600}


def test_steps_outlive_the_process(tmp_path: Path) -> None:
    """What one store wrote, the next one on the same file reads."""
    with SqliteStore(tmp_path / "s.db") as store:
        key = asyncio.run(store.append("u", "s", "kept"))
    with SqliteStore(tmp_path / "s.db") as store:
        assert asyncio.run(store.read(key)) == "kept"
        assert asyncio.run(store.append("u", "s", "next")).step == 1


def test_many_may_open_a_fresh_file_at_once(quick: Path) -> None:
    """It is there whole or not at all, whoever was first; nothing else is left in the directory."""
    with ThreadPoolExecutor(8) as threads:
        for number in range(15):
            for store in list(threads.map(SqliteStore, [quick / f"{number}.db"] * 8)):
                store.close()
    assert {path.suffix for path in quick.iterdir()} == {".db"}


def _directory(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    SqliteStore(path.with_name("other.db")).close()
    path.symlink_to("other.db")


def _garbage(path: Path) -> None:
    path.write_bytes(f"{SECRET}\n".encode() * 400)


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"CREATE TABLE step (value DEFAULT '{SECRET}')")


def _empty(path: Path) -> None:
    path.touch()


def _read_only(path: Path) -> None:
    SqliteStore(path).close()
    path.chmod(0o400)


@pytest.mark.parametrize(
    ("lies_there", "error"),
    [
        (_directory, StoreUnavailableError),
        (_link, StoreUnavailableError),
        (_garbage, StoreCorruptError),
        (_foreign, StoreCorruptError),
        (_empty, StoreCorruptError),
        (_read_only, StoreReadOnlyError),
    ],
)
def test_what_is_no_store_is_refused(
    tmp_path: Path, lies_there: Callable[[Path], None], error: type[StoreError]
) -> None:
    """The error says the way out, and what lies there is left as it was."""
    path = tmp_path / "s.db"
    lies_there(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(error) as caught:
        SqliteStore(path)
    assert _is_silent(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    """The store makes no directories."""
    with pytest.raises(StoreUnavailableError, match="directory"):
        SqliteStore(tmp_path / "absent" / "s.db")


def test_a_damaged_page_is_told(tmp_path: Path) -> None:
    """Overwritten pages give the kit's own error, never a wrong value."""
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        for _ in range(20):
            asyncio.run(store.append("zhang", "s", FILLER))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(StoreCorruptError) as caught, SqliteStore(path) as store:
        asyncio.run(store.steps("zhang", "s"))
    assert _is_silent(caught.value)


def test_a_locked_store_is_told_after_the_wait(tmp_path: Path) -> None:
    """A writer that holds the file longer than busy_ms costs an error and no step."""
    path = tmp_path / "s.db"
    with SqliteStore(path, busy_ms=20) as store, closing(sqlite3.connect(path)) as other:
        key = asyncio.run(store.append("zhang", "s", "kept"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLockedError) as caught:
            asyncio.run(store.append("zhang", "s", SECRET))
        assert _is_silent(caught.value)
        assert asyncio.run(store.read(key)) == "kept"
        other.rollback()
        assert asyncio.run(store.append("zhang", "s", "next")).step == 1


def test_a_wait_does_not_hold_the_event_loop(tmp_path: Path) -> None:
    """The lock is released by the very loop that awaits the write."""
    path = tmp_path / "s.db"

    async def scene(store: SqliteStore, other: sqlite3.Connection) -> None:
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(store.append("u", "s", 1))
        await asyncio.sleep(0.05)
        assert not writing.done()
        other.rollback()
        assert (await writing).step == 0

    with SqliteStore(path, busy_ms=20_000) as store, closing(sqlite3.connect(path)) as other:
        asyncio.run(scene(store, other))


def test_a_full_store_refuses_and_keeps_what_it_has(tmp_path: Path, clock: Callable[[], float]) -> None:
    """Every acknowledged step is readable, and there is room again when steps have expired."""
    kept: list[int] = []

    async def fill(store: SqliteStore) -> None:
        while True:
            kept.append((await store.append("zhang", "s", [len(kept), FILLER])).step)

    async def scene(store: SqliteStore) -> None:
        with pytest.raises(StoreFullError, match="max_bytes") as caught:
            await fill(store)
        assert _is_silent(caught.value)
        assert kept == list(range(len(kept)))
        assert [number for number, _ in await store.steps("zhang", "s")] == kept
        clock.pass_minutes(31)  # type: ignore[attr-defined]
        assert (await store.append("zhang", "s", [0, FILLER])).step == 0

    with SqliteStore(tmp_path / "s.db", now=clock, max_bytes=100_000) as store:
        asyncio.run(scene(store))
    assert kept
    assert (tmp_path / "s.db").stat().st_size <= 100_000


def test_a_closed_store_is_told(tmp_path: Path) -> None:
    """Every method says so; closing twice is no fault."""
    store = SqliteStore(tmp_path / "s.db")
    store.close()
    store.close()
    for call in (store.append("u", "s", 1), store.read(StepKey("u", "s", 0)), store.purge()):
        with pytest.raises(StoreClosedError):
            asyncio.run(call)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_cannot_use_the_connection(tmp_path: Path) -> None:
    """A child that inherits the parent's store gets an error, and closing it there harms nothing."""
    with SqliteStore(tmp_path / "s.db") as store:
        key = asyncio.run(store.append("u", "s", "kept"))
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(store.read(key))
            except StoreClosedError:
                store.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert asyncio.run(store.read(key)) == "kept"


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
def test_a_file_that_was_taken_away_acknowledges_nothing(tmp_path: Path, replaced: bool) -> None:
    """Writing on into a file that has no name any more would lose every step."""
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        asyncio.run(store.append("u", "s", 1))
        if replaced:
            shutil.copy(path, tmp_path / "new.db")
            os.replace(tmp_path / "new.db", path)
        else:
            path.unlink()
        with pytest.raises(StoreUnavailableError):
            asyncio.run(store.append("u", "s", 2))


def test_a_cancelled_writer_leaves_no_write_unseen(tmp_path: Path) -> None:
    """A write that was committed after its caller had gone is told to the watcher all the same."""
    path = tmp_path / "s.db"
    seen: list[bytes] = []

    async def scene(store: SqliteStore, other: sqlite3.Connection) -> None:
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(store.append("u", "s", 1))
        await asyncio.sleep(0.02)
        writing.cancel()
        other.rollback()
        while not await store.steps("u", "s"):
            await asyncio.sleep(0.01)
        assert writing.cancelled()

    with (
        SqliteStore(path, lambda key, data: seen.append(data)) as store,
        closing(sqlite3.connect(path)) as other,
    ):
        asyncio.run(scene(store, other))
    assert seen == [b"1"]


@pytest.mark.parametrize("harm", ["log", "emptied"])
def test_interference_from_outside_is_told_before_anything_is_acknowledged(tmp_path: Path, harm: str) -> None:
    """SQLite writes on into a deleted log, and the step would be gone with the last connection."""
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    asyncio.run(store.append("u", "s", 1))
    if harm == "log":
        os.unlink(f"{path}-wal")
    else:
        asyncio.run(store.purge())
        os.truncate(path, 0)
    with pytest.raises(StoreUnavailableError):
        asyncio.run(store.append("u", "s", 2))
    with suppress(StoreError):
        store.close()


def test_an_edit_of_a_damaged_value_is_told_as_damage(tmp_path: Path) -> None:
    """As reading it is: the kit's own error, without a byte of it."""
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        key = asyncio.run(store.append("u", "s", {"a": 1}))
        asyncio.run(store.edit(key, 1, {"a": 2}))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("UPDATE step SET value = ? WHERE version = 2", (SECRET.encode(),))
        with pytest.raises(StoreCorruptError) as caught:
            asyncio.run(store.edit(key, 1, {"a": 3}))
        assert _is_silent(caught.value)
