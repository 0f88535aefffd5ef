"""The whole service without HTTP: 64 shards over the parents, one runtime, one store, its watchers."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from isolation_kit.errors import IsolationKitError
from isolation_kit.runtime import (
    Hooks,
    MemoryStore,
    Runtime,
    Several,
    Store,
    inline,
    keyed_digest,
    shard_of,
)
from isolation_kit.runtime.messages import ToolFunction
from isolation_kit.runtime.observe import Metrics, names_of
from isolation_kit.runtime.sharding import parent_of
from isolation_kit.service.desk import ROOT, Desk, Sessions, children_of
from isolation_kit.service.recording import Recording, ViewHooks
from isolation_kit.service.script import ASKED, Asked, ChildModel, ParentModel, tool_of
from isolation_kit.service.settings import ServiceSettings
from isolation_kit.service.twins import seams_of

__all__ = ["OverloadError", "Service", "opened"]


class OverloadError(IsolationKitError):
    """More turns at once than the service takes."""


class Service:
    """Routes turns to parents. One event loop feeds it; `opened` makes it."""

    def __init__(
        self, settings: ServiceSettings, desks: dict[str, Desk], metrics: Metrics, recording: Recording | None
    ) -> None:
        self.settings = settings
        self.recording = recording
        self.metrics = metrics
        self.sessions = Sessions(settings.sessions)
        self.in_flight = 0
        self._desks = desks
        self._names = tuple(desks)
        self._down: frozenset[str] = frozenset()

    async def turn(self, asked: Asked) -> str:
        """Answer one turn.

        Raises:
            OverloadError: if too many turns are under way.
            BusyError: if no session can be opened.
            FullError: if the session is full.
            UsageError: if all parents are down.
        """
        if self.in_flight >= self.settings.in_flight:
            raise OverloadError("too many turns at once; try again later")
        desk = self._desks[parent_of(asked.user, self._names, self._down)]
        session = self.sessions.of(asked)
        self.in_flight += 1
        token = ASKED.set(asked)
        began = time.perf_counter()
        state = "error"
        try:
            answer = await desk.turn(session, asked.text)
            state = "done"
            return answer
        finally:
            self.metrics.turns.observe(ROOT, state, value=time.perf_counter() - began)
            ASKED.reset(token)
            self.in_flight -= 1

    def kill(self, parent: str) -> None:
        """Let a parent die, its sessions with it; its users go to others. What the store has stays."""
        names, down = self._names, self._down
        self.sessions.drop(lambda user: parent_of(user, names, down) == parent)
        self._down = down | {parent}

    def revive(self, parent: str) -> None:
        """Let a parent serve its shards again, without the sessions that it had."""
        names, before, after = self._names, self._down, self._down - {parent}
        self.sessions.drop(lambda user: parent_of(user, names, before) != parent_of(user, names, after))
        self._down = after

    def shard(self, user: str) -> int:
        """The shard of a user."""
        return shard_of(user)

    def health(self) -> dict[str, object]:
        """What an operator wants to know at a glance; names no user."""
        return {
            "status": "ok" if len(self._down) < len(self._names) else "down",
            "target": self.settings.target,
            "twin": self.settings.twin,
            "parents": len(self._names),
            "down": sorted(self._down),
            "sessions": len(self.sessions),
            "closed": self.sessions.closed,
            "in_flight": self.in_flight,
            "recording": self.recording is not None,
        }


@asynccontextmanager
async def opened(settings: ServiceSettings, recording: Recording | None = None) -> AsyncIterator[Service]:
    """A service, wired; what it owns is closed at the end.

    Raises:
        UsageError: for an unknown twin.
        StoreError: if the store's file cannot be opened.
    """
    seams = seams_of(settings.twin, settings.target, settings.latency, settings.launch)
    specs = children_of(settings.target)
    children = frozenset(spec.name for spec in specs)
    digest = keyed_digest(secrets.token_bytes(32))
    metrics = Metrics(names_of(specs, digest, parents=(ROOT,)))
    hooks: Hooks = metrics if recording is None else Several(metrics, ViewHooks(recording, children))
    backend = seams.backend(settings.latency)
    models: dict[str, ChildModel | ParentModel] = {name: ChildModel(backend) for name in children}
    models[ROOT] = ParentModel(backend)
    lookup = tool_of(backend)

    def tool(name: str, agent: str) -> ToolFunction:
        return lookup

    async with AsyncExitStack() as stack:
        store = seams.store(_store(settings, stack))
        launch = inline
        if settings.launch == "process":
            from isolation_kit.runtime.process import ProcessHost  # it needs Linux

            launch = (await stack.enter_async_context(ProcessHost())).launch
        runtime = Runtime(models.__getitem__, tool, digest, hooks, seams.parts, launch=launch)
        desks = {
            f"parent-{number}": Desk(settings, runtime, specs, store, seams.enter)
            for number in range(settings.parents)
        }
        yield Service(settings, desks, metrics, recording)


def _store(settings: ServiceSettings, stack: AsyncExitStack) -> Store:
    if settings.store is None:
        return MemoryStore()
    from isolation_kit.runtime.store_sqlite import SqliteStore

    return stack.enter_context(SqliteStore(settings.store))
