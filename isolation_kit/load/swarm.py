"""Locust's side: users that check each answer, the ramp, and the events that make a run of it.

The one file that imports Locust. Its listeners are registered when it is imported, as Locust wants it: the
master, which has no users, must hear the workers' counters too.
"""

from __future__ import annotations

import logging
import random
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

import gevent
from locust import FastHttpUser, LoadTestShape, events, task
from locust.contrib.fasthttp import FastHttpSession
from locust.env import Environment
from locust.exception import InterruptTaskSet, RescheduleTask, StopUser
from locust.runners import MasterRunner, WorkerRunner

from isolation_kit.content import load_attacks
from isolation_kit.errors import IsolationKitError, UsageError
from isolation_kit.faces.codes import CODES
from isolation_kit.finding import Verdict
from isolation_kit.load.bodies import body_of, head_of
from isolation_kit.load.control import Control
from isolation_kit.load.identity import Identity, LoadTurn
from isolation_kit.load.ramp import Ramp
from isolation_kit.load.run import Run
from isolation_kit.load.settings import LoadSettings, add_options
from isolation_kit.report import terminal

__all__ = ["IsolationRamp", "IsolationUser", "ServiceUser"]

_KEY, _FAILED, _WORDS = "isolation", "isolation_failed", "isolation_words"  # on Locust's environment
_END, _LAST = "isolation_end", "isolation_last"  # messages to and from workers
_HEARD = "isolation_heard"  # the workers that told something
_PATIENCE = 20.0  # seconds for all workers to end
_USAGE = 2
_LOGIN = re.compile(r"//[^/@]*@")  # name and password of a URL: not for reports
_FULL = 409  # a session that takes no further turn

log = logging.getLogger(__name__)


class _Session(FastHttpSession):
    """Asks for plain answers, which can be judged, and follows no redirect: tokens stay where they belong."""

    def request(self, *words: Any, **more: Any) -> Any:
        """Send a request."""
        more["headers"] = {"Accept-Encoding": "identity", **(more.get("headers") or {})}
        more.setdefault("allow_redirects", False)
        return super().request(*words, **more)


