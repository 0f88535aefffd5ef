"""What a session store refuses and how it fails: one family, so that a parent needs one `except`.

    StoreError                  reason
    ├── StoreInputError         store_input        an id, number or value that no store takes
    ├── StepTakenError          store_taken        a step was written a second time
    ├── StepMissingError        store_missing      an edit of a step that is not there (any more)
    ├── StaleEditError          store_stale        an edit of an old version cannot be merged
    ├── StoreLockedError        store_locked       another writer held the store for too long
    ├── StoreReadOnlyError      store_read_only    the store may be read only
    ├── StoreFullError          store_full         the disk or the store's own limit is full
    ├── StoreCorruptError       store_corrupt      what lies there is no store, or a damaged one
    ├── StoreClosedError        store_closed       the store was closed, or belongs to another process
    └── StoreUnavailableError   store_unavailable  anything else that the disk or the system refused

`reason` is a code that may stand in a result. No message holds an id, a value or a statement: ids and values
are a user's, and a statement shows them to whoever reads the log.
"""

from __future__ import annotations

from typing import ClassVar

from isolation_kit.errors import IsolationKitError

__all__ = [
    "StaleEditError",
    "StepMissingError",
    "StepTakenError",
    "StoreClosedError",
    "StoreCorruptError",
    "StoreError",
    "StoreFullError",
    "StoreInputError",
    "StoreLockedError",
    "StoreReadOnlyError",
    "StoreUnavailableError",
]


class StoreError(IsolationKitError):
    """Base of all that a session store raises; the operation that raised it has changed nothing."""

    reason: ClassVar[str] = "store_unavailable"


class StoreInputError(StoreError):
    """An id, a step number or a value that no store takes."""

    reason = "store_input"


class StepTakenError(StoreError):
    """A step was written a second time; the first value stands."""

    reason = "store_taken"


class StepMissingError(StoreError):
    """An edit names a step or a version that is not there, or not any more."""

    reason = "store_missing"


class StaleEditError(StoreError):
    """An edit of an old version meets a newer one that changed the same fields; the newer one stands."""

    reason = "store_stale"


class StoreLockedError(StoreError):
    """Another writer held the store for longer than one waits."""

    reason = "store_locked"


class StoreReadOnlyError(StoreError):
    """The store may be read, not written; a read renews, so it is a write as well."""

    reason = "store_read_only"


class StoreFullError(StoreError):
    """The disk, or the store's own limit, is full."""

    reason = "store_full"


class StoreCorruptError(StoreError):
    """What lies at the store's place is no store, or a damaged one."""

    reason = "store_corrupt"


class StoreClosedError(StoreError):
    """The store was closed, or was opened by another process."""

    reason = "store_closed"


class StoreUnavailableError(StoreError):
    """The disk or the operating system refused."""
