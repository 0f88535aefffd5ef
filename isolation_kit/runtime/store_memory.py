"""The session store in this process: a dictionary by user and session."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from isolation_kit.runtime.store import (
    LIFETIME,
    RENEWAL,
    StepKey,
    check_ids,
    check_key,
    encoded,
    taken,
    time_of,
)
from isolation_kit.runtime.store_merge import merged
from isolation_kit.strictjson import loads

__all__ = ["MemoryStore"]


@dataclass(slots=True)
class _Kept:
    """A step: its versions, oldest first, and the second in which it expires."""

    versions: list[bytes]
    expires: float


@dataclass(slots=True)
class _Session:
    steps: dict[int, _Kept] = field(default_factory=dict)
    following: int = 0


class MemoryStore:
    """A store in this process. A lock makes each call one step, so concurrent writers lose nothing.

    Args:
        on_write: called with the key and the stored bytes, after they are stored.
        now: the time in seconds.
    """

    def __init__(
        self,
        on_write: Callable[[StepKey, bytes], None] | None = None,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._on_write = on_write
        self._now = now
        self._lock = Lock()
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._earliest = float("inf")  # no step expires before; a sweep makes it exact

    async def append(self, user: str, session: str, value: Any) -> StepKey:
        """Write the next step of a session."""
        check_ids(user, session)
        data = encoded(value)
        with self._lock:
            now = self._swept()
            found = self._sessions.get((user, session))
            key = StepKey(user, session, found.following if found else 0)
            self._keep(key, data, now)
        self._tell(key, data)
        return key

    async def write(self, key: StepKey, value: Any) -> None:
        """Write a step, once."""
        check_key(key)
        data = encoded(value)
        with self._lock:
            now = self._swept()
            if self._found(key) is not None:
                raise taken(key.step)
            self._keep(key, data, now)
        self._tell(key, data)

    async def edit(self, key: StepKey, version: int, value: Any) -> int:
        """Write a new version of a step and return its number."""
        check_key(key)
        data = encoded(value)
        with self._lock:
            now = self._swept()
            kept = self._found(key)
            versions = kept.versions if kept else []
            data = merged(tuple(versions), version, data)
            if kept is None or data == versions[-1]:
                return len(versions)
            versions.append(data)
            kept.expires = max(kept.expires, now + LIFETIME)
            number = len(versions)
        self._tell(key, data)
        return number

    async def read(self, key: StepKey) -> Any:
        """The newest value of a step, or None; lets it live on."""
        versions = self._renewed(key)
        return loads(versions[-1]) if versions else None

    async def versions(self, key: StepKey) -> tuple[Any, ...]:
        """All values of a step, version 1 first; lets it live on."""
        return tuple(map(loads, self._renewed(key)))

    async def steps(self, user: str, session: str) -> tuple[Any, ...]:
        """The newest values of one session's steps in order; lets them live on."""
        check_ids(user, session)
        with self._lock:
            now = self._swept()
            found = self._sessions.get((user, session), _Session()).steps
            for kept in found.values():
                kept.expires = max(kept.expires, now + RENEWAL)
            newest = [found[step].versions[-1] for step in sorted(found)]
        return tuple(map(loads, newest))

    async def purge(self) -> None:
        """Delete what has expired."""
        with self._lock:
            self._swept()

    def _renewed(self, key: StepKey) -> tuple[bytes, ...]:
        check_key(key)
        with self._lock:
            now = self._swept()
            kept = self._found(key)
            if kept is None:
                return ()
            kept.expires = max(kept.expires, now + RENEWAL)
            return tuple(kept.versions)

    def _found(self, key: StepKey) -> _Kept | None:
        session = self._sessions.get((key.user, key.session))
        return None if session is None else session.steps.get(key.step)

    def _keep(self, key: StepKey, data: bytes, now: float) -> None:
        session = self._sessions.setdefault((key.user, key.session), _Session())
        session.steps[key.step] = _Kept([data], now + LIFETIME)
        session.following = max(session.following, key.step + 1)
        self._earliest = min(self._earliest, now + LIFETIME)

    def _swept(self) -> float:
        """The time, after everything that has expired by then is gone."""
        now = time_of(self._now)
        if now < self._earliest:
            return now
        for name, session in tuple(self._sessions.items()):
            session.steps = {step: kept for step, kept in session.steps.items() if kept.expires > now}
            if not session.steps:
                del self._sessions[name]
        lives = (kept.expires for session in self._sessions.values() for kept in session.steps.values())
        self._earliest = min(lives, default=float("inf"))
        return now

    def _tell(self, key: StepKey, data: bytes) -> None:
        if self._on_write is not None:
            self._on_write(key, data)
