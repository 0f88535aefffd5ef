"""What the kit keeps on Locust's environment: the control of a process, and what comes before it."""

from __future__ import annotations

from typing import cast

from isolation_kit.load.control import Control
from isolation_kit.load.locusts import Environment, WorkerRunner
from isolation_kit.load.raised import Raised
from isolation_kit.load.settings import LoadSettings

__all__ = ["FAILED", "KEY", "WORDS", "control_of", "raised_of"]

KEY, FAILED, WORDS = "isolation", "isolation_failed", "isolation_words"  # on Locust's environment
_RAISED = "isolation_raised"


def control_of(environment: Environment) -> Control:
    """The control of a process; made at the first call, when the options of the master have arrived."""
    state = environment.__dict__
    if KEY not in state:
        runner = environment.runner
        state[KEY] = Control(
            LoadSettings.of(vars(environment.parsed_options)),
            worker=runner.worker_index if isinstance(runner, WorkerRunner) else -1,
            attacks=state[WORDS],
            users=lambda: runner.user_count if runner is not None else 0,
        )
    return cast("Control", state[KEY])


def raised_of(environment: Environment) -> Raised:
    """What users' code raised in this process."""
    state = environment.__dict__
    if _RAISED not in state:
        run = control_of(environment).run
        state[_RAISED] = Raised(run.tokens, run.settings.seed)
    return cast("Raised", state[_RAISED])
