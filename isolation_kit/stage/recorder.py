"""The record of one execution: events as they happen, canaries as they are handed out, sightings after."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from isolation_kit.canary import Canary, Mint
from isolation_kit.detect import Hit, Pool, scan
from isolation_kit.scenario import Place, Scenario
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


_OVERLAP = 512
_CACHED_EVENTS = 4096
_CACHED_BYTES = 16_384
_MOST_BYTES = 2**21  # of one event; what lies beyond counts as not scanned, hence as no proof


class _Scanned(NamedTuple):
    data: bytes
    hits: tuple[Hit, ...]
    unscanned: int


class Ledger:
    """Every canary of a campaign: who owns it. Keeps the newest `keep` executions for residue.

    Args:
        seed: the run's seed; same seed, same tokens.
        keep: how many executions' canaries stay known.
    """

    def __init__(self, seed: int, keep: int = 4000) -> None:
        self.mint = Mint(seed)
        self.pool = Pool(self.mint.prefix)
        self.owners: dict[str, Canary] = {}
        self._by_case: OrderedDict[tuple[str, tuple[tuple[str, int], ...]], dict[Place, Canary]] = (
            OrderedDict()
        )
        self._keep = keep
        self.standing: set[str] = set()
        self._scanned: OrderedDict[bytes, _Scanned] = OrderedDict()

    def issue(self, scenario: Scenario, case: str, place: Place) -> Canary:
        """The canary of `place` in this case and variant, minted at first use."""
        key = (case, scenario.variant)
        issued = self._by_case.get(key)
        if issued is None:
            issued = self._by_case[key] = {}
            self._forget()
        canary = issued.get(place)
        if canary is None:
            number = scenario.variant_of(place.slot) if scenario.variant else 0
            canary = issued[place] = self.mint.mint(case, place, number)
            self.owners[canary.token] = canary
            self.pool.add(canary.token)
        return canary

    def scan(self, data: bytes, earlier: _Scanned | None = None) -> _Scanned:
        """Every hit in `data`; `earlier` is what the same recipient got before on the same channel.

        A request repeats the messages of the one before it, so only what follows is scanned again, with an
        overlap; a text that merely grows is read whole, for an encoded part of it may just have begun.
        Bytes seen before are not scanned again: canaries minted since cannot be in them.
        """
        known = self._scanned.get(data)
        if known is not None:
            return known
        start = 0
        if earlier is not None and _continues(data, earlier.data):
            start = max(0, len(earlier.data) - 2 - _OVERLAP)
        part = data[start : start + _MOST_BYTES]
        result = scan(part, self.pool)
        unread = len(data) - start - len(part)
        known = _Scanned(data, result.hits, result.unscanned + unread)
        if start and earlier is not None:
            seen = {(hit.token, hit.form): hit for hit in (*earlier.hits, *result.hits)}
            known = _Scanned(data, tuple(seen.values()), max(earlier.unscanned, known.unscanned))
        if len(data) <= _CACHED_BYTES:
            self._scanned[data] = known
            if len(self._scanned) > _CACHED_EVENTS:
                self._scanned.popitem(last=False)
        return known

    def owner(self, token: str) -> Canary | None:
        """The canary that has this token, if the campaign issued it."""
        return self.owners.get(token)

    def _forget(self) -> None:
        while len(self._by_case) > self._keep:
            _, old = self._by_case.popitem(last=False)
            for canary in old.values():
                if canary.token not in self.standing:
                    self.owners.pop(canary.token, None)


def _continues(data: bytes, earlier: bytes) -> bool:
    """True if `data` is the JSON list of `earlier` with more items."""
    end = len(earlier) - 2
    return earlier.endswith(b"]}") and data[end : end + 1] == b"," and data.startswith(earlier[:-2])


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
    responses: int = 0
    refused: str = ""
    _seq: itertools.count[int] = field(default_factory=itertools.count)
    _given: dict[tuple[Place, str, int], str] = field(default_factory=dict)

    def plant(self, place: Place, agent: str = "", instance: int = -1, tool: str = "") -> str:
        """Hand out the canary of `place`: from now on it is live."""
        key = (place, agent, instance)
        token = self._given.get(key)
        if token is None:
            token = self._given[key] = self.ledger.issue(self.scenario, self.case, place).token
            self.planted.append(Planted(next(self._seq), place, token, agent, instance, tool))
        return token

    def adopt(self, place: Place, token: str) -> None:
        """Take over a canary that was handed out when a kept target was built: it is live here too."""
        self.ledger.standing.add(token)
        self._given[place, "", -1] = token
        self.planted.append(Planted(next(self._seq), place, token))

    def record(
        self,
        channel: Channel,
        agent: str,
        data: bytes,
        *,
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
        sightings: list[Sighting] = []
        unscanned = 0
        live: dict[str, int] = {}
        for item in self.planted:
            live.setdefault(item.token, item.seq)
        earlier: dict[tuple[str, str, int], _Scanned] = {}
        for event in self.events:
            key = (event.channel, event.agent, event.instance)
            known = earlier[key] = self.ledger.scan(event.data, earlier.get(key))
            unscanned += known.unscanned
            sightings += self._sightings(event, known.hits, live)
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
            problems=tuple(dict.fromkeys(self.problems)),
            unscanned=unscanned,
        )

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
