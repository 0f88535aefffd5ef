"""The events that make a run of it: its begin, the counters on their way to the master, and its judgement."""

from __future__ import annotations

import re
import sys
import time
from functools import partial
from typing import Any

from isolation_kit.content import load_attacks
from isolation_kit.errors import IsolationKitError, UsageError
from isolation_kit.faces.codes import CODES
from isolation_kit.finding import Verdict
from isolation_kit.load.environment import FAILED, KEY, WORDS, control_of
from isolation_kit.load.interrupt import cut_short, watch
from isolation_kit.load.locusts import Environment, MasterRunner, WorkerRunner, gevent
from isolation_kit.load.settings import add_options
from isolation_kit.load.shape import IsolationRamp
from isolation_kit.report import terminal

__all__ = ["begin", "options"]

_END, _LAST = "isolation_end", "isolation_last"  # messages to and from workers
_HEARD = "isolation_heard"  # the workers that told something
_PATIENCE = 20.0  # seconds for all workers to end
_USAGE = 2
_LOGIN = re.compile(r"//[^/@]*@")  # name and password of a URL: not for reports


def options(parser: Any, **_: Any) -> None:
    """Add the kit's options to Locust's."""
    add_options(parser)


def begin(environment: Environment, **_: Any) -> None:
    """Join the run: as a worker, which tells its counters, or as the one who hears and judges."""
    environment.__dict__[WORDS] = load_attacks()  # now, while no clock runs
    hooks: Any = environment.events
    if isinstance(environment.runner, WorkerRunner):
        hooks.test_start.add_listener(_prepare)
        hooks.report_to_master.add_listener(partial(_tell, environment))
        environment.runner.register_message(_END, _tell_last)
        hooks.quitting.add_listener(_leave)
    else:
        hooks.test_start.add_listener(_start)
        hooks.worker_report.add_listener(partial(_hear, environment))
        if isinstance(environment.runner, MasterRunner):
            environment.runner.register_message(_LAST, _hear_last)
            hooks.test_stop.add_listener(_collect)
        else:  # workers end with the run only
            _check(environment)
        hooks.quitting.add_listener(_finish)
    watch(environment)
    # The event loop still has the time of before all that was read: --run-time would count from there.
    gevent.get_hub().loop.update_now()


def _check(environment: Environment) -> None:
    """End the process before anything is loaded, if it is told what cannot be."""
    if not getattr(environment.parsed_options, "headless", False):
        return  # the web interface asks for the service later
    try:
        control_of(environment).listen()
    except IsolationKitError as error:
        sys.exit(_told(error))


def _prepare(environment: Environment, **_: Any) -> None:
    control_of(environment).run.ready()


def _start(environment: Environment, **_: Any) -> None:
    """Begin to watch: under a ramp the control is there before, for the ramp asks it for the first step."""
    try:
        control_of(environment).watch()  # started again in the web interface, the same run goes on
        _prepare(environment)
    except IsolationKitError as error:
        environment.__dict__[FAILED] = _told(error)
        if environment.runner is not None:
            gevent.spawn(environment.runner.quit)


def _tell(environment: Environment, client_id: str, data: dict[str, Any], **_: Any) -> None:
    if KEY in environment.__dict__:
        run = control_of(environment).run
        data[KEY] = [run.tokens.run, run.counts.take().to_json()]


def _hear(environment: Environment, client_id: str, data: dict[str, Any], **_: Any) -> None:
    environment.__dict__.setdefault(_HEARD, set()).add(client_id)
    if KEY in data:
        control_of(environment).tell(*data[KEY])


def _collect(environment: Environment, **_: Any) -> None:
    """At the master: let each worker end and tell its last counters. Locust itself waits half a second."""
    runner = environment.runner
    assert isinstance(runner, MasterRunner)
    waiting = environment.__dict__[_LAST] = {client.id for client in runner.clients.all}
    asked = waiting | environment.__dict__.get(_HEARD, set())
    gone = asked - waiting  # Locust has struck them off: killed, or cut off for a minute
    runner.send_message(_END)
    ends = time.monotonic() + _PATIENCE
    while waiting and time.monotonic() < ends:
        gevent.sleep(0.05)
    if (gone or waiting) and KEY in environment.__dict__:
        trouble = f"{len(gone | waiting)} of {len(asked)} workers did not tell what they counted last"
        control_of(environment).troubles.append(trouble)


def _tell_last(environment: Environment, msg: Any, **_: Any) -> None:
    """At a worker: stop the users, then tell what was counted since the last report."""
    runner = environment.runner
    assert isinstance(runner, WorkerRunner)
    runner.stop()
    data: dict[str, Any] = {}
    _tell(environment, "", data)
    runner.send_message(_LAST, data)


def _hear_last(environment: Environment, msg: Any, **_: Any) -> None:
    _hear(environment, msg.node_id, msg.data)
    environment.__dict__.get(_LAST, set()).discard(msg.node_id)


def _leave(environment: Environment, **_: Any) -> None:
    environment.process_exit_code = 0  # the master judges


def _finish(environment: Environment, **_: Any) -> None:
    """Judge the run and set the exit code of the process."""
    if FAILED in environment.__dict__:
        environment.process_exit_code = environment.__dict__[FAILED]
        return
    environment.process_exit_code = CODES[Verdict.ERROR]  # unless what follows comes to its end
    runner, cut = environment.runner, cut_short(environment)
    if runner is not None and runner.state not in ("ready", "stopped"):
        runner.stop()  # interrupted: the users' last answers still count
    shape = environment.shape_class
    ramp = shape.ramp if isinstance(shape, IsolationRamp) else None
    notes = () if ramp is None else (ramp.told(),)
    leaks_from = 0 if ramp is None else ramp.leaky
    command = ("locust", *(_LOGIN.sub("//", word) for word in sys.argv[1:]))
    try:
        control_of(environment).cut = cut
        finished = control_of(environment).finish(_latency(environment), notes, command, leaks_from)
    except IsolationKitError as error:
        environment.process_exit_code = _told(error)
        return
    print(terminal(finished.report, color=sys.stdout.isatty(), width=100))
    for line in (*finished.told, *finished.remarks):
        print(line)
    environment.process_exit_code = CODES[finished.verdict]


def _latency(environment: Environment) -> dict[str, float]:
    entry = environment.stats.entries.get(("turn", "POST")) or environment.stats.total
    if not entry.num_requests:
        return {}
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    times = {name: float(entry.get_response_time_percentile(share)) for name, share in shares.items()}
    return {**times, "rate": float(entry.total_rps)}


def _told(error: IsolationKitError) -> int:
    print(f"isolation-kit: {error}", file=sys.stderr)
    return _USAGE if isinstance(error, UsageError) else CODES[Verdict.ERROR]
