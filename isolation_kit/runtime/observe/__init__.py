"""Watching the runtime: snapshots of contexts, decisions, traces, metrics, the input-token curve.

All of it hangs on the hooks and holds lengths, counts, declared names and keyed digests, never a text; only
`RawTraces` keeps texts, and only where somebody makes one. `watch` wires them.
"""

from isolation_kit.runtime.observe.curve import Flatness, Point, TokenCurve, flatness
from isolation_kit.runtime.observe.decisions import Decided, DecisionLog, read_decisions
from isolation_kit.runtime.observe.lines import LineFile, read_lines
from isolation_kit.runtime.observe.metrics import LIMITS, Limit, Metrics, Reading, alarms, readings
from isolation_kit.runtime.observe.names import Names, names_of
from isolation_kit.runtime.observe.snapshot import Overlap, Part, Snapshot, overlap, read_snapshots
from isolation_kit.runtime.observe.snapshots import SnapshotLog
from isolation_kit.runtime.observe.spans import Span, Trace, Where
from isolation_kit.runtime.observe.terms import Measure
from isolation_kit.runtime.observe.tracer import Tracer
from isolation_kit.runtime.observe.traces import RawTraces, TraceLog, read_traces
from isolation_kit.runtime.observe.watching import Watching, watch

__all__ = [
    "LIMITS",
    "Decided",
    "DecisionLog",
    "Flatness",
    "Limit",
    "LineFile",
    "Measure",
    "Metrics",
    "Names",
    "Overlap",
    "Part",
    "Point",
    "RawTraces",
    "Reading",
    "Snapshot",
    "SnapshotLog",
    "Span",
    "TokenCurve",
    "Trace",
    "TraceLog",
    "Tracer",
    "Watching",
    "Where",
    "alarms",
    "flatness",
    "names_of",
    "overlap",
    "read_decisions",
    "read_lines",
    "read_snapshots",
    "read_traces",
    "readings",
    "watch",
]
