"""Users that check each answer: what a locustfile of one's own subclasses."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from isolation_kit.errors import UsageError
from isolation_kit.finding import Verdict, worst
from isolation_kit.load.environment import control_of
from isolation_kit.load.heard import Heard
from isolation_kit.load.identity import Identity, LoadTurn
from isolation_kit.load.locusts import (
    FastHttpUser,
    InterruptTaskSet,
    RescheduleTask,
    StopUser,
    gevent,
    task,
)
from isolation_kit.load.run import Run
from isolation_kit.load.session import Session

__all__ = ["IsolationUser"]

_FULL = 409  # a session that takes no further turn

log = logging.getLogger(__name__)


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
    client: Session

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
        self.run_part = control_of(self.environment).run
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
        self.client.listen()
        try:
            with self.say(turn, {"catch_response": True, "stream": True, "name": "turn"}) as response:
                self._judge(turn, response, drips)
        except (StopUser, InterruptTaskSet, RescheduleTask):
            raise
        except Exception as error:  # whatever say raises: a turn that nobody judged is a failure
            self._unsaid(turn, error)
        finally:
            self._overhear(turn, [heard for heard in self.client.overheard() if heard.over])

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

    def _session(self) -> Session:
        return Session(
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
