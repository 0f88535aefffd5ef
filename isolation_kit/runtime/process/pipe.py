"""The parent's end of a child's pipe: strict frames, so many and no more, and never the whole event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from isolation_kit.runtime.process.frames import Frame, FrameError, FrameReader, Kind, packed

__all__ = ["Pipe"]

_READ = 64 * 1024
_FRAME_COSTS = 4096  # a frame takes about as long as so many bytes, however small it is
_BREATH = 64 * 1024  # bytes between two turns of the others: well under a millisecond


class Pipe:
    """The parent's end of a child's pipe.

    Args:
        frames: the largest number of frames that the child may send.
    """

    def __init__(self, end: socket.socket, reader: FrameReader, frames: int) -> None:
        self._end = end
        self._reader = reader
        self._frames = frames
        self._work = 0

    async def send(self, kind: Kind, value: object) -> None:
        """Send a frame. To a child that has closed its end nothing is sent: reading tells of that."""
        with contextlib.suppress(ConnectionError):
            await asyncio.get_running_loop().sock_sendall(self._end, packed(kind, value))

    async def receive(self) -> Frame | None:
        """The next frame, or None if the child has closed its end.

        Raises:
            FrameError: for what is no frame of a child, or too much of it.
        """
        while (frame := self._reader.next()) is None:
            try:
                data = await asyncio.get_running_loop().sock_recv(self._end, _READ)
            except ConnectionError:
                return None
            if not data:
                return None
            self._reader.feed(data)
            await self._breathe(len(data))
        self._frames -= 1
        if self._frames < 0:
            raise FrameError("output_limit")
        await self._breathe(_FRAME_COSTS)
        return frame

    async def _breathe(self, work: int) -> None:
        """Let the others run, and the timers: while data is ready, reading it does not."""
        self._work += work
        if self._work >= _BREATH:
            self._work = 0
            await asyncio.sleep(0)
