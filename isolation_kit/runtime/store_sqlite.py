"""The session store in a SQLite file, for parents in several threads or processes.

Import it from here: a process that keeps no state on disk, a child above all, never loads SQLite.

- **One connection, one thread.** Each store object owns a worker thread, so the event loop never waits for a
  disk or a lock. Further threads and processes open the same path themselves.
- **Write-once is the primary key's.** Steps are inserted, never updated; two writers of one step cannot both
  succeed, whatever their timing. `append` counts up and inserts in one transaction.
- **Acknowledged is stored.** A call returns after the commit has reached the disk; the watcher is told then.
- **Gone is gone.** Each call first deletes what has expired; the file is then rewritten and its log emptied,
  in the background at most once a minute, and at once by `purge`. A file that nobody opens keeps what is in
  it: delete the file, or open it and purge.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from isolation_kit.closing import Closing
from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime.store import StepKey, check_ids, check_key, encoded, time_of
from isolation_kit.runtime.store_errors import (
    StoreClosedError,
    StoreCorruptError,
    StoreLockedError,
    StoreUnavailableError,
)
from isolation_kit.runtime.store_file import Identity, connected, erased, log_identity, told_as_failure, whole
from isolation_kit.runtime.store_rows import (
    TABLES,
    Written,
    append,
    cleared,
    edit,
    insert,
    session_rows,
    step_rows,
)
from isolation_kit.strictjson import loads

__all__ = ["SqliteStore"]

T = TypeVar("T")

_ERASE_EVERY = 60.0  # seconds of the store's clock between two rewrites of the file


class SqliteStore(Closing):
    """A store in the file at `path`; close it. Opening blocks: open it before the event loop runs.

    Args:
        path: the file; made with mode 0600 in a directory that must be there.
        on_write: called with the key and the stored bytes, after the commit.
        now: the time in seconds; all processes on one file must agree on it.
        busy_ms: milliseconds to wait for another writer.
        max_bytes: largest size of the file in bytes; None for as much as there is room.

    Raises:
        StoreError: if the file cannot be opened, made or written, or is no store.
    """

    def __init__(
        self,
        path: Path | str,
        on_write: Callable[[StepKey, bytes], None] | None = None,
        *,
        now: Callable[[], float] = time.time,
        busy_ms: int = 5000,
        max_bytes: int | None = None,
    ) -> None:
        self._on_write = on_write
        self._now = now
        self._path = Path(path)
        self._process = os.getpid()
        self._closed = False
        # A log that lies there was left by a killed process, and may hold deleted content.
        self._to_erase = Path(f"{path}-wal").exists()
        self._erased = float("-inf")
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="session-store")
        try:
            self._connection, self._file, self._log = self._worker.submit(
                self._open, busy_ms, max_bytes
            ).result()
        except BaseException:
            self._worker.shutdown()
            raise

    def close(self) -> None:
        """Finish what is under way, erase what has expired, and let go of the file.

        Raises:
            StoreError: if it could not be erased; the file is let go all the same.
        """
        if self._closed or os.getpid() != self._process:
            return
        self._closed = True
        try:
            self._worker.submit(self._ended).result()
        finally:
            self._worker.shutdown()

    async def append(self, user: str, session: str, value: Any) -> StepKey:
        """Write the next step of a session."""
        check_ids(user, session)
        key, _ = await self._write(append, user, session, encoded(value))
        return key

    async def write(self, key: StepKey, value: Any) -> None:
        """Write a step, once."""
        check_key(key)
        await self._write(insert, key, encoded(value))

    async def edit(self, key: StepKey, version: int, value: Any) -> int:
        """Write a new version of a step and return its number."""
        check_key(key)
        _, number = await self._write(edit, key, version, encoded(value))
        return number

    async def read(self, key: StepKey) -> Any:
        """The newest value of a step, or None; lets it live on."""
        check_key(key)
        rows = await self._call(step_rows, key)
        return _read(rows[-1][1]) if rows else None

    async def versions(self, key: StepKey) -> tuple[Any, ...]:
        """All values of a step, version 1 first; lets it live on."""
        check_key(key)
        return tuple([_read(data) for _, data in await self._call(step_rows, key)])

    async def steps(self, user: str, session: str) -> tuple[Any, ...]:
        """The newest values of one session's steps in order; lets them live on."""
        check_ids(user, session)
        newest = dict(await self._call(session_rows, user, session))
        return tuple(map(_read, newest.values()))

    async def purge(self) -> None:
        """Delete what has expired, so that no byte of it is left in the file or beside it."""
        if not await self._call(self._erase):
            raise StoreLockedError(
                "what expired is deleted, but a reader keeps the store's log in use; purge again"
            )

    async def _write(self, work: Callable[..., Written], *args: Any) -> tuple[StepKey, int]:
        # Shielded: a caller that is cancelled cannot take back the commit, and the watcher is to hear of it.
        return await asyncio.shield(self._told(work, *args))

    async def _told(self, work: Callable[..., Written], *args: Any) -> tuple[StepKey, int]:
        key, version, data = await self._call(work, *args)
        if data is not None and self._on_write is not None:
            self._on_write(key, data)
        return key, version

    async def _call(self, work: Callable[..., T], *args: Any) -> T:
        if self._closed or os.getpid() != self._process:
            raise StoreClosedError("the store is closed or another process's; open one of your own")
        try:
            waiting = asyncio.get_running_loop().run_in_executor(self._worker, self._worked, work, *args)
        except RuntimeError:  # another thread closed the store a moment ago
            raise StoreClosedError("the store is closed; open it again") from None
        return await waiting

    # From here on everything runs in the worker thread.

    def _open(
        self, busy_ms: int, max_bytes: int | None
    ) -> tuple[sqlite3.Connection, Identity | None, Identity | None]:
        with told_as_failure():
            connection = connected(self._path, TABLES, busy_ms, max_bytes)
            # The log is there from the first look into the file until the last connection is closed.
            return connection, whole(self._path), log_identity(self._path)

    def _worked(self, work: Callable[..., T], *args: Any) -> T:
        with told_as_failure():
            self._check_files()
            now = time_of(self._now)
            if cleared(self._connection, now):
                self._to_erase = True
            out = work(self._connection, now, *args)
            self._check_files()  # what was written into a file that nobody will find is not acknowledged
        if self._to_erase and now - self._erased >= _ERASE_EVERY:
            # Nobody waits for it. Should it fail, the file stays as it is for a minute, or until purge().
            self._erased = now
            self._worker.submit(self._erase, self._connection, now)
        return out

    def _check_files(self) -> None:
        """File and log must be those that were opened: SQLite writes into deleted ones as well."""
        if whole(self._path) != self._file or log_identity(self._path) != self._log:
            raise StoreUnavailableError(
                "the store's file or its log was replaced, deleted or emptied from outside, and what was "
                "written since is lost; put both back, or open the store anew"
            )

    def _ended(self) -> None:
        with told_as_failure(), closing(self._connection):
            if cleared(self._connection, time_of(self._now)) or self._to_erase:
                erased(self._connection)

    def _erase(self, connection: sqlite3.Connection, now: float) -> bool:
        self._to_erase = not erased(connection)
        return not self._to_erase


def _read(data: bytes) -> object:
    try:
        return loads(data)
    except StrictJSONError:
        raise StoreCorruptError("a stored value is damaged; move the store's file away") from None
