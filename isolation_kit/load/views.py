"""Listens to the service's recording side channel, and gives up nothing of its token."""

from __future__ import annotations

import http.client
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from json import loads
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from isolation_kit.errors import UsageError

__all__ = ["Listener", "check_recording", "token_of"]

_LINE = 64 << 20  # bytes of a batch
_WAIT = 0.5  # seconds between two tries
_SILENCE = 5.0  # seconds
_TOKEN = re.compile(r"[!-~]+\Z")
_REFUSALS = {
    401: "the service refused the token of {0}",
    403: "the service shows what it records on its own machine only",
    404: "the service does not record",
}
_HINTS = {
    401: "name the file with which it was started, for example: isolation-kit serve --record {0}, then "
    "isolation-kit load --recording {0}",
    403: "run 'isolation-kit load' there, or leave --recording out to judge responses only",
    404: "start it with 'isolation-kit serve --record {0}', or leave --recording out to judge responses only",
}


def token_of(path: Path) -> str:
    """The token in the file that `isolation-kit serve --record` wrote.

    Raises:
        UsageError: if it cannot be read, or holds none.
    """
    try:
        token = path.read_text("ascii").strip()
        why = "" if _TOKEN.match(token) else "holds no token"
    except (OSError, UnicodeDecodeError) as error:
        why = f"cannot be read ({type(error).__name__})"
    if why:
        raise UsageError(
            f"--recording {path.name[:60]} {why}; name the file that "
            "'isolation-kit serve --record FILE' wrote"
        )
    return token


def check_recording(url: str, path: Path) -> None:
    """Ask the service whether it lets us listen; one that cannot be reached is left to the run to tell.

    Raises:
        UsageError: if it does not, or there is no token in `path`.
    """
    try:
        with _asked(url, token_of(path)) as response:
            _check(response.status, path.name)
    except (OSError, http.client.HTTPException):
        return


def _check(status: int, name: str) -> None:
    if status in _REFUSALS:
        raise UsageError(f"{_REFUSALS[status]}; {_HINTS[status]}".format(name[:60]))


@contextmanager
def _asked(url: str, token: str) -> Iterator[http.client.HTTPResponse]:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_SILENCE * 12)
    try:
        connection.request("GET", "/v1/recording", headers={"Authorization": f"Bearer {token}"})
        yield connection.getresponse()
    finally:
        connection.close()


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
    name: str = "--recording"  # of the token's file, for messages
    received: int = 0
    missed: int = 0  # views that the service dropped, or that broke off with a connection
    lost: int = 0  # of these, those that a service had announced and that ended with it
    ends: int = 0  # how often a service that was heard went away
    refused: str = ""  # why the service does not let us listen
    heard: bool = False
    stopped: bool = False
    _status: int = 0
    _tried: threading.Event = field(default_factory=threading.Event)
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

    def begin(self) -> None:
        """Listen in a thread, and wait until the service has let us or not.

        Raises:
            UsageError: if it does not.
        """
        threading.Thread(target=self.run, name="isolation-views", daemon=True).start()
        self._tried.wait(_SILENCE)
        _check(self._status, self.name)

    @property
    def behind(self) -> bool:
        """True while views wait at the service: what is judged now is of some time ago."""
        return self._announced > self._following

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
        try:
            with _asked(self.url, self.token) as response:
                if response.status != 200:
                    self._refused(response.status)
                    return
                self.heard = self._open = True
                self._tried.set()
                while not self.stopped and (line := response.readline(_LINE)):
                    yield line
        finally:
            self._open = False
            self._tried.set()

    def _refused(self, status: int) -> None:
        self._status = status
        if status in _REFUSALS:
            self.refused = _REFUSALS[status].format(self.name[:60])
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
