"""One parent and the sessions that it holds: bounded in number and length, closed when idle for longest."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace

from isolation_kit.errors import IsolationKitError
from isolation_kit.runtime import (
    ChildSpec,
    Contract,
    Language,
    ParentScope,
    RulesParent,
    Runtime,
    Store,
    TaskParent,
    ToolSpec,
    declared_fields,
    rules_turn,
    task_tool,
    task_turn,
)
from isolation_kit.service.script import Asked
from isolation_kit.service.settings import ServiceSettings, TargetName
from isolation_kit.targets.reference import BILL_QUERY, PDF_EXPORT, RULES, WORKER

__all__ = ["ROOT", "BusyError", "Desk", "FullError", "Session", "children_of"]

ROOT = "parent"
_TOKENS = 200_000
_TIMEOUT_MS, _MEMORY_MB = 10_000, 128


class FullError(IsolationKitError):
    """A session that takes no further turn."""


class BusyError(IsolationKitError):
    """No session is idle, so none can be closed to make room."""


@dataclass(slots=True)
class Session:
    """One user's session; its turns run one after another."""

    scope: ParentScope
    turns: int = 0
    waiting: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


def children_of(target: TargetName) -> tuple[ChildSpec, ...]:
    """The children of a target, with room for any turn and quiet logs."""
    specs = (WORKER,) if target == "task" else (BILL_QUERY, PDF_EXPORT)
    return tuple(replace(spec, contract=_contract(spec.tools)) for spec in specs)


def _contract(tools: tuple[ToolSpec, ...]) -> Contract:
    return Contract(_TOKENS, declared_fields(tools), _TIMEOUT_MS, _MEMORY_MB, "ERROR")


class Sessions:
    """All open sessions of a service, least recently used first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: OrderedDict[tuple[str, str], Session] = OrderedDict()
        self.closed = 0

    def __len__(self) -> int:
        return len(self._open)

    def of(self, asked: Asked) -> Session:
        """The session that a turn belongs to, opened if need be.

        Raises:
            BusyError: if none can be closed to make room.
        """
        key = (asked.user, asked.session)
        found = self._open.get(key)
        if found is None:
            if len(self._open) >= self._most:
                self._close_one()
            found = self._open[key] = Session(ParentScope(asked.user, asked.session))
        else:
            self._open.move_to_end(key)
        return found

    def _close_one(self) -> None:
        idle = next((key for key, session in self._oldest() if not session.waiting), None)
        if idle is None:
            raise BusyError("all sessions are in use; try again later, or close one with DELETE")
        del self._open[idle]
        self.closed += 1

    def _oldest(self) -> Iterator[tuple[tuple[str, str], Session]]:
        """The few that have not been used for longest: a look at all would cost each new session a walk."""
        for _, pair in zip(range(64), self._open.items(), strict=False):
            yield pair

    def close(self, user: str, session: str) -> bool:
        """End a session; False if there is none that is idle."""
        found = self._open.get((user, session))
        if found is None or found.waiting:
            return False
        del self._open[user, session]
        return True

    def drop(self, gone: Callable[[str], bool]) -> None:
        """Forget the sessions of the users for whom `gone` is true: their parent died."""
        for key in [key for key in self._open if gone(key[0])]:
            del self._open[key]


Answer = Callable[[Session, str], Awaitable[str]]
Enter = Callable[[Session], Awaitable[Session]]


class Desk:
    """One parent at work.

    Args:
        children: of `children_of`.
        enter: the seam between finding a session and using it; a clean one returns what it is given.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        runtime: Runtime,
        children: tuple[ChildSpec, ...],
        store: Store,
        enter: Enter,
    ) -> None:
        self._most = settings.turns
        self._enter = enter
        if settings.target == "task":
            self._answer = _task(runtime, *children)
        else:
            self._answer = _rules(runtime, children, store)
        self.served = 0

    async def turn(self, session: Session, text: str) -> str:
        """Answer one turn.

        Raises:
            FullError: if the session has had all of its turns.
        """
        if session.turns >= self._most:
            raise FullError(f"a session has {self._most} turns; open another one")
        session.waiting += 1
        try:
            async with session.lock:
                session.turns += 1
                self.served += 1
                return await self._answer(await self._enter(session), text)
        finally:
            session.waiting -= 1


def _task(runtime: Runtime, worker: ChildSpec) -> Answer:
    tool = task_tool("Hand a task to a worker with a fresh context.")
    parent = TaskParent(ROOT, "Plan, delegate by `task`, and answer the user.", (), {"task": (tool, worker)})

    async def answer(session: Session, text: str) -> str:
        return await task_turn(runtime, parent, session.scope, text)

    return answer


def _rules(runtime: Runtime, children: tuple[ChildSpec, ...], store: Store) -> Answer:
    by_name = {spec.name: spec for spec in children}
    parent = RulesParent(ROOT, RULES, by_name, store, language=Language.CHINESE)

    async def answer(session: Session, text: str) -> str:
        return await rules_turn(runtime, parent, session.scope, text)

    return answer
