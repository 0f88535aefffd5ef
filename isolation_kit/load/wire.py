"""What comes over a connection beside bodies: heads, interim ones too, extensions of chunks, and trailers.

The client's parser tells a body and the head of the last response; what it drops is kept here, in bounds.
"""

from __future__ import annotations

import re
import time
from typing import Any

from geventhttpclient.client import HTTPClientPool

from isolation_kit.load.bodies import LONGEST

__all__ = ["Connections", "HeadTooLongError", "Record", "beside_body"]

_LONGEST_HEAD = 256 << 10  # bytes, interim responses among them
_SECONDS = 60.0  # from the first byte of an answer to its last
_END = re.compile(rb"\n\r?\n")
_INTERIM = re.compile(rb"HTTP/\d\.\d 1\d\d\b")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d+)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_CHUNKED = re.compile(rb"^transfer-encoding:.*\bchunked[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class HeadTooLongError(OSError):
    """A head that is longer than anybody reads."""


class Record:
    """The bytes that came in answer to one request."""

    __slots__ = ("_began", "_body", "_head", "data")

    def __init__(self) -> None:
        self.data = bytearray()
        self._began = 0.0
        self._head = 0  # where the head begins that is being read
        self._body = False

    def __repr__(self) -> str:
        return f"Record({len(self.data)} bytes)"  # of what they hold nothing is told

    def add(self, part: bytes) -> None:
        """Keep what came.

        Raises:
            HeadTooLongError: for a head without an end.
            TimeoutError: for an answer that drips for longer than anybody waits.
        """
        now = time.monotonic()
        self._began = self._began or now
        if now - self._began > _SECONDS:
            raise TimeoutError
        if len(self.data) <= LONGEST:
            self.data += part
        if not self._body:
            self._follow(max(self._head, len(self.data) - len(part) - 2))

    def take(self) -> bytes:
        """What came; it is kept no longer."""
        data, self.data = bytes(self.data), bytearray()
        return data

    def _follow(self, at: int) -> None:
        """Look for the end of the head, from `at` on."""
        while (end := _END.search(self.data, at)) is not None:
            if not _INTERIM.match(self.data, self._head):
                self._body = True
                return
            self._head = at = end.end()
        if len(self.data) > _LONGEST_HEAD:
            raise HeadTooLongError


def beside_body(data: bytes) -> bytes:
    """What of the bytes of an answer is no body: the client's parser tells that one.

    Args:
        data: as they came, from the first head on.
    """
    parts, at = [], 0
    while (end := _END.search(data, at)) is not None:
        head, at = data[at : end.start()].rstrip(b"\r"), end.end()
        parts.append(head)
        if not _INTERIM.match(head):
            break
    else:
        return data  # nothing but heads, the last cut off
    length = _LENGTH.search(head)
    if _CHUNKED.search(head):
        parts += _frames(data, at)
    elif length is not None:
        parts.append(data[at + int(length[1]) :])
    return b"\n".join(parts)


def _frames(data: bytes, at: int) -> list[bytes]:
    """What stands between chunks, and after the last: extensions and trailers."""
    found = []
    while (end := data.find(b"\n", at)) >= 0:
        size, mark, extension = data[at:end].partition(b";")
        if mark:
            found.append(extension)
        try:
            length = int(size, 16)
        except ValueError:  # no chunk: whatever it is, it is judged
            return [*found, data[at:]]
        if not length:
            return [*found, data[end + 1 :]]
        at = end + 1 + length + 2
    return found


class _Socket:
    """A connection that records what comes in answer to what is sent."""

    __slots__ = ("_inner", "_owner", "_record")

    def __init__(self, inner: Any, owner: Connections) -> None:
        self._inner = inner
        self._owner = owner
        self._record = owner.record

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def sendall(self, data: bytes) -> None:
        """Send; what comes from now on answers this."""
        self._owner.record = self._record = Record()
        self._inner.sendall(data)

    def recv(self, size: int) -> bytes:
        """Receive, and keep it."""
        part: bytes = self._inner.recv(size)
        self._record.add(part)
        return part


class Connections(HTTPClientPool):
    """The connections of a user.

    Attributes:
        record: of the request that was sent last.
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.record = Record()

    def get_client(self, url: Any) -> Any:
        """The client of a host; its sockets record."""
        known = len(self.clients)
        client: Any = super().get_client(url)
        if len(self.clients) > known:
            pool = client._connection_pool
            opened = pool._create_socket
            pool._create_socket = lambda: _Socket(opened(), self)
        return client
