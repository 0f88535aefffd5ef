"""The fixture `isolation_probe`: canaries and a recorder for a test that drives its system itself."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import pytest

from isolation_kit.config import Config
from isolation_kit.errors import UsageError
from isolation_kit.finding import Finding
from isolation_kit.oracles.canary import leaks
from isolation_kit.pytest_plugin.items import IsolationFailure
from isolation_kit.pytest_plugin.setting import config_of
from isolation_kit.scenario import Place, Scenario, TurnPlan, check_slot
from isolation_kit.stage import Ledger, Recorder
from isolation_kit.target import Agent, Declaration, Via
from isolation_kit.trace import CHILD_CHANNELS, Channel

__all__ = ["Probe", "probe_of"]


def probe_of(pytestconfig: pytest.Config, name: str) -> Probe:
    """The probe of the test with this node id: the same canaries in every run of one seed."""
    return Probe(config_of(pytestconfig), name)


class Probe:
    """Hands out canaries, records what reached whom, and judges it by the default policy and `[[allow]]`.

    Who records on a `child.*` channel is a child; the first who records elsewhere is the parent.
    """

    def __init__(self, config: Config, name: str) -> None:
        self._policy = config.policy
        case = blake2b(name.encode(), digest_size=8).hexdigest()
        scenario = Scenario("probe", "probe", config.run.seed, ())
        self._recorder = Recorder(Ledger(config.run.seed), scenario, case)
        self._sessions: dict[int, str] = {}
        self._numbers: dict[tuple[str, int, int, int], int] = {}
        self.judged = False

    def plant(self, slot: str, user: int = 0, *, subject: int = -1, turn: int = 0, session: str = "s") -> str:
        """A canary of `slot`; put it into your system at the place that the slot names.

        Args:
            user: whose it is, as a number; -1 for the system's own.
            subject: whom the datum is about, if it is about a person.
            turn: the user turn that it belongs to; `session` is that turn's session.

        Raises:
            UsageError: for an unknown slot.
        """
        where = (check_slot(slot), user, subject, turn)
        number = self._numbers.get(where, 0)
        self._numbers[where] = number + 1
        self._sessions.setdefault(turn, session)
        return self._recorder.plant(Place(*where, number))

    def record(
        self,
        channel: str,
        agent: str,
        data: Any,
        *,
        user: int = 0,
        subject: int = -1,
        turn: int = 0,
        session: str = "s",
    ) -> None:
        """Record what reached `agent`: text, bytes, or anything that JSON can say.

        Raises:
            UsageError: for an unknown channel.
        """
        if channel not in tuple(Channel):
            raise UsageError(
                f"record got the unknown channel {channel[:40]!r}; allowed: {', '.join(Channel)}, "
                "for example 'child.request'"
            )
        self._sessions.setdefault(turn, session)
        self._recorder.record(
            Channel(channel),
            agent,
            _bytes(data),
            user=user,
            session=session,
            turn=turn,
            subject=subject,
        )

    def findings(self) -> tuple[Finding, ...]:
        """Every canary that stands where it may not, allowed ones included."""
        self.judged = True
        turns = range(max(self._sessions, default=-1) + 1)
        plans = tuple(TurnPlan(0, "", session=self._sessions.get(turn, "s")) for turn in turns)
        scenario = Scenario("probe", "probe", self._recorder.scenario.seed, plans)
        return leaks(scenario, self._declaration(), self._policy, self._recorder.trace())

    def assert_isolated(self) -> None:
        """Fail if a canary stands where it may not, or if there was nothing to judge.

        Raises:
            IsolationFailure: LEAK with the fingerprints, or INCONCLUSIVE.
        """
        self.judged = True
        for what, seen, example in (
            ("planted", self._recorder.planted, 'isolation_probe.plant("parent.text")'),
            (
                "recorded",
                self._recorder.events,
                'isolation_probe.record("child.request", "writer", messages)',
            ),
        ):
            if not seen:
                raise IsolationFailure(f"INCONCLUSIVE: nothing was {what}; do so first: {example}")
        found = [finding for finding in self.findings() if finding.counts]
        if found:
            lines = sorted({str(finding.fingerprint) for finding in found})
            raise IsolationFailure("\n  ".join([f"LEAK: {len(lines)} fingerprints", *lines]))

    def _declaration(self) -> Declaration:
        events = self._recorder.events
        children = dict.fromkeys(event.agent for event in events if event.channel in CHILD_CHANNELS)
        others = [event.agent for event in events if event.agent not in children]
        root = others[0] if others else "parent"
        edges = {name: Via(name) for name in (*children, *others) if name != root}
        return Declaration("probe", root, {root: Agent(children=edges), **{name: Agent() for name in edges}})


def _bytes(data: Any) -> bytes:
    if isinstance(data, bytes):
        return data
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
    return text.encode("utf-8", "surrogatepass")
