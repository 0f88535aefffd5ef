"""Several watchers at once, of whom none can break a run."""

from __future__ import annotations

from collections.abc import Callable

from isolation_kit.errors import KitError
from isolation_kit.runtime.hooks import Hooks, NoHooks

__all__ = ["Several"]

_MOMENTS = tuple(name for name in vars(NoHooks) if not name.startswith("_"))


class Several(NoHooks):
    """Tells each of several watchers, in their order.

    A watcher that raises does not break the run, and the others are told all the same: `failed` counts it.
    Only a fault that the kit itself reports goes through. Who listens is fixed when this is made.
    """

    def __init__(self, *watchers: Hooks) -> None:
        self.failed = 0
        # Who does nothing at a moment is not asked, and no look-up stands between the runtime and who does:
        # some twenty calls a delegation add up. A moment that nobody listens to stays that of `NoHooks`.
        for moment in _MOMENTS:
            told = [getattr(watcher, moment) for watcher in watchers]
            listeners = tuple(tell for tell in told if _listens(tell, moment))
            if listeners:
                setattr(self, moment, self._teller(listeners))

    def _teller(self, listeners: tuple[Callable[..., None], ...]) -> Callable[..., None]:
        def tell_all(*what: object) -> None:
            for tell in listeners:
                try:
                    tell(*what)
                except KitError:
                    raise
                except Exception:  # a watcher is foreign code, and none can change a run
                    self.failed += 1

        return tell_all


def _listens(tell: Callable[..., None], moment: str) -> bool:
    return getattr(tell, "__func__", None) is not vars(NoHooks)[moment]
