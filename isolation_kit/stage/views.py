"""What one recipient got on one channel: its events as one sequence, across whose seams a token may lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from isolation_kit.detect import Form, Hit, Pool
from isolation_kit.detect.splits import Seams, Stream
from isolation_kit.trace import Channel, Event

__all__ = ["Scanned", "View", "continues"]


class Scanned(NamedTuple):
    """One scanned event: its hits, its unread bytes, and where what the one before did not hold begins."""

    data: bytes
    hits: tuple[Hit, ...]
    unscanned: int
    start: int = 0


def continues(data: bytes, earlier: bytes) -> bool:
    """True if `data` is the JSON list of `earlier` with more items."""
    end = len(earlier) - 2
    return earlier.endswith(b"]}") and data[end : end + 1] == b"," and data.startswith(earlier[:-2])


@dataclass(slots=True)
class View:
    """The events of one recipient on one channel up to now, as far as the next one needs them."""

    event: Event
    known: Scanned
    seams: Seams | None = None
    stream: Stream | None = None
    told: set[str] = field(default_factory=set)

    def follow(self, event: Event, known: Scanned, pool: Pool) -> tuple[Hit, ...]:
        """The tokens that are whole only now that `event` follows the one before it."""
        last, before = self.event, self.known
        self.event, self.known = event, known
        # A request that repeats the one before it holds all in one piece.
        if continues(event.data, last.data):
            return ()
        if self.seams is None:
            self.seams = Seams(pool)
            self.seams.feed(last.data)
            if event.channel is Channel.STREAM:
                self.stream = Stream(pool)
                self.stream.feed(last.data)
        hits = self.seams.feed(event.data)
        return hits if self.stream is None else (*hits, *self._streamed(self.stream, before, hits))

    def close(self) -> tuple[Hit, ...]:
        """What only the end of the record makes certain."""
        if self.seams is None:
            return ()
        hits = self.seams.close()
        if self.stream is None:
            return hits
        return (*hits, *self._across(self.stream.close()))

    @property
    def unscanned(self) -> int:
        """Bytes of encoded runs that were too long to be joined."""
        return 0 if self.stream is None else self.stream.unscanned

    def _streamed(self, stream: Stream, before: Scanned, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        self.told.update(hit.token for hit in (*before.hits, *self.known.hits, *hits))
        return self._across(stream.feed(self.event.data))

    def _across(self, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        out = [hit for hit in hits if hit.token not in self.told]
        self.told.update(hit.token for hit in out)
        return tuple([hit._replace(form=f"{Form.SPLIT}>{hit.form}") for hit in out])
