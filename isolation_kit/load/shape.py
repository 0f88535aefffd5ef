"""The ramp as Locust asks for it."""

from __future__ import annotations

import time

from isolation_kit.load.environment import control_of
from isolation_kit.load.locusts import LoadTestShape, MasterRunner
from isolation_kit.load.ramp import Ramp

__all__ = ["IsolationRamp"]


class IsolationRamp(LoadTestShape):
    """Looks for the smallest number of users at which something leaks; `--users` is the most."""

    abstract = True
    use_common_options = True
    ramp: Ramp | None = None
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
        users = self.ramp.users(time.monotonic(), control.leaks)
        self.ended = users is None
        return None if users is None else (users, float(users + 100))
