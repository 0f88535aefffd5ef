"""The file behind the SQLite store: made private, opened strictly, its failures told without its content."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from isolation_kit.runtime.store_errors import (
    StoreClosedError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreUnavailableError,
)

__all__ = [
    "Identity",
    "connected",
    "erased",
    "identity",
    "log_identity",
    "told_as_failure",
    "transaction",
    "whole",
]

_APPLICATION = 0x49_53_4F_4B  # "ISOK": marks the file as ours, so that no other database is written into
_LAYOUT = 1
_HEADER = 100  # bytes

Identity = tuple[int, int]

_PRAGMAS = (
    "synchronous = FULL",  # what was acknowledged survives a power cut, not only a kill
    "secure_delete = ON",  # deleted content is overwritten
    "temp_store = MEMORY",  # no value lands in a temporary file
    "trusted_schema = OFF",
)

_MARKS = (f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {_LAYOUT}")


def connected(path: Path, tables: tuple[str, ...], busy_ms: int, max_bytes: int | None) -> sqlite3.Connection:
    """An open connection to the store at `path`, which is made if it is not there.

    Args:
        tables: the statements that lay out a fresh file.
        busy_ms: milliseconds to wait for another writer.
        max_bytes: largest size of the file in bytes; None for as much as there is room.
    """
    if not os.path.lexists(path):
        _make(path, tables)
    _make_private(path)
    connection = sqlite3.connect(path, timeout=busy_ms / 1000, isolation_level=None)
    try:
        _recognise(connection)  # before anything that would write into another's file
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        if max_bytes is not None:
            (page,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA max_page_count = {max(max_bytes // page, 1)}")
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: Path, tables: tuple[str, ...]) -> None:
    """Lay out a store under another name and link it: whoever finds the file finds it whole, and private.

    So no descriptor on it is ever closed beside a connection's own either, which would drop that one's locks.
    """
    descriptor, name = tempfile.mkstemp(prefix=".store-", dir=path.parent)
    os.close(descriptor)
    try:
        with closing(sqlite3.connect(name, isolation_level=None)) as connection:
            # Readers and the writer do not wait for each other. The mode stays with the file.
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise StoreUnavailableError(
                    "the store's file system allows no write-ahead log (a network share, perhaps); give a "
                    "path on a local disk"
                )
            with transaction(connection):
                for statement in (*tables, *_MARKS):
                    connection.execute(statement)
        os.link(name, path)
    except FileExistsError:
        return  # another process was faster; its file is as good
    finally:
        os.unlink(name)


def _make_private(path: Path) -> None:
    """Close the file to everybody but its owner (0600). SQLite gives its side files the same mode."""
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        raise StoreUnavailableError(
            "what lies at the store's path is no ordinary file (a directory or a link, perhaps); give the "
            "path of a file that may be created, for example 'state/sessions.db'"
        )
    if not mode & stat.S_IWUSR:
        raise StoreReadOnlyError("the store's file is read-only for its owner; allow writing: chmod 600")
    if mode & 0o177:
        path.chmod(0o600)


def _recognise(connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    if (application, layout) != (_APPLICATION, _LAYOUT):
        raise StoreCorruptError(
            "the file is empty, another program's or a later version's store; give a path that is free"
        )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction: all of it is stored, or nothing. It holds the write lock from its start."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back after some failures
            connection.execute("ROLLBACK")
        raise


def erased(connection: sqlite3.Connection) -> bool:
    """Rewrite the file without what was deleted, and empty its log. False if a reader kept the log in use.

    Overwriting alone is not enough: when SQLite moves a row to another page, a copy can stay in the gap of
    the old one (tried), and the log holds pages as they were.
    """
    connection.execute("VACUUM")
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def identity(path: Path) -> Identity:
    """Which file lies at `path`, by device and number."""
    status = path.lstat()
    return status.st_dev, status.st_ino


def whole(path: Path) -> Identity | None:
    """`identity`, or None of a file that is shorter than a database's header.

    The header is not read: closing a descriptor on the file would drop the connection's locks.
    """
    status = path.lstat()
    return (status.st_dev, status.st_ino) if status.st_size >= _HEADER else None


def log_identity(path: Path) -> Identity | None:
    """Which write-ahead log lies beside the file; None for none."""
    try:
        return identity(path.with_name(f"{path.name}-wal"))
    except FileNotFoundError:
        return None


@contextmanager
def told_as_failure() -> Iterator[None]:
    """Turn what SQLite or the system raises into a StoreError that names its code, and no text of it."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _failure(error) from None


def _failure(error: sqlite3.Error | OSError) -> StoreError:
    if isinstance(error, OSError):
        return StoreUnavailableError(
            f"the store's file cannot be reached ({type(error).__name__}); check that its directory is "
            "there and may be written"
        )
    if isinstance(error, sqlite3.ProgrammingError):
        return StoreClosedError("the store is closed; open it again")
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    kind, advice = _KINDS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, _OTHER)
    return kind(f"{advice} ({name}). This call has changed nothing")


_LOCKED = (StoreLockedError, "another writer holds the store; try again, or give it a longer busy_ms")
_READ_ONLY = (StoreReadOnlyError, "the store cannot be written; check its file's and directory's permissions")
_CORRUPT = (StoreCorruptError, "the file is no store, or is damaged; move it away and start with a new one")
_FULL = (StoreFullError, "no room for another step; free space, raise max_bytes, or purge() what has expired")
_OTHER = (StoreUnavailableError, "the disk or the system refused; check the disk and the path")
_KINDS: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_CORRUPT: _CORRUPT,
    sqlite3.SQLITE_NOTADB: _CORRUPT,
    sqlite3.SQLITE_FULL: _FULL,
}
