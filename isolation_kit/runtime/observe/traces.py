"""Which traces are kept: each failure, and of the others a sample (article 003, section 5.4).

Nothing here holds a text. `RawTraces` does, for who must read what a failing child was sent: it is never made
unless asked for, keeps failures only, in files that only their owner can read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from isolation_kit.errors import UsageError
from isolation_kit.runtime.hooks import NoHooks, Way
from isolation_kit.runtime.messages import ModelReply, ModelRequest
from isolation_kit.runtime.observe.lines import LineFile, Write, read_lines
from isolation_kit.runtime.observe.spans import Span, Trace, Where
from isolation_kit.runtime.observe.terms import message_text
from isolation_kit.runtime.text import canonical

__all__ = ["RawTraces", "TraceLog", "read_traces"]

_RAW_TRACES = 256
_RAW_CHARACTERS = 1_000_000


class TraceLog:
    """Writes a line for each failed trace, and for a share of the others; all are counted in the metrics.

    Args:
        share: of the traces without a failure, the share (0 to 1) that is kept. Chosen by the trace's id, so
            that every part of a system keeps the same ones.
    """

    def __init__(self, write: Write, *, share: float = 0.01) -> None:
        if not 0 <= share <= 1:
            raise UsageError(f"the share of traces to keep is {share}; allowed is 0 to 1, for example 0.01")
        self._write = write
        self._below = share * 2**32

    def trace_ended(self, trace: Trace) -> None:
        """Write the trace, if it is to be kept."""
        if not trace.failed and crc32(trace.trace_id.encode()) >= self._below:
            return
        line = {
            "trace_id": trace.trace_id,
            "failed": trace.failed,
            "seconds": round(trace.seconds, 6),
            "cut": trace.cut,
            "spans": [_told(span) for span in trace.spans],
        }
        self._write(canonical(line))


def read_traces(path: Path) -> tuple[Trace, ...]:
    """The traces of a log."""
    return read_lines(path, _read)


def _read(raw: dict[str, Any]) -> Trace:
    closed = tuple(tuple(Span(**{"name": "", **span})) for span in raw["spans"])
    return Trace(raw["trace_id"], closed, raw["failed"], raw["seconds"], raw["cut"])


def _told(span: Span) -> dict[str, object]:
    """A span without what is empty."""
    told = {name: value for name, value in span._asdict().items() if value or name in _ALWAYS}
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in told.items()}


_ALWAYS = ("kind", "agent", "number", "above", "start", "seconds", "status")


@dataclass(slots=True)
class _Raw:
    lines: list[str] = field(default_factory=list)
    size: int = 0


class RawTraces(NoHooks):
    """Keeps the texts of failing traces in clear, one file each, mode 0600, named by the trace's id.

    Args:
        folder: must exist; nobody else should be able to write to it.
        where: a tracer's `where`.
    """

    def __init__(self, folder: Path, where: Callable[[], Where]) -> None:
        self._folder = folder
        self._where = where
        self._open: dict[str, _Raw] = {}
        self.lost = 0

    def request_built(self, request: ModelRequest) -> None:
        """Keep what goes to a model."""
        messages = [[message.role, message_text(message)] for message in request.messages]
        self._keep("request", request.agent, messages)

    def model_replied(self, agent: str, reply: ModelReply | None) -> None:
        """Keep what a model said."""
        if reply is not None:
            calls = [[call.name, dict(call.arguments)] for call in reply.calls]
            self._keep("reply", agent, [reply.text, calls])

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Keep what crossed."""
        self._keep(f"crossed {way}", agent, data.decode("utf-8", "backslashreplace"))

    def trace_ended(self, trace: Trace) -> None:
        """Write what was kept of a failing trace; forget that of any other."""
        kept = self._open.pop(trace.trace_id, None)
        if kept is None or not trace.failed:
            return
        try:
            file = LineFile(self._folder / f"{trace.trace_id}.jsonl", new=True)
        except OSError:
            self.lost += 1
            return
        for line in kept.lines:
            file(line)
        self.lost += file.lost
        file.close()

    def _keep(self, kind: str, agent: str, value: object) -> None:
        trace_id = self._where().trace_id
        if not trace_id:
            return
        kept = self._open.get(trace_id)
        if kept is None:
            if len(self._open) >= _RAW_TRACES:  # traces whose end nobody told: the oldest goes first
                self._open.pop(next(iter(self._open)))
            kept = self._open[trace_id] = _Raw()
        if kept.size > _RAW_CHARACTERS:
            return
        try:
            line = canonical({"kind": kind, "agent": agent, "value": value})
        except (TypeError, ValueError):
            line = canonical({"kind": kind, "agent": agent, "value": "not JSON"})
        kept.size += len(line)
        kept.lines.append(line if kept.size <= _RAW_CHARACTERS else canonical({"kind": "cut"}))
