"""Every reading of some bytes, for texts that have no prefix to look for: a breadth-first walk over decoders.

`scan` decodes only where the prefix of a run's tokens can be hidden; here nothing is known of what is looked
for, so all that can be undone is undone, within a budget. It is meant for kilobytes, not for traffic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from isolation_kit.detect.blobs import decodings_of
from isolation_kit.detect.decodings import BRANCHES, CHAIN, UNICODE_BRANCHES, strip_breaks
from isolation_kit.detect.forms import Budget
from isolation_kit.detect.packed import packed_at, unpack
from isolation_kit.detect.runs import long_runs
from isolation_kit.detect.sieve import MIN_RUN

__all__ = ["Reading", "unfold"]


class Reading(NamedTuple):
    """One view of the data, and the renderings that were undone to get it (none: the data itself)."""

    data: bytes
    path: tuple[str, ...]


def unfold(data: bytes, budget: Budget | None = None) -> Iterator[Reading]:
    """The data, and whatever can be decoded from it, each view once, the shallow ones first.

    Args:
        budget: bounds of the work: depth, bytes in all, size of one blob.
    """
    bounds = budget or Budget()
    left, seen = bounds.decoded, {data}
    front = deque([Reading(data, ())])
    while front:
        reading = front.popleft()
        yield reading
        if len(reading.path) >= bounds.depth:
            continue
        for form, other in _steps(reading.data, bounds):
            if other in seen or len(other) > left:
                continue
            left -= len(other)
            seen.add(other)
            front.append(Reading(other, (*reading.path, form)))


def _steps(data: bytes, bounds: Budget) -> Iterator[tuple[str, bytes]]:
    for form, decode in (*CHAIN, *BRANCHES, *(() if data.isascii() else UNICODE_BRANCHES)):
        other = decode(data)
        if other is not None:
            yield form, other
    for _, run in long_runs(strip_breaks(data), MIN_RUN):
        for blob in decodings_of(run, bounds.blob):
            yield blob.form, blob.data
    for at in packed_at(data):
        packed = unpack(memoryview(data)[at:], bounds.blob)
        if packed is not None:
            yield packed.form, packed.data
