"""Reads POLLUTION_DETECTED and TaskResponse from a service's metrics, if it has such."""

from __future__ import annotations

import http.client
import re
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

__all__ = ["Pollution"]

_SAMPLE = re.compile(
    r"^isolation_kit_(pollution_detected|task_responses)_total(?:\{[^}]*\})? ([0-9.e+]+)$", re.M
)
_TRIES = 3
_LONGEST = 1 << 20  # bytes
_SECONDS = 2.0


@dataclass(slots=True)
class Pollution:
    """Both counters by second, as what was added since the reading before."""

    url: str
    detected: dict[int, int] = field(default_factory=dict)
    responses: dict[int, int] = field(default_factory=dict)
    _before: tuple[int, int] | None = None
    _failed: int = 0

    def read(self, second: int) -> None:
        """Read them once; a service that has none is not asked for ever."""
        if self._failed >= _TRIES:
            return
        now = self._fetch()
        if now is None:
            self._failed += 1  # it may be starting
            return
        self._failed = 0
        before = self._before
        self._before = now
        if before is None:
            return
        # A service that was started anew counts from 0.
        for column, old, new in ((self.detected, before[0], now[0]), (self.responses, before[1], now[1])):
            column[second] = column.get(second, 0) + (new - old if new >= old else new)

    def _fetch(self) -> tuple[int, int] | None:
        parts = urlsplit(self.url)
        if not parts.hostname:
            return None
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname, parts.port, timeout=_SECONDS)
        try:
            connection.request("GET", "/metrics")
            response = connection.getresponse()
            text = _read(response).decode("utf-8", "replace")
            found = [(name, int(float(value))) for name, value in _SAMPLE.findall(text)]
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()
        if 400 <= response.status < 500:
            self._failed = _TRIES  # a foreign service, which has none: asking again fills its log only
        if response.status != 200 or (not found and "isolation_kit_" not in text):
            return None
        sums = {name: sum(value for key, value in found if key == name) for name, _ in found}
        return sums.get("pollution_detected", 0), sums.get("task_responses", 0)


def _read(response: http.client.HTTPResponse) -> bytes:
    """The body, within bounds: one that comes in drips must not hold up the end of a run.

    Raises:
        TimeoutError: if it takes too long.
    """
    ends, parts, size = time.monotonic() + _SECONDS, [], 0
    while size < _LONGEST and (part := response.read1(64 << 10)):
        parts.append(part)
        size += len(part)
        if time.monotonic() > ends:
            raise TimeoutError
    return b"".join(parts)
