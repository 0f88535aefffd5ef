"""State of a conversation's steps, kept outside of every agent (article 000, sections 2.2 and 3.3).

Only the parent touches it; a child gets values, never a session id. The rules, the same for every store:

- **Key.** User, session and step, compared exactly: no case folding, no normal forms, no wildcards. A joined
  string (`agent_state:{session}:{step}` in the article) would let `a:b` + `c` and `a` + `b:c` meet.
- **Written once, read often.** A version of a step is never overwritten. An edit is a new version, merged
  with what others wrote since (`store_merge`); the older versions stay readable.
- **Lifetime.** A step lives for 30 minutes after it was written or edited. A read lets it live for at least
  10 more minutes: expiry = max(expiry, now + 10 min). The article sets the new lifetime outright, which would
  shorten a fresh step's from 30 minutes to 10; adding up would let a polling reader keep it for ever.
- **Expired is gone.** An expired step is never returned, and deleted. A number is not given out again while
  its session has a step, so a key that someone kept never names another step of the same session.
- **One clock.** A store has no other notion of time: set back, it keeps its steps so much longer. A time that
  is no number is refused.
- Values are kept as canonical JSON bytes, so no reader can change what another one reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime.store_errors import (
    StaleEditError,
    StepMissingError,
    StepTakenError,
    StoreClosedError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreInputError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from isolation_kit.runtime.text import canonical
from isolation_kit.strictjson import loads

__all__ = [
    "ID_LIMIT",
    "LIFETIME",
    "RENEWAL",
    "StaleEditError",
    "StepKey",
    "StepMissingError",
    "StepTakenError",
    "Store",
    "StoreClosedError",
    "StoreCorruptError",
    "StoreError",
    "StoreFullError",
    "StoreInputError",
    "StoreLockedError",
    "StoreReadOnlyError",
    "StoreUnavailableError",
    "check_ids",
    "check_key",
    "encoded",
    "taken",
    "time_of",
]

LIFETIME = 30 * 60.0  # seconds after a write or an edit
RENEWAL = 10 * 60.0  # seconds that a step lives at least after a read
ID_LIMIT = 1024  # bytes of UTF-8
_STEP_LIMIT = 2**53  # what every JSON reader and every database holds exactly


@dataclass(frozen=True, slots=True)
class StepKey:
    """Whose step this is: user, session and running number, from 0. Its `repr` shows the number only."""

    user: str = field(repr=False)
    session: str = field(repr=False)
    step: int


class Store(Protocol):
    """What a session store can do. There is no method that reads over sessions or users.

    Every method raises a `StoreError`, and nothing else, when it fails; then nothing was changed.
    """

    async def append(self, user: str, session: str, value: Any) -> StepKey:
        """Write the next step of a session."""
        ...

    async def write(self, key: StepKey, value: Any) -> None:
        """Write a step, once.

        Raises:
            StepTakenError: if it was written before.
        """
        ...

    async def edit(self, key: StepKey, version: int, value: Any) -> int:
        """Write a new version of a step and return its number.

        Args:
            version: the version that the editor saw, from 1; newer ones are merged with `value`.

        Raises:
            StaleEditError: if a newer version changed the same fields in another way.
            StepMissingError: if there is no such step or version.
        """
        ...

    async def read(self, key: StepKey) -> Any:
        """The newest value of a step, or None; lets it live on."""
        ...

    async def versions(self, key: StepKey) -> tuple[Any, ...]:
        """All values of a step, version 1 first; lets it live on."""
        ...

    async def steps(self, user: str, session: str) -> tuple[Any, ...]:
        """The newest values of one session's steps in order; lets them live on."""
        ...

    async def purge(self) -> None:
        """Delete what has expired, so that no byte of it is left where the store keeps its data."""
        ...


def check_ids(user: object, session: object) -> None:
    """Refuse ids that are no names: an empty one is a missing one, in which strangers would meet.

    Raises:
        StoreInputError: it names the rule and never the id.
    """
    for name, given in (("user", user), ("session", session)):
        if type(given) is not str:  # a subclass may compare, or encode itself, as another's id
            raise StoreInputError(f"the {name} id is a {type(given).__name__}; give a str such as 'u_8a3f'")
        if not 0 < len(given.encode("utf-8", "surrogatepass")) <= ID_LIMIT:
            raise StoreInputError(
                f"the {name} id has {len(given)} characters; 1 to {ID_LIMIT} bytes of UTF-8 are allowed, for "
                "example 'u_8a3f'. Ids are refused, never cut: cut ones could meet"
            )


def check_key(key: StepKey) -> None:
    """Refuse a key whose ids or number no store takes.

    Raises:
        StoreInputError: it names the rule and never the id.
    """
    check_ids(key.user, key.session)
    if type(key.step) is not int or not 0 <= key.step < _STEP_LIMIT:
        raise StoreInputError("a step is a whole number from 0, for example 3; append gives out the next one")


def time_of(clock: Callable[[], float]) -> float:
    """The time in seconds that `clock` tells.

    Raises:
        StoreUnavailableError: if it is no finite number: such a step would expire never, or at once.
    """
    now = clock()
    if not math.isfinite(now):
        raise StoreUnavailableError("the store's clock tells no finite number; give it one such as time.time")
    return now


def encoded(value: Any) -> bytes:
    """`value` as the bytes that a store keeps.

    Raises:
        StoreInputError: for what would not be read back as it was written: no JSON, NaN, a lone surrogate,
            two keys with one name, a key that is no text, a tuple, too deep, too large.
    """
    try:
        data = canonical(value).encode()
        same = loads(data) == value
    except (TypeError, ValueError, RecursionError, StrictJSONError) as error:
        raise StoreInputError(
            f"a {type(value).__name__} that is no strict JSON value ({type(error).__name__}) cannot be "
            'stored; give objects, lists, strings and finite numbers, for example {"bill": "B-17"}'
        ) from None
    if not same:
        raise StoreInputError(
            f"a {type(value).__name__} with a key that is no text, or with a tuple, would be read back as "
            'another value; give text keys and lists, for example {"1": ["a"]}'
        )
    return data


def taken(step: int) -> StepTakenError:
    """The error of a second write; a step's number is no secret."""
    return StepTakenError(f"step {step} of this session is taken, and a step is written once; append or edit")
