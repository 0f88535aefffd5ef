"""Counters, peaks and histograms in the Prometheus text format, version 0.0.4.

Written here instead of with prometheus-client (Apache-2.0, well kept, 64 kB): importing that builds a global
registry with collectors of the process, and the format is these few lines. Its parser
proves them in the tests.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

__all__ = ["Counter", "Family", "Histogram", "Peak", "exposition"]

Labels = tuple[str, ...]


class Counter:
    """A sum that only grows, by label values."""

    kind = "counter"

    def __init__(self, name: str, about: str, *labels: str) -> None:
        self.name, self.about, self.labels = name, about, labels
        self.values: dict[Labels, float] = {}

    def add(self, *labels: str, amount: float = 1) -> None:
        """Count."""
        self.values[labels] = self.values.get(labels, 0) + amount

    @property
    def total(self) -> float:
        """The sum over all labels."""
        return sum(self.values.values())

    def samples(self) -> Iterator[str]:
        """The lines of the values."""
        for labels, value in sorted(self.values.items()):
            yield _sample(self.name, self.labels, labels, value)


class Peak(Counter):
    """The highest value seen, by label values."""

    kind = "gauge"

    def raise_to(self, *labels: str, value: float) -> None:
        """Keep `value` if it is the highest."""
        self.values[labels] = max(value, self.values.get(labels, value))

    @property
    def highest(self) -> float | None:
        """The highest over all labels, None without any."""
        return max(self.values.values(), default=None)


class Histogram:
    """How many values lie at or under each bound, by label values.

    Args:
        bounds: rising; the last bucket, beyond all bounds, is added.
    """

    kind = "histogram"

    def __init__(self, name: str, about: str, bounds: Sequence[float], *labels: str) -> None:
        self.name, self.about, self.labels = name, about, labels
        self.bounds: tuple[float, ...] = tuple(bounds)
        self.buckets: dict[Labels, list[int]] = {}
        self.sums: dict[Labels, float] = {}

    def observe(self, *labels: str, value: float) -> None:
        """Add a value."""
        buckets = self.buckets.get(labels)
        if buckets is None:
            buckets = self.buckets[labels] = [0] * (len(self.bounds) + 1)
        buckets[bisect_left(self.bounds, value)] += 1
        self.sums[labels] = self.sums.get(labels, 0.0) + value

    def quantile(self, share: float) -> float | None:
        """The value under which `share` (0 to 1) of all values lie, over all labels; None without any.

        As PromQL's histogram_quantile: linear within a bucket; the last bound for what lies beyond it.
        """
        merged: list[int] = [sum(counts) for counts in zip(*self.buckets.values(), strict=True)]
        if not merged:
            return None
        rank = share * sum(merged)
        cumulated = list(accumulate(merged))
        place = min(bisect_left(cumulated, rank), len(self.bounds))
        if place == len(self.bounds):
            return self.bounds[-1]
        low = self.bounds[place - 1] if place else 0.0
        below = cumulated[place - 1] if place else 0
        return low + (self.bounds[place] - low) * (rank - below) / max(merged[place], 1)

    def samples(self) -> Iterator[str]:
        """The lines of the values."""
        for labels, buckets in sorted(self.buckets.items()):
            names, bounds = (*self.labels, "le"), (*map(_number, self.bounds), "+Inf")
            for bound, count in zip(bounds, accumulate(buckets), strict=True):
                yield _sample(f"{self.name}_bucket", names, (*labels, bound), count)
            yield _sample(f"{self.name}_sum", self.labels, labels, self.sums[labels])
            yield _sample(f"{self.name}_count", self.labels, labels, sum(buckets))


Family = Counter | Histogram


def exposition(families: Sequence[Family]) -> str:
    """The text that a Prometheus server scrapes, media type `text/plain; version=0.0.4`."""
    lines: list[str] = []
    for family in families:
        lines += (f"# HELP {family.name} {family.about}", f"# TYPE {family.name} {family.kind}")
        lines += family.samples()
    return "\n".join(lines) + "\n"


def _sample(name: str, names: Labels, values: Labels, value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in zip(names, values, strict=True))
    return f"{name}{{{pairs}}} {_number(value)}" if pairs else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
