"""The client of a user: what comes with an answer can be judged, whatever its status."""

from __future__ import annotations

from typing import Any

from isolation_kit.load.locusts import FastHttpSession, LocustBadStatusCode
from isolation_kit.load.wire import Connections

__all__ = ["Session"]

_STATUSES = frozenset(range(1000))  # each that a status line can hold


class Session(FastHttpSession):
    """Asks for plain answers, which can be judged, and follows no redirect: tokens stay where they belong."""

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self._connections = self.client.clientpool = Connections(**self.client.clientpool.client_args)
        self._good = self.client.valid_response_codes
        # Of a status that is not valid the client reads the whole body, without bounds, and throws it away.
        self.client.valid_response_codes = _STATUSES  # type: ignore[misc]

    def request(self, *words: Any, **more: Any) -> Any:
        """Send a request."""
        more["headers"] = {"Accept-Encoding": "identity", **(more.get("headers") or {})}
        more.setdefault("allow_redirects", False)
        response: Any = super().request(*words, **more)
        response.came = self._connections.record  # for who judges it; a request sent later has another
        return response

    def _send_request_safe_mode(self, method: str, url: str, **more: Any) -> Any:
        """Send it; an error status is an error still, of a response that can be read."""
        response: Any = super()._send_request_safe_mode(method, url, **more)
        status = int(response.status_code or 0)
        if status and status not in self._good:
            response.error = LocustBadStatusCode(url, code=status)
        return response
