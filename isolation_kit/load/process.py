"""Locust in a process group of its own, whose life hangs on this process: a pipe that it holds open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

__all__ = ["LIFELINE", "TWICE", "Ended", "run"]

LIFELINE = "ISOLATION_KIT_LIFELINE"  # set: standard input is the pipe, and its end is the end of the run
TWICE = 1.0  # seconds in which a second signal is the first, sent to the process and to its group
_PATIENCE = 60.0  # seconds that an interrupted run has for its report
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Ended:
    """How it ended: its exit code, below 0 for a signal, and when somebody asked for it (monotonic)."""

    code: int = 0
    asked: float = 0.0


def run(command: Sequence[str], patience: float = _PATIENCE) -> Ended:
    """Run it to its end. At SIGINT or SIGTERM it is asked to end, at a second one it is killed.

    Args:
        patience: seconds after which it is killed where it does not end.
    """
    ended = Ended()
    with _started(command) as locust, _passing_on(locust, ended):
        while locust.poll() is None:
            if ended.asked and time.monotonic() > ended.asked + patience:
                _kill(locust)
            with suppress(subprocess.TimeoutExpired):
                locust.wait(0.2)
        ended.code = locust.returncode
        if ended.code < 0 or ended.asked:
            _kill(locust)  # its workers, which would not notice for a minute
    return ended


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own interpreter, fixed words)
        command, stdin=subprocess.PIPE, process_group=0, env={**os.environ, LIFELINE: "stdin"}
    )


@contextmanager
def _passing_on(locust: subprocess.Popen[bytes], ended: Ended) -> Iterator[None]:
    def pass_on(number: int, frame: FrameType | None) -> None:
        if ended.asked:
            if time.monotonic() > ended.asked + TWICE:
                _kill(locust)
            return
        ended.asked = time.monotonic()
        assert locust.stdin is not None
        locust.stdin.close()
        print("isolation-kit: the run is ended, and its report written; once more kills it", file=sys.stderr)

    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pass_on) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kill(locust: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # nobody of the group is left
        os.killpg(locust.pid, signal.SIGKILL)
