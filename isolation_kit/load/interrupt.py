"""A run that somebody ends before its time: it is told as such, and is never green."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial

from isolation_kit.faces.codes import CODES
from isolation_kit.finding import Verdict
from isolation_kit.load.environment import KEY, control_of
from isolation_kit.load.locusts import Environment, WorkerRunner, gevent, wait_read
from isolation_kit.load.process import LIFELINE, TWICE
from isolation_kit.load.shape import IsolationRamp

__all__ = ["cut_short", "watch"]

_ASKED, _WATCH = "isolation_interrupted", "isolation_watch"  # on Locust's environment
_BEFORE = "isolation-kit: interrupted before the run began: nothing was proved"
_GRACE = 20.0  # seconds that an interrupted worker has to tell its master what it counted


def watch(environment: Environment) -> None:
    """Take an interrupt where Locust waits for one, and in no user: there it would end as a traceback.

    A second interrupt ends the process at once.
    """
    handler = _leave_later if isinstance(environment.runner, WorkerRunner) else _end
    call = partial(handler, environment, gevent.getcurrent())
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # it is where a script runs us with `&`
        environment.__dict__[_WATCH] = gevent.signal_handler(signal.SIGINT, call)  # lives while it is kept
    if os.environ.get(LIFELINE):
        gevent.spawn(_when_alone, call)


def _when_alone(call: Callable[[], None]) -> None:
    """The end of `isolation-kit load`, also a sudden one, is the end of its run."""
    wait_read(sys.stdin.fileno())
    call()


def cut_short(environment: Environment) -> str:
    """Why the run did not come to its end, or "" where it did, or was to go on until somebody ended it."""
    runner, shape = environment.runner, environment.shape_class
    stopped = runner is None or runner.state in ("ready", "stopped")
    if KEY not in environment.__dict__ or (stopped and _ASKED not in environment.__dict__):
        return ""
    seconds = control_of(environment).run.clock.seconds
    asked = getattr(environment.parsed_options, "run_time", None) or 0
    if isinstance(shape, IsolationRamp):
        return "" if shape.ended else f"interrupted after {seconds:.0f} s, before the ramp came to its end"
    if shape is not None:
        return f"interrupted after {seconds:.0f} s, before the load shape came to its end"
    return f"interrupted after {int(seconds)} of {asked} s" if seconds < asked else ""


def _end(environment: Environment, main: gevent.Greenlet) -> None:
    """At the master, or where there are no workers: the orderly end."""
    if _again(environment):
        return
    if KEY in environment.__dict__:
        gevent.kill(main, KeyboardInterrupt)
    else:  # workers are waited for, where Locust takes no interrupt
        print(_BEFORE, file=sys.stderr)
        gevent.kill(main, SystemExit(CODES[Verdict.INCONCLUSIVE]))


def _again(environment: Environment) -> bool:
    """True for another interrupt: it ends the process, unless `timeout` and the like sent the first twice."""
    state, now = environment.__dict__, time.monotonic()
    if _ASKED not in state:
        state[_ASKED] = now
        return False
    if now - state[_ASKED] > TWICE:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    return True


def _leave_later(environment: Environment, main: gevent.Greenlet) -> None:
    """At a worker: a terminal interrupts the master as well, and that asks for the counters."""
    if _again(environment):
        return
    if KEY in environment.__dict__:  # the run has begun
        gevent.sleep(_GRACE)
    gevent.kill(main, KeyboardInterrupt)
