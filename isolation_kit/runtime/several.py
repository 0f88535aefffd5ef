"""Several watchers at once, of whom none can break a run."""

from __future__ import annotations

import logging
from collections.abc import Callable

from isolation_kit.errors import KitError, UsageError
from isolation_kit.runtime.faults import type_name
from isolation_kit.runtime.hooks import Hooks, NoHooks

__all__ = ["Several", "guarded"]

_LOGGER = "isolation_kit.runtime.watchers"

_MOMENTS = tuple(name for name in vars(NoHooks) if not name.startswith("_"))


class Several(NoHooks):
    """Tells each of several watchers, in their order.

    A watcher that raises does not break the run, and the others are told all the same: `failed` counts it,
    and the first time the type of what it raised is logged. Only a fault or a wrong use that the kit itself
    reports goes through. Who listens is fixed when this is made.
    """

    unguarded = True  # it guards itself

    def __init__(self, *watchers: Hooks) -> None:
        self.failed = 0
        # Who does nothing at a moment is not asked, and no look-up stands between the runtime and who does:
        # some twenty calls a delegation add up. A moment that nobody listens to stays that of `NoHooks`.
        for moment in _MOMENTS:
            told = [getattr(watcher, moment) for watcher in watchers]
            listeners = tuple(tell for tell in told if _listens(tell, moment))
            if listeners:
                setattr(self, moment, self._teller(moment, listeners))

    def _teller(self, moment: str, listeners: tuple[Callable[..., None], ...]) -> Callable[..., None]:
        def tell_all(*what: object) -> None:
            for tell in listeners:
                try:
                    tell(*what)
                except (KitError, UsageError):
                    raise
                except Exception as error:  # a watcher is foreign code, and none can change a run
                    self._count(moment, error)

        return tell_all

    def _count(self, moment: str, error: Exception) -> None:
        self.failed += 1
        if self.failed == 1:  # one line: a watcher that is broken is so at each moment
            logging.getLogger(_LOGGER).error("watcher failed moment=%s error=%s", moment, type_name(error))


def guarded(hooks: Hooks) -> Hooks:
    """`hooks` such that what they raise breaks no run; as they are if `unguarded`, or if they do nothing."""
    if type(hooks) is NoHooks or getattr(hooks, "unguarded", False) is True:
        return hooks
    return Several(hooks)


def _listens(tell: Callable[..., None], moment: str) -> bool:
    return getattr(tell, "__func__", None) is not vars(NoHooks)[moment]
