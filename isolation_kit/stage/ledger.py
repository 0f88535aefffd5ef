"""Every canary of a campaign, who owns it, and what has been scanned for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable

from isolation_kit.canary import Canary, Mint, Skin
from isolation_kit.canary.skins import holds_token
from isolation_kit.detect import Pool, ScanResult, scan, scan_all
from isolation_kit.detect.fragments import body_runs
from isolation_kit.detect.registry import register
from isolation_kit.errors import UsageError
from isolation_kit.scenario import Place, Scenario
from isolation_kit.stage.views import Scanned, continues

__all__ = ["MOST_BYTES", "Ledger", "readable", "skin_named"]

_OVERLAP = 512
_CACHED_EVENTS = 4096
_CACHED_BYTES = 16_384
_KNOWN_RUNS = 20_000
_SMALL, _TOGETHER = 2048, 32  # bytes of an event, and events that are scanned at once
MOST_BYTES = 2**21
"""Of one event: what lies beyond counts as not scanned, hence as no proof."""


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
        self._newest: tuple[str, tuple[tuple[str, int], ...]] | None = None
        self._issued: dict[Place, Canary] = {}
        self._keep = keep
        self.standing: set[str] = set()
        self._scanned: OrderedDict[bytes, Scanned] = OrderedDict()
        self._ahead: dict[bytes, ScanResult] = {}
        self._runs: dict[bytes, str] = {}

    def issue(self, scenario: Scenario, case: str, place: Place) -> Canary:
        """The canary of `place` in this case and variant, minted at first use."""
        key = (case, scenario.variant)
        if key == self._newest:
            issued = self._issued
        else:
            issued = self._issued = self._by_case.setdefault(key, {})
            self._newest = key
            self._forget()
        canary = issued.get(place)
        if canary is None:
            number = scenario.variant_of(place.slot) if scenario.variant else 0
            skin = skin_named(scenario.skin_of(place.slot)) if scenario.skins else Skin.OPAQUE
            canary = issued[place] = self.mint.mint(case, place, number, skin)
            self.owners[canary.token] = canary
            if holds_token(skin):
                self.pool.add(canary.token)
            else:  # from now on every scan of the run looks for registered texts too, which costs its time
                register(self.pool, self.mint.marks, canary)
        return canary

    def scan(self, data: bytes, earlier: Scanned | None = None) -> Scanned:
        """Every hit in `data`; `earlier` is what the same recipient got before on the same channel.

        A request repeats the messages of the one before it, so only what follows is scanned again, with an
        overlap; a text that merely grows is read whole, for an encoded part of it may just have begun.
        Bytes seen before are not scanned again: canaries minted since cannot be in them.
        """
        known = self._scanned.get(data)
        if known is not None:
            return known
        start = _start(data, earlier.data if earlier is not None else b"")
        part = readable(data, start)
        result = self._ahead.get(part) or scan(part, self.pool)
        unread = len(data) - start - len(part)
        known = Scanned(data, result.hits, result.unscanned + unread)
        if start and earlier is not None:
            seen = {(hit.token, hit.form): hit for hit in (*earlier.hits, *result.hits)}
            known = Scanned(
                data,
                tuple(seen.values()),
                max(earlier.unscanned, known.unscanned),
                start,
            )
        if len(data) <= _CACHED_BYTES:
            self._scanned[data] = known
            if len(self._scanned) > _CACHED_EVENTS:
                self._scanned.popitem(last=False)
        return known

    def look_ahead(self, ways: Iterable[tuple[Hashable, bytes]]) -> None:
        """Scan together what `scan` will be asked for: events in their order, each with its recipient."""
        last: dict[Hashable, bytes] = {}
        parts: dict[bytes, None] = {}
        for recipient, data in ways:
            if data not in self._scanned:
                start = _start(data, last.get(recipient, b""))
                parts[readable(data, start)] = None
            last[recipient] = data
        small = [part for part in parts if len(part) <= _SMALL]
        self._ahead = {}
        for at in range(0, len(small), _TOGETHER):
            some = small[at : at + _TOGETHER]
            self._ahead.update(zip(some, scan_all(some, self.pool), strict=True))

    def new_runs(self, data: bytes, case: str) -> list[bytes]:
        """Where the body of a token may stand without its prefix, without what other cases held before."""
        runs, known = body_runs(data, self.pool.head), self._runs
        if len(known) > _KNOWN_RUNS:
            known.clear()
        return [run for run in dict.fromkeys(runs) if known.setdefault(run, case) == case]

    def _forget(self) -> None:
        while len(self._by_case) > self._keep:
            _, old = self._by_case.popitem(last=False)
            for canary in old.values():
                if canary.token not in self.standing:
                    self.owners.pop(canary.token, None)


def readable(data: bytes, start: int = 0) -> bytes:
    """What every search reads of an event, from `start` on."""
    return data[start : start + MOST_BYTES]


def skin_named(name: str) -> Skin:
    """The skin of that name.

    Raises:
        UsageError: if there is none.
    """
    try:
        return Skin(name)
    except ValueError:
        raise UsageError(
            f"a case names an unknown skin {name[:40]!r}; allowed: {', '.join(Skin)}, for example "
            "scenario.with_skins({'user.current': 'email'})"
        ) from None


def _start(data: bytes, earlier: bytes) -> int:
    """Where what the same recipient did not get before begins, with an overlap."""
    return max(0, len(earlier) - 2 - _OVERLAP) if earlier and continues(data, earlier) else 0
