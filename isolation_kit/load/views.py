"""Listens to the service's recording side channel, and gives up nothing of its token."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from isolation_kit.errors import UsageError

__all__ = ["Listener", "token_of"]

_LINE = 64 << 20  # bytes of a batch
_WAIT = 0.5  # seconds between two tries
_SILENCE = 5.0  # seconds


def token_of(path: Path) -> str:
    """The token in the file that `isolation-kit serve --record` wrote.

    Raises:
        UsageError: if it cannot be read.
    """
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--recording {path.name} cannot be read ({type(error).__name__}); name the file that "
            "'isolation-kit serve --record FILE' wrote"
        ) from None


@dataclass(slots=True)
class Listener:
    """Reads batches over one connection, and comes back when it breaks.

    Args:
        url: of the service.
        token: of the side channel.
        on_view: called with each view as the service sent it.
    """

    url: str
    token: str
    on_view: Callable[[dict[str, Any]], None]
    received: int = 0
    missed: int = 0  # views that the service dropped, or that broke off with a connection
    lost: int = 0  # of these, those that a service had announced and that ended with it
    ends: int = 0  # how often a service that was heard went away
    refused: str = ""  # why the service does not let us listen
    heard: bool = False
    stopped: bool = False
    _open: bool = False
    _boot: str = ""
    _following: int = -1
    _announced: int = -1
    _last: float = 0.0

    def __repr__(self) -> str:
        return f"Listener({self.received} views)"

    def run(self) -> None:
        """Listen until stopped, or refused for good."""
        while not self.stopped and not self.refused:
            try:
                for line in self._lines():
                    self._batch(line)
            except Exception:  # whatever comes over the line, and whatever judging it raises, is tried again
                self._pause()

    def quiet(self, now: float) -> float:
        """Seconds since the last view."""
        return now - self._last

    def close(self) -> None:
        """Stop; if the service that was heard is gone by now, what it had announced is lost."""
        self.stopped = True
        if self.heard and not self._open:
            self._ended()

    def told(self) -> tuple[str, ...]:
        """What ended with a service that went away while it was heard, for a report."""
        if not self.ends:
            return ()
        return (
            f"the service that records what children saw went away in the middle (times: {self.ends}): "
            f"views that it had announced and that were not received: {self.lost}; how many it made in the "
            "moment before its end, and did not announce, is not known",
        )

    def _ended(self) -> None:
        lost = max(0, self._announced - self._following)
        self.ends, self.lost, self.missed = self.ends + 1, self.lost + lost, self.missed + lost
        self._announced = self._following

    def _pause(self) -> None:
        if not self.stopped:
            time.sleep(_WAIT)

    def _lines(self) -> Iterator[bytes]:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_SILENCE * 12)
        try:
            connection.request("GET", "/v1/recording", headers={"Authorization": f"Bearer {self.token}"})
            response = connection.getresponse()
            if response.status != 200:
                self._refused(response.status)
                return
            self.heard = self._open = True
            while not self.stopped and (line := response.readline(_LINE)):
                yield line
        finally:
            self._open = False
            connection.close()

    def _refused(self, status: int) -> None:
        reasons = {
            401: "the service has another token",
            403: "the service shows it on its own machine only",
            404: "the service does not record: start it with --record FILE",
        }
        if status in reasons:
            self.refused = reasons[status]
        else:  # a second listener (409), or a server that is just starting
            self._pause()

    def _batch(self, line: bytes) -> None:
        batch = loads(line)
        first, views, boot = int(batch["from"]), batch["views"], str(batch.get("boot", ""))
        if self._boot not in ("", boot):
            self._ended()
            self._following = 0  # a new start counts from 0
        self._boot = boot
        if self._following >= 0 and first > self._following:
            self.missed += first - self._following
        self._following = first + len(views)
        self._announced = int(batch.get("next", self._following))
        self.missed += len(views)
        for view in views:
            self.received += 1
            self._last = time.monotonic()
            self.on_view(view)
            self.missed -= 1  # what could not be judged stays missed
