"""The record of one execution: events as they happen, canaries as they are handed out, sightings after."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from isolation_kit.canary import Canary
from isolation_kit.detect import Hit
from isolation_kit.detect.fragments import Bodies, body_runs, may_hold
from isolation_kit.scenario import Place, Scenario
from isolation_kit.stage.ledger import Ledger, readable
from isolation_kit.stage.views import View
from isolation_kit.trace import Channel, Event, Handover, Life, Lifecycle, Planted, Pollution, Sighting, Trace

__all__ = ["Ledger", "Recorder", "clean_headers"]

_CREDENTIALS = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "cookie",
        "set-cookie",
    }
)


def clean_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """`headers` without credentials: those are dropped before anything is stored."""
    return {name.lower(): value for name, value in headers.items() if name.lower() not in _CREDENTIALS}


def _recipient(event: Event) -> tuple[str, str, int]:
    return event.channel, event.agent, event.instance


@dataclass(slots=True)
class Recorder:
    """Collects one execution. Appending is all that happens while the target runs; scanning comes after."""

    ledger: Ledger
    scenario: Scenario
    case: str
    events: list[Event] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    planted: list[Planted] = field(default_factory=list)
    pollution: list[Pollution] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    off_schedule: list[str] = field(default_factory=list)
    responses: int = 0
    refused: str = ""
    said: str = ""
    _seq: itertools.count[int] = field(default_factory=itertools.count)
    _given: dict[tuple[Place, str, int], Canary] = field(default_factory=dict)

    def plant(self, place: Place, agent: str = "", instance: int = -1, tool: str = "") -> str:
        """Hand out the canary of `place`, and return its text: from now on it is live."""
        return self.hand_out(place, agent, instance, tool).text

    def hand_out(self, place: Place, agent: str = "", instance: int = -1, tool: str = "") -> Canary:
        """`plant` for those who need more than the text."""
        key = (place, agent, instance)
        canary = self._given.get(key)
        if canary is None:
            canary = self._given[key] = self.ledger.issue(self.scenario, self.case, place)
            token, worn = canary.token, canary.dressed
            self.planted.append(Planted(next(self._seq), place, token, agent, instance, tool, worn))
        return canary

    def adopt(self, place: Place, canary: Canary) -> None:
        """Take over a canary that was handed out when a kept target was built: it is live here too."""
        self.ledger.standing.add(canary.token)
        self._given[place, "", -1] = canary
        self.planted.append(Planted(next(self._seq), place, canary.token, worn=canary.dressed))

    def record(
        self,
        channel: Channel,
        agent: str,
        data: bytes,
        instance: int = -1,
        user: int = -1,
        session: str = "",
        turn: int = -1,
        subject: int = -1,
        tool: str = "",
    ) -> None:
        """Append one event."""
        self.events.append(
            Event(next(self._seq), channel, agent, data, instance, user, session, turn, subject, tool)
        )

    def life(self, kind: Lifecycle, agent: str, instance: int, turn: int, detail: str = "") -> None:
        """Append one lifecycle event."""
        self.lives.append(Life(next(self._seq), kind, agent, instance, turn, detail))

    def trace(
        self,
        answered: tuple[bool, ...] = (),
        error: str = "",
        handovers: tuple[Handover, ...] = (),
    ) -> Trace:
        """The finished Trace, with every canary of the campaign looked for in every event."""
        sightings, unread = self._search()
        return Trace(
            case=self.case,
            events=tuple(self.events),
            lives=tuple(self.lives),
            planted=tuple(self.planted),
            sightings=tuple(sightings),
            handovers=handovers,
            pollution=tuple(self.pollution),
            task_responses=self.responses,
            answered=answered,
            refused=self.refused,
            error=error,
            said=self.said,
            problems=tuple(dict.fromkeys(self.problems)),
            unscanned=sum(unread.values()),
            unread=tuple(sorted(unread.items())),
            off_schedule=tuple(dict.fromkeys(self.off_schedule)),
        )

    def _search(self) -> tuple[list[Sighting], dict[Channel, int]]:
        """Every sighting, and by channel the bytes that no scan has read."""
        sightings: list[Sighting] = []
        unread: dict[Channel, int] = {}
        live: dict[str, int] = {}
        for item in self.planted:
            live.setdefault(item.token, item.seq)
        views: dict[tuple[str, str, int], View] = {}
        parts: dict[bytes, None] = {}
        self.ledger.look_ahead([(_recipient(event), event.data) for event in self.events])
        for event in self.events:
            key = _recipient(event)
            view = views.get(key)
            known = self.ledger.scan(event.data, view.known if view else None)
            parts[readable(event.data, known.start)] = None
            hits = known.hits
            if view is None:
                views[key] = View(event, known)
            else:
                hits += view.follow(event, known, self.ledger.pool)
            if hits:
                sightings += self._sightings(event, hits, live)
            if known.unscanned:
                unread[event.channel] = unread.get(event.channel, 0) + known.unscanned
        for view in views.values():
            if view.seams is not None:
                sightings += self._sightings(view.event, view.close(), live)
                if view.unscanned:
                    unread[view.event.channel] = unread.get(view.event.channel, 0) + view.unscanned
        runs = self.ledger.new_runs(b" ".join(parts), self.case)
        if runs and may_hold(runs, live):
            sightings += self._headless(sightings, live)
        return sightings, unread

    def _headless(self, seen: list[Sighting], live: Mapping[str, int]) -> list[Sighting]:
        """Fragments without their prefix, where nothing better was found of the token."""
        told = {(sighting.seq, sighting.digest) for sighting in seen}
        bodies, head = Bodies(live), self.ledger.pool.head
        found = [
            sighting
            for event in self.events
            for sighting in self._sightings(event, bodies.find(body_runs(readable(event.data), head)), live)
        ]
        return [sighting for sighting in found if (sighting.seq, sighting.digest) not in told]

    def _sightings(self, event: Event, hits: tuple[Hit, ...], live: Mapping[str, int]) -> list[Sighting]:
        out = []
        owners, seq = self.ledger.owners, event.seq
        for hit in hits:
            canary = owners.get(hit.token)
            if canary is None:
                continue
            since = live.get(hit.token)
            out.append(
                Sighting(
                    seq,
                    canary.place,
                    canary.case,
                    canary.variant,
                    hit.form,
                    hit.tier,
                    since is not None and since < seq,
                    canary.digest,
                )
            )
        return out
