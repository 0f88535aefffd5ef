"""The ramp as Locust asks for it."""

from __future__ import annotations

import time

from isolation_kit.load.environment import control_of
from isolation_kit.load.locusts import LoadTestShape, MasterRunner
from isolation_kit.load.ramp import Ramp

__all__ = ["IsolationRamp"]

_PATIENCE = 30  # times that a step waits for its views, once a second


class IsolationRamp(LoadTestShape):
    """Looks for the smallest number of users at which something leaks; `--users` is the most."""

    abstract = True
    use_common_options = True
    ramp: Ramp | None = None
    _waited: int = 0
    _last: int = 0  # users of the step
    ended: bool = False

    def tick(self) -> tuple[int, float] | None:
        """How many users there should be now."""
        assert self.runner is not None
        environment = self.runner.environment
        control = control_of(environment)
        if self.ramp is None:
            most = int(getattr(environment.parsed_options, "num_users", None) or 100)
            settle = 4.0 if isinstance(self.runner, MasterRunner) else 1.0  # workers tell every 3 seconds
            self.ramp = Ramp(most, control.settings.step, settle)
        late = control.listener is not None and control.listener.behind
        if late and self._last and self._waited < _PATIENCE:
            self._waited += 1  # views of this step are still to come: they count for it, not for the next
            return self._last, float(self._last + 100)
        users = self.ramp.users(time.monotonic(), control.leaks)
        self._waited = self._waited if users == self._last else 0
        self._last, self.ended = users or 0, users is None
        return None if users is None else (users, float(users + 100))
