"""An answer of which every byte is kept while it is read: in bounds, and whoever reads it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from isolation_kit.load.bodies import LONGEST, head_of, plain
from isolation_kit.load.wire import Record, beside_body

__all__ = ["Heard"]

_CHUNK = 64 << 10
_SECONDS = 60.0  # of one answer
_DRIP, _DRIPS, _PAUSE = 64, 8, 0.002  # bytes, reads and seconds of a slow reader


class Heard:
    """A response of geventhttpclient that keeps what was read of it, by whomever, so that it can be judged.

    Args:
        stream: the response, as the client made it, to which all is left that is not about its body; None
            where there is none.
        came: the bytes that came over the connection, if that keeps them.
        endless: its head had no end.
    """

    def __init__(self, stream: Any, came: Record | None = None, *, endless: bool = False) -> None:
        self._stream = stream
        self._came = came
        self._data = bytearray()
        self._given = 0  # bytes that a reader has got
        self._unread = int(endless)  # or more: nobody read on
        self._ended = self._broken = stream is None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def status(self) -> int:
        """The status, 0 without a response."""
        return 0 if self._stream is None else int(self._stream.get_code())

    @property
    def whole(self) -> bool:
        """False if it broke off while it was read."""
        return not self._broken

    @property
    def over(self) -> bool:
        """True if nothing more of it will come."""
        return self._ended or bool(self._stream.message_complete)

    def read(self, length: int | None = None) -> bytes:
        """Read as from the response itself, at most the longest body."""
        if length is None:
            self.fill()
        elif self._given == len(self._data) and not self._ended:
            self._take(length)
        end = len(self._data) if length is None else self._given + length
        part = bytes(self._data[self._given : end])
        self._given += len(part)
        return part

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self.read(_CHUNK), b"")

    def readline(self, sep: bytes = b"\r\n") -> bytes:
        """Read one line."""
        self.fill()
        at = self._data.find(sep, self._given)
        return self.read(at + len(sep) - self._given if at >= 0 else None)

    def release(self) -> None:
        """Give the connection back, after the rest was read: it is judged as well."""
        self.finish()
        self._stream.release()

    def fill(self, *, drips: bool = False) -> None:
        """Read what is still to come.

        Args:
            drips: read the beginning slowly.

        Raises:
            TimeoutError: for an answer that does not come to its end.
        """
        ends, slow = time.monotonic() + _SECONDS, _DRIPS if drips else 0
        while not self._ended and self._take(_DRIP if slow else _CHUNK):
            if len(self._data) > LONGEST:
                self._ended = True
                self._stream.release()  # the rest is never read
            elif time.monotonic() > ends:
                self._broken = self._ended = True
                self._stream.release()
                raise TimeoutError
            slow = max(0, slow - 1)
            if drips:
                time.sleep(_PAUSE)

    def finish(self, *, drips: bool = False) -> None:
        """The same, whatever comes of it."""
        with suppress(Exception):  # the client is foreign code: whatever it raises, the answer broke off
            self.fill(drips=drips)

    def body(self, *, drips: bool = False) -> tuple[bytes, int]:
        """The body as far as it came, unpacked, and how many bytes of it were left unread."""
        self.finish(drips=drips)
        if self._stream is None:
            return b"", self._unread
        data, packing = bytes(self._data), str(self._stream.get("content-encoding") or "")
        if self._broken:
            return plain(data, packing)[0], 0
        if len(data) > LONGEST:
            length = str(self._stream.get("content-length"))
            return data, max(1, int(length) - len(data)) if length.isdecimal() else 1
        return plain(data, packing)

    def head(self) -> bytes:
        """What came beside the body: all of it, where nobody can tell what of it is the body."""
        if self._came is None:
            return head_of(self._stream)
        raw = self._came.take()
        return beside_body(raw) if self.whole else raw

    def _take(self, length: int) -> bool:
        try:
            part = self._stream.read(length)
        except BaseException:
            self._broken = self._ended = True
            with suppress(Exception):  # the client has let go of the connection; what it got before is there
                self._data += self._stream.read()
            raise
        self._data += part
        self._ended = not part
        return bool(part)
