"""Whether a failed task is tried again: a visible decision of the parent (article 003, 4.1 and 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isolation_kit.runtime.failures import ErrorClass, Failure
from isolation_kit.runtime.hooks import Decision

__all__ = ["GIVE_UP", "RETRY", "Retries", "decide"]

RETRY = "retry"
GIVE_UP = "give_up"


@dataclass(frozen=True, slots=True)
class Retries:
    """Which errors are tried again, and when.

    Args:
        waits: seconds before each further attempt of an error of that class; a class without waits is not
            tried again.
    """

    waits: Mapping[ErrorClass, tuple[float, ...]] = field(
        default_factory=lambda: {ErrorClass.TRANSIENT: (1, 3, 9)}
    )


def decide(retries: Retries, failure: Failure, attempt: int) -> Decision:
    """What follows the failure of the `attempt`-th attempt, counted from 1."""
    waits = retries.waits.get(failure.kind, ())
    again = attempt <= len(waits)
    return Decision(
        kind="retry" if again else "give_up",
        chosen=RETRY if again else GIVE_UP,
        candidates=(RETRY, GIVE_UP) if waits else (GIVE_UP,),
        reason=failure.reason,
        attempt=attempt,
        error_class=str(failure.kind),
        wait=waits[attempt - 1] if again else 0,
    )
