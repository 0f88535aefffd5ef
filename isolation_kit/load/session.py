"""The client of a user: every answer that it gets can be judged, whatever its status and whoever reads it."""

from __future__ import annotations

from typing import Any, NoReturn

from isolation_kit.load.heard import Heard
from isolation_kit.load.locusts import FastHttpSession, FastResponse, LocustBadStatusCode, gevent
from isolation_kit.load.wire import Connections, HeadTooLongError, Record

__all__ = ["Abandoned", "Session"]

_STATUSES = frozenset(range(1000))  # each that a status line can hold


class Abandoned(BaseException):
    """A request was broken off on purpose; no Exception, so that nobody's `say` takes it for a failure."""


class Session(FastHttpSession):
    """Asks for plain answers, which can be judged, and follows no redirect: tokens stay where they belong.

    Attributes:
        heard: the answers that have come since `listen`, in their order; redirects that were followed, too.
    """

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self._connections = self.client.clientpool = Connections(**self.client.clientpool.client_args)
        self._good = self.client.valid_response_codes
        # Of a status that is not valid the client reads the whole body, without bounds, and throws it away.
        self.client.valid_response_codes = _STATUSES  # type: ignore[misc]
        self.client.response_type = self._hear  # type: ignore[assignment,misc]
        self.heard: list[Heard] = []
        self._listening = False
        self._patience: float | None = None

    def listen(self) -> None:
        """Keep the answers that come from now on."""
        self.heard, self._listening = [], True

    def overheard(self, told: Any = None) -> list[Heard]:
        """The answers but `told`; no more are kept, and none is broken off."""
        self._patience = None
        heard, self.heard, self._listening = self.heard, [], False
        return [one for one in heard if one is not told]

    def break_off(self, patience: float) -> None:
        """Break the turn's own request off, which is the next one that `how` goes with, and no other.

        Args:
            patience: seconds that its answer is waited for.
        """
        self._patience = patience

    def reconnect(self) -> None:
        """Leave the connections; cookies and headers stay."""
        self._connections.close()

    def request(self, *words: Any, **more: Any) -> Any:
        """Send a request."""
        for earlier in self.heard:
            earlier.finish()  # or it would hold the only connection for ever
        self._connections.record = Record()  # or one that is refused would show what came before
        more["headers"] = {"Accept-Encoding": "identity", **(more.get("headers") or {})}
        more.setdefault("allow_redirects", False)
        if self._patience is not None and more.get("catch_response") and more.get("stream"):
            self._abandon(self._patience, *words, **more)
        response: Any = super().request(*words, **more)
        heard = response._response
        if heard is None:  # no answer, or no whole head of one
            endless = isinstance(getattr(response, "error", None), HeadTooLongError)
            heard = self._kept(Heard(None, self._connections.record, endless=endless))
        response.heard = heard  # for who judges it
        return response

    def _send_request_safe_mode(self, method: str, url: str, **more: Any) -> Any:
        """Send it; an error status is an error still, of a response that can be read."""
        response: Any = super()._send_request_safe_mode(method, url, **more)
        status = int(response.status_code or 0)
        if status and status not in self._good:
            response.error = LocustBadStatusCode(url, code=status)
        return response

    def _abandon(self, patience: float, *words: Any, **more: Any) -> NoReturn:
        """Send it over a connection that nobody uses again, and go away before the answer has come."""
        kept, known, codes = self._connections, len(self.heard), self.client.redirect_response_codes
        self._connections = self.client.clientpool = Connections(**kept.client_args)
        try:
            with gevent.Timeout(patience, Abandoned()):
                super().request(*words, **more)
            raise Abandoned  # its head has come: nobody waits for the rest
        finally:
            del self.heard[known:]
            self._connections.close()
            self._connections = self.client.clientpool = kept
            self.client.redirect_response_codes = codes  # type: ignore[misc]

    def _hear(self, stream: Any, **more: Any) -> FastResponse:
        heard: Any = self._kept(Heard(stream, self._connections.record))
        return FastResponse(heard, **more)

    def _kept(self, heard: Heard) -> Heard:
        if self._listening:
            self.heard.append(heard)
        return heard