class IsolationUser(FastHttpUser):
    """A user with tokens of its own. A subclass says how a turn is sent, in `say`, and nothing else.

    Attributes:
        echoes: True where an answer repeats what its turn was about, so that a missing token is a loss;
            False looks for what must not be there only.
        abandon: share of turns whose connection is closed before the answer has come.
        slow: share of answers that are read in drips.
        reconnect: share of turns that begin with a new connection.
    """

    abstract = True
    echoes = True
    abandon = 0.04
    slow = 0.02
    reconnect = 0.02
    network_timeout = 60.0

    identity: Identity
    run_part: Run

    def say(self, turn: LoadTurn, how: Mapping[str, Any]) -> Any:
        """Send one turn and return Locust's response.

        Args:
            turn: its `user`, `session` and `text` must reach the service.
            how: keyword arguments to be passed on, `self.client.post(path, json=..., **how)`.
        """
        raise NotImplementedError("say(turn, how) sends a turn; see the README's example")

    def complete(self, response: Any) -> bool:
        """True if `response` is a whole answer, in which the user's own tokens must stand."""
        return 200 <= int(response.status_code) < 300

    def learn(self, run: Run) -> None:
        """Hook: learn what the service is before the first turn."""

    def on_start(self) -> None:
        """Become somebody."""
        self.run_part = _control(self.environment).run
        self.learn(self.run_part)
        try:
            self.identity = self.run_part.take()
        except UsageError as error:
            log.error("%s", error)
            raise StopUser from None
        self.client = self._session()
        self._raised = False
        self._usual = 0.01  # seconds that an answer takes, of late
        self._dice = random.Random(self.identity.number)  # noqa: S311  (who does what, no secret)

    def on_stop(self) -> None:
        """Leave the place to another."""
        if hasattr(self, "identity"):
            self.run_part.give_back(self.identity)

    @task
    def converse(self) -> None:
        """One turn, judged."""
        turn = self.identity.next()
        if not self.echoes:
            turn = replace(turn, required=())
        chance = self._dice.random()
        if chance < self.abandon:
            self._abandon(turn)
            return
        if chance < self.abandon + self.reconnect:
            self._renew()
        drips = chance > 1 - self.slow
        self.run_part.sent("slow" if drips else "")
        try:
            with self.say(turn, {"catch_response": True, "stream": True, "name": "turn"}) as response:
                self._judge(turn, response, drips)
        except (StopUser, InterruptTaskSet, RescheduleTask):
            raise
        except Exception as error:  # whatever say raises: a turn that nobody judged is a failure
            self._unsaid(turn, error)

    def _unsaid(self, turn: LoadTurn, error: Exception) -> None:
        """Count a turn that came to nothing; only the type is told, because turns hold tokens."""
        kind = f"a turn raised {type(error).__name__}"
        if not self._raised:
            log.error("%s; say(turn, how) must return self.client.post(path, json=..., **how)", kind)
        self._raised = True
        self.run_part.failed(kind)
        self.identity.unsure(turn)
        gevent.sleep(0.05)

    def _judge(self, turn: LoadTurn, response: Any, drips: bool) -> None:
        run, status, unread = self.run_part, int(response.status_code or 0), 0
        whole = True
        try:
            data, unread = body_of(response._response, drips=drips)
        except Exception:  # the client is foreign code: whatever it raises, the answer broke off
            data, whole = b"", False
        if unread:
            self._renew()  # the rest of it is never read
        seconds = time.time() - response.request_meta["start_time"]
        self._usual += (seconds - self._usual) / 8
        response.request_meta |= {"response_time": seconds * 1000, "response_length": len(data)}
        complete = whole and not unread and self.complete(response)
        head = head_of(response._response)
        verdict = run.response(turn, data, complete=complete, unread=unread, head=head)
        if not complete:
            kind = _kind(status, whole, unread)
            run.failed(kind)
            response.failure(kind)
            if isinstance(getattr(response, "error", None), ConnectionRefusedError):
                self.identity.say_again(turn)
            else:
                self.identity.unsure(turn)
            if status == _FULL:
                self.identity.restart()
            if not status:
                gevent.sleep(0.05)  # a service that is down is not asked a thousand times a second
        elif verdict is Verdict.PASS:
            response.success()
            self.identity.answered(turn)
        if verdict in (Verdict.LEAK, Verdict.LOSS):
            response.failure(f"isolation: {verdict}")

    def _abandon(self, turn: LoadTurn) -> None:
        """Say it and go away before the answer comes, over a connection that nobody uses again."""
        self.run_part.sent("abandoned")
        kept, self.client = self.client, self._session()
        try:
            with gevent.Timeout(0.0005 + self._dice.random() * self._usual, False):
                self.say(turn, {"catch_response": True, "stream": True, "name": "turn (broken off)"})
        except Exception as error:
            self._unsaid(turn, error)
        finally:
            self.client.client.close()
            self.client = kept
        self.identity.unsure(turn)

    def _renew(self) -> None:
        self.client.client.close()
        self.client = self._session()
        self.run_part.counts.add("reconnected")

    def _session(self) -> FastHttpSession:
        return _Session(
            base_url=self.host,
            request_event=self.environment.events.request,
            user=self,
            network_timeout=self.network_timeout,
            connection_timeout=self.connection_timeout,
            max_retries=0,
            insecure=self.insecure,
            concurrency=1,
            headers=self.default_headers,
        )


def _kind(status: int, whole: bool, unread: int) -> str:
    """How a request failed: one of few words, for a report."""
    if unread:
        return "too long or not readable"
    if not status:
        return "no answer"
    if not whole:
        return "broke off"
    return "no whole answer" if 200 <= status < 300 else f"status {status}"


class ServiceUser(IsolationUser):
    """A user of `isolation-kit serve`."""

    abstract = True

    def learn(self, run: Run) -> None:
        """Ask the service which of the reference targets it is."""
        with self.client.get("/health", name="health", catch_response=True) as response:
            try:
                run.target = "rules" if response.json()["target"] == "rules" else "task"
                response.success()
            except (ValueError, KeyError, TypeError, AttributeError):
                response.failure("no health")

    def say(self, turn: LoadTurn, how: Mapping[str, Any]) -> Any:
        """Send one turn."""
        return self.client.post(
            f"/v1/sessions/{turn.session}/turns",
            json={"text": turn.text, "reply": turn.reply},
            headers={"X-User": turn.user},
            **how,
        )

    def complete(self, response: Any) -> bool:
        """A whole answer is JSON."""
        kind = str(response.headers.get("content-type", "")) if response.headers else ""
        return super().complete(response) and kind.startswith("application/json")


