"""All that a load run counts: one associative counter, so that workers add up exactly in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from json import dumps, loads

from isolation_kit.finding import Finding, Fingerprint, Verdict, worst

__all__ = ["VIEWS", "WINDOW", "Counts", "Hit"]

WINDOW = 5  # seconds of a block: rates are compared between them
VIEWS = "recorded-views"  # the family of what came over the side channel

Key = tuple[str, ...]
Hit = tuple[Fingerprint, Verdict, str, int, str, str]  # with form, window, what allows it, family


class Counts:
    """Counters by key; each key is a tuple of texts, its first the name of what is counted."""

    __slots__ = ("_all",)

    def __init__(self, counter: Counter[Key] | None = None) -> None:
        self._all: Counter[Key] = Counter() if counter is None else counter

    def add(self, *key: str, amount: int = 1) -> None:
        """Count."""
        self._all[key] += amount

    def get(self, *key: str) -> int:
        """One counter."""
        return self._all[key]

    def sum(self, name: str) -> int:
        """All counters of a name."""
        return sum(count for key, count in self._all.items() if key[0] == name)

    def keys(self, name: str) -> Iterator[tuple[Key, int]]:
        """The rest of each key of a name, with its count, in order."""
        for key, count in sorted(self._all.items()):
            if key[0] == name:
                yield key[1:], count

    def merge(self, other: Counts) -> Counts:
        """The sum of both."""
        return Counts(self._all + other._all)

    def since(self, zero: int) -> Counts:
        """The same with times counted from second `zero`."""
        places = {"at": (1, 1), "checked": (2, WINDOW), "found": (2, WINDOW)}  # where a time stands, its unit
        out: Counter[Key] = Counter()
        for key, count in self._all.items():
            if key[0] in places:
                at, unit = places[key[0]]
                time = str(max(0, int(key[at]) - zero // unit))
                out[(*key[:at], time, *key[at + 1 :])] += count
            else:
                out[key] += count
        return Counts(out)

    def at_least(self, other: Counts) -> Counts:
        """Each counter as high as in either: `other` was read from what is on disk, and may know more."""
        return Counts(self._all | other._all)

    def take(self) -> Counts:
        """All so far, to be sent; what is counted from now on is sent next time."""
        taken, self._all = self._all, Counter()
        return Counts(taken)

    def checked(self, family: str, second: int, findings: Iterable[Finding]) -> None:
        """Count one judged response or view, and what it showed."""
        window = str(second // WINDOW)
        found = tuple(findings)
        kinds = [finding.kind for finding in found if finding.counts]
        self.add("checked", family, window)
        self.add("at", str(second), "checked")
        self.add("verdict", family, str(worst([Verdict.PASS, *kinds])))
        for finding in found:
            print_ = finding.fingerprint
            identity = (print_.target, print_.edge, print_.what, print_.channel, print_.direction)
            self.add("found", family, window, *identity, str(finding.kind), finding.form, finding.allowed_by)
        for kind in set(kinds):
            self.add("at", str(second), "leaks" if kind is Verdict.LEAK else "losses")

    def hits(self) -> Iterator[tuple[Hit, int]]:
        """What was found, with the number of responses or views that show it."""
        for key, count in self.keys("found"):
            family, window, target, edge, what, channel, direction, kind, form, allowed = key
            print_ = Fingerprint(target, edge, what, channel, direction)
            yield (print_, Verdict(kind), form, int(window), allowed, family), count

    def leaks(self) -> int:
        """Responses and views in which something leaked."""
        return self._of("leaks")

    def losses(self) -> int:
        """Responses and views that lacked what they must hold."""
        return self._of("losses")

    def _of(self, name: str) -> int:
        return sum(count for (_, kind), count in self.keys("at") if kind == name)

    def to_json(self) -> str:
        """Canonical JSON."""
        return dumps(sorted([list(key), count] for key, count in self._all.items()), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Counts:
        """Read what `to_json` wrote."""
        return cls(Counter({tuple(key): count for key, count in loads(text)}))
