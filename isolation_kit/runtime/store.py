"""State of a conversation's steps, kept outside of every agent (article 000, sections 2.2 and 3.3).

Only the parent touches it; a child gets values, never a session id. A step is written once and read often.
The key is a tuple: a joined string would let `a:b` + `c` and `a` + `b:c` meet. Values are stored as bytes, so
no reader can change what another one reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from isolation_kit.errors import IsolationKitError
from isolation_kit.runtime.text import canonical
from isolation_kit.strictjson import loads

__all__ = ["MemoryStore", "StepKey", "StepTakenError", "Store"]


class StepTakenError(IsolationKitError):
    """A step was written a second time; the first value stands."""


@dataclass(frozen=True, slots=True)
class StepKey:
    """Whose step this is: user, session and running number, from 0."""

    user: str
    session: str
    step: int


class Store(Protocol):
    """What a session store can do. There is no method that reads over sessions or users."""

    async def append(self, user: str, session: str, value: Any) -> StepKey:
        """Write the next step of a session."""
        ...

    async def write(self, key: StepKey, value: Any) -> None:
        """Write a step, once."""
        ...

    async def read(self, key: StepKey) -> Any:
        """The value of a step, or None."""
        ...

    async def steps(self, user: str, session: str) -> tuple[Any, ...]:
        """The values of one session's steps in order."""
        ...


class MemoryStore:
    """A store in this process. Each write is one step of the event loop, so concurrent writers lose nothing.

    Args:
        on_write: called with the key and the stored bytes.
    """

    def __init__(self, on_write: Callable[[StepKey, bytes], None] | None = None) -> None:
        self._sessions: dict[tuple[str, str], dict[int, bytes]] = {}
        self._on_write = on_write

    async def append(self, user: str, session: str, value: Any) -> StepKey:
        """Write the next step of a session."""
        taken = self._sessions.get((user, session), {})
        key = StepKey(user, session, max(taken, default=-1) + 1)
        self._put(key, value)
        return key

    async def write(self, key: StepKey, value: Any) -> None:
        """Write a step, once.

        Raises:
            StepTakenError: if it was written before.
        """
        self._put(key, value)

    async def read(self, key: StepKey) -> Any:
        """The value of a step, or None."""
        data = self._sessions.get((key.user, key.session), {}).get(key.step)
        return None if data is None else loads(data)

    async def steps(self, user: str, session: str) -> tuple[Any, ...]:
        """The values of one session's steps in order."""
        taken = self._sessions.get((user, session), {})
        return tuple(loads(taken[step]) for step in sorted(taken))

    def _put(self, key: StepKey, value: Any) -> None:
        taken = self._sessions.setdefault((key.user, key.session), {})
        if key.step in taken:
            raise StepTakenError(
                f"step {key.step} of this session is taken, and a step is written once; append a new one"
            )
        data = canonical(value).encode()
        taken[key.step] = data
        if self._on_write is not None:
            self._on_write(key, data)
