"""Load tests that assert isolation: many users at once, each with tokens of its own, every answer checked.

A locustfile of one's own subclasses `IsolationUser` and says how a turn is sent (README, "Under load"). Then
`locust -f` runs it, or `isolation-kit load -f`. Locust is imported in `locusts` only, and only when one of
the names below is asked for: it patches sockets, which neither the audit nor the pytest plugin may ever see.

`identity` and `scripts` are what users say, `check` judges what they get back, `tokens` tells whose a token
is, `counts` adds up over workers, `views` listens to the service's side channel, `ramp` looks for the
smallest concurrency that leaks, `run` and `control` hold one process's part, `outcome` makes the report,
`recover` that of a killed run, and `process` runs Locust as a child. Of Locust's side, `user` asks and has
judged, `session` is its client, `heard` an answer with all that came, `raised` what its own code raised,
`events` make a run of it, `interrupt` ends it early, and `swarm` registers them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isolation_kit.load.identity import LoadTurn
    from isolation_kit.load.swarm import IsolationRamp, IsolationUser, ServiceUser

__all__ = ["IsolationRamp", "IsolationUser", "LoadTurn", "ServiceUser"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "identity" if name == "LoadTurn" else "swarm"
    return getattr(import_module(f"{__name__}.{module}"), name)
