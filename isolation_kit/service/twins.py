"""The service with one seeded defect each: what a load test must find, and nothing else changed.

Most are races, which no single user can see: a shared current user, a pool that runs dry, a reply left in the
pipe by a cancelled call. `TWINS` is the table.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from isolation_kit.errors import UsageError
from isolation_kit.runtime import CLEAN, Child, ChildSpec, ParentScope, Parts, StepKey, Store
from isolation_kit.service.desk import Enter, Session
from isolation_kit.service.script import Asked, Backend
from isolation_kit.service.settings import Launching, TargetName

__all__ = ["TWINS", "Seams", "Twin", "seams_of"]


async def _as_found(session: Session) -> Session:
    return session


def _same(store: Store) -> Store:
    return store


@dataclass(frozen=True, slots=True)
class Seams:
    """What a twin replaces; the defaults are how it is done."""

    parts: Parts = CLEAN
    backend: Callable[[float], Backend] = Backend
    enter: Enter = _as_found
    store: Callable[[Store], Store] = _same


@dataclass(frozen=True, slots=True)
class Twin:
    """A seeded defect.

    Attributes:
        target: the reference target that has the seam.
        race: True if it shows only while turns overlap.
        make: the seams, anew for each service.
    """

    name: str
    summary: str
    target: TargetName
    race: bool
    make: Callable[[float], Seams] = field(repr=False)


class _SharedIdentity(Backend):
    """One client for all users, which keeps who it works for in an attribute."""

    def __init__(self, latency: float) -> None:
        super().__init__(latency)
        self._for: Asked | None = None

    async def fetch(self, asked: Asked) -> str:
        self._for = asked
        await self.wait()
        return self._for.reply


class _OneConnection(Backend):
    """One pipelined connection: replies are read in the order of the requests, whoever reads.

    A caller who is cancelled while it waits leaves its reply in the pipe for the next one.
    """

    def __init__(self, latency: float) -> None:
        super().__init__(latency)
        self._replies: deque[str] = deque()
        self._lock = asyncio.Lock()

    async def fetch(self, asked: Asked) -> str:
        self._replies.append(asked.reply)  # sent at once, read when its turn has come
        async with self._lock:
            await self.wait()
            return self._replies.popleft()


class _CurrentSession:
    """The session of the newest request, kept where all requests see it."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._current: Session | None = None

    async def enter(self, session: Session) -> Session:
        self._current = session
        await asyncio.sleep(self._latency)
        return self._current


class _PooledStore:
    """Two connections for everybody; a third caller is handed one that is in use, and its identity changes.

    Source: article 000 section 4.2 (pooled connections), and the articles' account of pollution under load.
    """

    def __init__(self, store: Store, latency: float) -> None:
        self._store = store
        self._latency = latency
        self._who: list[tuple[str, str]] = [("", "")] * 2
        self._turn = 0

    async def _identity(self, user: str, session: str) -> tuple[str, str]:
        place = self._turn = (self._turn + 1) % len(self._who)
        self._who[place] = (user, session)
        await asyncio.sleep(self._latency)
        return self._who[place]

    async def append(self, user: str, session: str, value: Any) -> StepKey:
        return await self._store.append(*await self._identity(user, session), value)

    async def write(self, key: StepKey, value: Any) -> None:
        await self._store.write(key, value)

    async def edit(self, key: StepKey, version: int, value: Any) -> int:
        return await self._store.edit(key, version, value)

    async def read(self, key: StepKey) -> Any:
        return await self._store.read(key)

    async def versions(self, key: StepKey) -> tuple[Any, ...]:
        return await self._store.versions(key)

    async def steps(self, user: str, session: str) -> tuple[Any, ...]:
        return await self._store.steps(*await self._identity(user, session))

    async def purge(self) -> None:
        await self._store.purge()


def _by_question(scope: ParentScope, rule: str, subject: str, inputs: Mapping[str, str]) -> Hashable:
    return rule, subject


_KEPT = 16  # messages that a pooled child keeps, so that it goes on leaking instead of filling its window


def _pooled_child(latency: float) -> Seams:
    pool: dict[str, Child] = {}

    def from_pool(spec: ChildSpec) -> Child:
        child = pool.setdefault(spec.name, Child(spec))
        del child.memory[:-_KEPT]
        return child

    return Seams(parts=replace(CLEAN, new_child=from_pool))


TWINS: tuple[Twin, ...] = (
    Twin(
        "shared-identity",
        "one client for all users keeps the current user in an attribute",
        "task",
        True,
        lambda latency: Seams(backend=_SharedIdentity),
    ),
    Twin(
        "module-session",
        "the session of the newest request is a global",
        "task",
        True,
        lambda latency: Seams(enter=_CurrentSession(latency).enter),
    ),
    Twin(
        "cache-without-user",
        "the response cache's key leaves the user out",
        "rules",
        False,
        lambda latency: Seams(parts=replace(CLEAN, response_key=_by_question)),
    ),
    Twin("pooled-child", "a pooled child keeps its memory", "task", False, _pooled_child),
    Twin(
        "cancelled-reply",
        "the reply of a cancelled call is read by the next caller",
        "task",
        False,
        lambda latency: Seams(backend=_OneConnection),
    ),
    Twin(
        "pooled-store",
        "store connections are handed on while in use: a pool of 2",
        "rules",
        True,
        lambda latency: Seams(store=lambda store: _PooledStore(store, latency)),
    ),
)


def seams_of(name: str, target: TargetName, latency: float, launch: Launching = "inline") -> Seams:
    """The seams of a twin, or the clean ones for "".

    Raises:
        UsageError: for an unknown twin, one of the other target, or one whose defect lies within the child if
            children live in processes of their own, which run the clean code.
    """
    if not name:
        return Seams()
    twin = next((twin for twin in TWINS if twin.name == name), None)
    if twin is None:
        known = ", ".join(twin.name for twin in TWINS)
        raise UsageError(
            f"twin {name[:40]!r} is unknown; allowed: {known}; for example --twin {TWINS[0].name}"
        )
    if twin.target != target:
        raise UsageError(
            f"twin {name!r} is a defect of the target {twin.target!r}, not of {target!r}; for example "
            f"--target {twin.target} --twin {name}"
        )
    seams = twin.make(latency)
    if launch == "process" and seams.parts.new_child is not CLEAN.new_child:
        raise UsageError(
            f"twin {name!r} keeps children in the service's own process; allowed is --launch inline, for "
            f"example --twin {name} --launch inline"
        )
    return seams
