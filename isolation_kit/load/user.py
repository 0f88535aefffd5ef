"""Users that check each answer: what a locustfile of one's own subclasses."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from isolation_kit.errors import UsageError
from isolation_kit.finding import Verdict, worst
from isolation_kit.load.environment import control_of, raised_of
from isolation_kit.load.heard import Heard
from isolation_kit.load.identity import Identity, LoadTurn
from isolation_kit.load.locusts import (
    Environment,
    FastHttpUser,
    InterruptTaskSet,
    RescheduleTask,
    StopUser,
    gevent,
    task,
)
from isolation_kit.load.raised import NoResponseError
from isolation_kit.load.run import Run
from isolation_kit.load.session import Abandoned, Session
from isolation_kit.stage.names import plain_name

__all__ = ["IsolationUser"]

_FULL = 409  # a session that takes no further turn

_HOW = MappingProxyType({"catch_response": True, "stream": True, "name": "turn"})

log = logging.getLogger(__name__)


class IsolationUser(FastHttpUser):
    """A user with tokens of its own: Locust's FastHttpUser. A subclass says how a turn is sent, in `say`.

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
    client: Session

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.client = Session(
            base_url=self.host,
            request_event=self.environment.events.request,
            user=self,
            network_timeout=self.network_timeout,
            connection_timeout=self.connection_timeout,
            max_redirects=self.max_redirects,
            max_retries=0,
            insecure=self.insecure,
            concurrency=1,
            ssl_context_factory=self.ssl_context_factory,
            headers=self.default_headers,
            proxy_host=self.proxy_host,
            proxy_port=self.proxy_port,
        )

    def say(self, turn: LoadTurn, how: Mapping[str, Any]) -> Any:
        """Send one turn and return Locust's response.

        Args:
            turn: its `user`, `session` and `text` must reach the service.
            how: keyword arguments for the request that is the turn, `self.client.post(path, json=..., **how)`
                or another: `catch_response` and `stream`, both True, and the `name` "turn" for Locust's
                statistics. That request is read slowly or broken off, where one is to be, and no other.
        """
        raise NotImplementedError("say(turn, how) sends a turn; see the README's example")

    def open(self, turn: LoadTurn) -> None:
        """Hook: log in, before the first turn of a session, and again before the next if that raised.

        What it asks is judged, but never broken off. A subclass that has it starts each session without
        cookies; else they last as long as the user.

        Args:
            turn: the session's first turn; its `user` and `session` are those to log in for.
        """

    def complete(self, response: Any) -> bool:
        """True if `response` is a whole answer, in which the user's own tokens must stand."""
        return 200 <= int(response.status_code) < 300

    def learn(self, run: Run) -> None:
        """Hook: learn what the service is before the first turn."""

    def on_start(self) -> None:
        """Become somebody."""
        self.run_part = control_of(self.environment).run
        self.learn(self.run_part)
        try:
            self.identity = self.run_part.take()
        except UsageError as error:
            log.error("%s", error)
            raise StopUser from None
        self._opened = ""  # the session that was opened
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
        if self.abandon <= chance < self.abandon + self.reconnect:
            self._renew()
        drips = chance > 1 - self.slow
        self.run_part.sent("slow" if drips else "")
        self.client.listen()
        try:
            self._open(turn)
            if chance < self.abandon:
                self.client.break_off(0.0005 + self._dice.random() * self._usual)
            answer = self.say(turn, dict(_HOW))
            with _checked(answer) as response:
                self._judge(turn, response, drips)
        except Abandoned:
            self.run_part.counts.add("abandoned")
            self.identity.unsure(turn)
        except (StopUser, InterruptTaskSet, RescheduleTask):
            raise
        except Exception as error:  # whatever say raises: a turn that nobody judged is a failure
            self._unsaid(turn, error)
        finally:
            self._overhear(turn, [heard for heard in self.client.overheard() if heard.over])

    def _open(self, turn: LoadTurn) -> None:
        if turn.session != self._opened and type(self).open is not IsolationUser.open:
            self.client.cookiejar.clear()
            self.open(turn)
            self._opened = turn.session

    def _unsaid(self, turn: LoadTurn, error: Exception) -> None:
        """Count a turn that came to nothing, and tell the first of its kind."""
        raised = raised_of(self.environment)
        kind = raised.kind(error)
        if told := raised.told(error):
            log.error("%s", told)
        self.run_part.failed(kind)
        self.identity.unsure(turn)
        gevent.sleep(0.05)

    def _judge(self, turn: LoadTurn, response: Any, drips: bool) -> None:
        run, status = self.run_part, int(response.status_code or 0)
        heard = getattr(response, "heard", None) or Heard(response._response)  # of another client
        data, unread = heard.body(drips=drips)
        seconds = time.time() - response.request_meta["start_time"]
        self._usual += (seconds - self._usual) / 8
        response.request_meta |= {"response_time": seconds * 1000, "response_length": len(data)}
        complete = heard.whole and not unread and self.complete(response)
        verdict = run.response(turn, data, complete=complete, unread=unread, head=heard.head())
        verdict = worst([verdict, self._overhear(turn, self.client.overheard(heard))])
        if not complete:
            kind = _kind(status, heard.whole, unread)
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

    def _overhear(self, turn: LoadTurn, answers: Iterable[Heard]) -> Verdict:
        """Judge what `say` asked besides: what must not be there must not be there either."""
        found = [Verdict.PASS]
        for heard in answers:
            data, unread = heard.body()
            complete = heard.whole and not unread and 200 <= heard.status < 300
            head, alien = heard.head(), replace(turn, required=())
            found.append(self.run_part.response(alien, data, complete=complete, unread=unread, head=head))
        return worst(found)

    def _renew(self) -> None:
        self.client.reconnect()
        self.run_part.counts.add("reconnected")


def _checked(answer: Any) -> Any:
    """What `say` returned, if it is a response that was asked for with `how`."""
    if hasattr(answer, "request_meta") and hasattr(answer, "_response"):
        return answer
    raise NoResponseError(
        f"say(turn, how) returned {plain_name(type(answer).__name__)}; it must return the response of the "
        "turn's request, sent with how, for example: return self.client.post(path, json=..., **how)"
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
