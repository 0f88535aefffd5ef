"""Frames: one byte of kind, four bytes of length, that many bytes. All that crosses a child's pipe is one.

The parent reads what a child wrote, so the reader is the strict one: a frame or a sum above its limit, an
unknown kind and a text that is no JSON are refused with a reason code, before anything of it is kept.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from isolation_kit.errors import IsolationKitError

__all__ = ["HEADER_BYTES", "Frame", "FrameError", "FrameReader", "Kind", "announced", "packed", "values"]

_HEADER = struct.Struct("!BI")
HEADER_BYTES = _HEADER.size
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Kind(IntEnum):
    """What a frame is. START and REPLY go down; the others come up."""

    START = 1
    REPLY = 2
    BORN = 3
    MODEL = 4
    TOOL = 5
    HAND_DOWN = 6
    SHELVE = 7
    POLLUTION = 8
    ALARM = 9
    LOG = 10
    RESULT = 11


class FrameError(IsolationKitError):
    """A frame that is refused. The message is a reason code and nothing else: what was sent is hostile."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: its kind and its bytes."""

    kind: Kind
    data: bytes


def packed(kind: Kind, value: Any) -> bytes:
    """The bytes of a frame that carries `value` as JSON, or as they are where it is bytes."""
    data = value if isinstance(value, bytes) else _encode(value).encode()
    return _HEADER.pack(kind, len(data)) + data


def values(frame: Frame) -> Any:
    """The JSON value that a frame carries.

    Raises:
        FrameError: if it carries none.
    """
    try:
        return json.loads(frame.data, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise FrameError("bad_frame") from None


def announced(header: bytes | bytearray) -> tuple[Kind, int]:
    """The kind and the length that the first `HEADER_BYTES` of a frame announce.

    Raises:
        FrameError: if there is no such kind.
    """
    kind, length = _HEADER.unpack_from(header)
    try:
        return Kind(kind), length
    except ValueError:
        raise FrameError("bad_frame") from None


def _no_constant(name: str) -> object:
    raise ValueError("NaN and Infinity are no JSON")


class FrameReader:
    """Cuts a stream of bytes into frames.

    Args:
        frame_bytes: the largest frame.
        total_bytes: the largest sum of all frames, with their headers.
    """

    def __init__(self, frame_bytes: int, total_bytes: int) -> None:
        self._frame_bytes = frame_bytes
        self._left = total_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take what came.

        Raises:
            FrameError: if the sum is passed.
        """
        self._left -= len(data)
        if self._left < 0:
            raise FrameError("output_limit")
        self._buffer += data

    def next(self) -> Frame | None:
        """The next whole frame, or None.

        Raises:
            FrameError: if the kind is unknown or the announced length is above the limit.
        """
        if len(self._buffer) < _HEADER.size:
            return None
        kind, length = announced(self._buffer)
        if length > self._frame_bytes:
            raise FrameError("output_limit")
        end = _HEADER.size + length
        if len(self._buffer) < end:
            return None
        data = bytes(self._buffer[_HEADER.size : end])
        del self._buffer[:end]
        return Frame(kind, data)
