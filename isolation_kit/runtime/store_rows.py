"""The SQLite store's transactions: one function each, run in the thread that owns the connection.

A version of a step is a row, and rows are inserted only: that a step is written once is the primary key's
doing. Only the expiry of a row ever changes. `now` is the time in seconds; what has expired by then is
deleted by `cleared` before any other function runs.
"""

from __future__ import annotations

import sqlite3

from isolation_kit.runtime.store import LIFETIME, RENEWAL, StepKey, taken
from isolation_kit.runtime.store_file import transaction
from isolation_kit.runtime.store_merge import merged

__all__ = ["TABLES", "Written", "append", "cleared", "edit", "insert", "session_rows", "step_rows"]

Written = tuple[StepKey, int, bytes | None]  # the step, its version, and its bytes if they are new

# Ids are bytes: compared exactly, with no collation, and a zero byte does not end them.
TABLES = (
    "CREATE TABLE session (user BLOB, session BLOB, following INTEGER, PRIMARY KEY (user, session))",
    "CREATE TABLE step (user BLOB, session BLOB, step INTEGER, version INTEGER, value BLOB, expires REAL, "
    "PRIMARY KEY (user, session, step, version))",
    "CREATE INDEX step_expires ON step (expires)",
)

_LAST = 2**62  # above every step's number

_COUNT_UP = (
    "INSERT INTO session (user, session, following) VALUES (:user, :session, 1) "
    "ON CONFLICT DO UPDATE SET following = following + 1 RETURNING following - 1"
)
_COUNT_PAST = (
    "INSERT INTO session (user, session, following) VALUES (:user, :session, :step + 1) "
    "ON CONFLICT DO UPDATE SET following = max(following, :step + 1)"
)
_INSERT = (
    "INSERT INTO step (user, session, step, version, value, expires) "
    "VALUES (:user, :session, :step, :version, :value, :expires)"
)
_SELECT = (
    "SELECT step, value, expires FROM step WHERE user = :user AND session = :session "
    "AND step BETWEEN :first AND :last ORDER BY step, version"
)
_RENEW = (
    "UPDATE step SET expires = :expires WHERE user = :user AND session = :session "
    "AND step BETWEEN :first AND :last AND expires < :expires"
)
_EXPIRED = "SELECT 1 FROM step WHERE expires <= ? LIMIT 1"
_DELETE = "DELETE FROM step WHERE expires <= ? RETURNING user, session"
_FORGET = (
    "DELETE FROM session WHERE user = ?1 AND session = ?2 "
    "AND NOT EXISTS (SELECT 1 FROM step WHERE user = ?1 AND session = ?2)"
)


def cleared(connection: sqlite3.Connection, now: float) -> bool:
    """Delete what has expired; False if nothing had."""
    if connection.execute(_EXPIRED, (now,)).fetchone() is None:
        return False
    with transaction(connection):
        gone = connection.execute(_DELETE, (now,)).fetchall()
        connection.executemany(_FORGET, set(gone))
    return True


def append(connection: sqlite3.Connection, now: float, user: str, session: str, data: bytes) -> Written:
    """Insert the next step of a session. Counting and inserting are one transaction."""
    ids = {"user": _id(user), "session": _id(session)}
    with transaction(connection):
        (step,) = connection.execute(_COUNT_UP, ids).fetchone()
        _insert(connection, now, StepKey(user, session, step), 1, data)
    return StepKey(user, session, step), 1, data


def insert(connection: sqlite3.Connection, now: float, key: StepKey, data: bytes) -> Written:
    """Insert a step that is not there yet."""
    with transaction(connection):
        try:
            _insert(connection, now, key, 1, data)
        except sqlite3.IntegrityError:
            raise taken(key.step) from None
        connection.execute(
            _COUNT_PAST, {"user": _id(key.user), "session": _id(key.session), "step": key.step}
        )
    return key, 1, data


def edit(connection: sqlite3.Connection, now: float, key: StepKey, version: int, edited: bytes) -> Written:
    """Insert a new version of a step, merged with those that are newer than `version`."""
    where = _where(key.user, key.session, key.step, key.step)
    with transaction(connection):
        versions = tuple(value for _, value, _ in connection.execute(_SELECT, where))
        data = merged(versions, version, edited)
        if data == versions[-1]:
            return key, len(versions), None
        _insert(connection, now, key, len(versions) + 1, data)
        # The versions of a step live and die together.
        connection.execute(_RENEW, {**where, "expires": now + LIFETIME})
    return key, len(versions) + 1, data


def step_rows(connection: sqlite3.Connection, now: float, key: StepKey) -> list[tuple[int, bytes]]:
    """(step, value) of each version of a step, version 1 first, which live on."""
    return _renewed(connection, now, _where(key.user, key.session, key.step, key.step))


def session_rows(
    connection: sqlite3.Connection, now: float, user: str, session: str
) -> list[tuple[int, bytes]]:
    """(step, value) of each version of each step of a session, in order, which live on."""
    return _renewed(connection, now, _where(user, session, 0, _LAST))


def _renewed(
    connection: sqlite3.Connection, now: float, where: dict[str, bytes | int]
) -> list[tuple[int, bytes]]:
    rows = connection.execute(_SELECT, where).fetchall()
    # A fresh step needs no renewal, and then a read takes no lock.
    if any(expires < now + RENEWAL for _, _, expires in rows):
        connection.execute(_RENEW, {**where, "expires": now + RENEWAL})
    return [(step, value) for step, value, _ in rows]


def _insert(connection: sqlite3.Connection, now: float, key: StepKey, version: int, data: bytes) -> None:
    row = {"user": _id(key.user), "session": _id(key.session), "step": key.step}
    connection.execute(_INSERT, {**row, "version": version, "value": data, "expires": now + LIFETIME})


def _where(user: str, session: str, first: int, last: int) -> dict[str, bytes | int]:
    return {"user": _id(user), "session": _id(session), "first": first, "last": last}


def _id(name: str) -> bytes:
    return str.encode(name, "utf-8", "surrogatepass")
