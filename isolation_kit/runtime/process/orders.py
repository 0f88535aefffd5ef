"""What the parent and the zygote say to each other: fixed small records, and never a word of a task."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "REPORT_BYTES",
    "Event",
    "Order",
    "Report",
    "Request",
    "pack_report",
    "pack_request",
    "report_of",
    "request_of",
]

_REQUEST = struct.Struct("!BIIQ")
_REPORT = struct.Struct("!BIiQ")
REPORT_BYTES = _REPORT.size


class Order(IntEnum):
    """What the zygote is to do. START comes with the child's end of its pipe."""

    START = 1
    END = 2


class Event(IntEnum):
    """What the zygote tells: it is ready; a child was born (its pid), or is gone (its wait status).

    LOST is no report: the parent puts it in the place of one when the zygote is dead.
    """

    READY = 1
    BORN = 2
    GONE = 3
    GONE_OVER_MEMORY = 4
    NOT_BORN = 5
    LOST = 6


@dataclass(frozen=True, slots=True)
class Request:
    """An order about child number `child`, with its limits in MiB and bytes."""

    order: Order
    child: int
    memory_mib: int = 0
    file_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """An event of child number `child`. `value` is a pid, or a status as `os.wait` gives it.

    Args:
        peak: the most resident memory of a child that is gone, in bytes; 0 where it is not known.
    """

    event: Event
    child: int
    value: int
    peak: int = 0


def pack_request(request: Request) -> bytes:
    """The bytes of a request."""
    return _REQUEST.pack(request.order, request.child, request.memory_mib, request.file_bytes)


def request_of(data: bytes) -> Request:
    """The request again."""
    order, child, memory_mib, file_bytes = _REQUEST.unpack(data)
    return Request(Order(order), child, memory_mib, file_bytes)


def pack_report(report: Report) -> bytes:
    """The bytes of a report."""
    return _REPORT.pack(report.event, report.child, report.value, report.peak)


def report_of(data: bytes) -> Report:
    """The report again."""
    event, child, value, peak = _REPORT.unpack(data)
    return Report(Event(event), child, value, peak)