class IsolationRamp(LoadTestShape):
    """Looks for the smallest number of users at which something leaks; `--users` is the most."""

    abstract = True
    use_common_options = True
    ramp: Ramp | None = None

    def tick(self) -> tuple[int, float] | None:
        """How many users there should be now."""
        assert self.runner is not None
        environment = self.runner.environment
        control = _control(environment)
        if self.ramp is None:
            most = int(getattr(environment.parsed_options, "num_users", None) or 100)
            settle = 4.0 if isinstance(self.runner, MasterRunner) else 1.0  # workers tell every 3 seconds
            self.ramp = Ramp(most, control.settings.step, settle)
        users = self.ramp.users(time.monotonic(), control.leaks)
        return None if users is None else (users, float(users + 100))


def _control(environment: Environment) -> Control:
    """The control of a process; made at the first call, when the options of the master have arrived."""
    state = environment.__dict__
    if _KEY not in state:
        runner = environment.runner
        state[_KEY] = Control(
            LoadSettings.of(vars(environment.parsed_options)),
            worker=runner.worker_index if isinstance(runner, WorkerRunner) else -1,
            attacks=state[_WORDS],
            users=lambda: runner.user_count if runner is not None else 0,
        )
    return cast("Control", state[_KEY])


def _options(parser: Any, **_: Any) -> None:
    add_options(parser)


def _begin(environment: Environment, **_: Any) -> None:
    """Join the run: as a worker, which tells its counters, or as the one who hears and judges."""
    environment.__dict__[_WORDS] = load_attacks()  # now, while no clock runs
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
        hooks.quitting.add_listener(_finish)
    # The event loop still has the time of before all that was read: --run-time would count from there.
    gevent.get_hub().loop.update_now()


def _prepare(environment: Environment, **_: Any) -> None:
    _control(environment).run.ready()


def _start(environment: Environment, **_: Any) -> None:
    if _KEY in environment.__dict__:
        return  # started again in the web interface: the same run goes on
    try:
        _control(environment).watch()
        _prepare(environment)
    except IsolationKitError as error:
        environment.__dict__[_FAILED] = _told(error)
        if environment.runner is not None:
            gevent.spawn(environment.runner.quit)


def _tell(environment: Environment, client_id: str, data: dict[str, Any], **_: Any) -> None:
    if _KEY in environment.__dict__:
        run = _control(environment).run
        data[_KEY] = [run.tokens.run, run.counts.take().to_json()]


def _hear(environment: Environment, client_id: str, data: dict[str, Any], **_: Any) -> None:
    environment.__dict__.setdefault(_HEARD, set()).add(client_id)
    if _KEY in data:
        _control(environment).tell(*data[_KEY])


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
    if (gone or waiting) and _KEY in environment.__dict__:
        trouble = f"{len(gone | waiting)} of {len(asked)} workers did not tell what they counted last"
        _control(environment).troubles.append(trouble)


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
    if _FAILED in environment.__dict__:
        environment.process_exit_code = environment.__dict__[_FAILED]
        return
    environment.process_exit_code = CODES[Verdict.ERROR]  # unless what follows comes to its end
    runner = environment.runner
    if runner is not None and runner.state not in ("ready", "stopped"):
        runner.stop()  # interrupted: the users' last answers still count
    shape = environment.shape_class
    notes = (shape.ramp.told(),) if isinstance(shape, IsolationRamp) and shape.ramp is not None else ()
    command = ("locust", *(_LOGIN.sub("//", word) for word in sys.argv[1:]))
    try:
        finished = _control(environment).finish(_latency(environment), notes, command)
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


_hooks: Any = events  # without types of its own
_hooks.init_command_line_parser.add_listener(_options)
_hooks.init.add_listener(_begin)
