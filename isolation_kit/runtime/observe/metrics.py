"""The figures of a running system, and the three alarms of article 000, section 4.6.

Labels come from a closed set: agents and tools by declared name, statuses and codes by the runtime's own;
whatever else turns up counts as `other`. One event loop feeds one object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from isolation_kit.errors import UsageError
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.hooks import Decision, NoHooks, Way
from isolation_kit.runtime.messages import ModelReply
from isolation_kit.runtime.observe.exposition import Counter, Histogram, Peak, exposition
from isolation_kit.runtime.observe.names import Names
from isolation_kit.runtime.observe.spans import Span
from isolation_kit.runtime.result import SubAgentResult

__all__ = ["LIMITS", "Limit", "Metrics", "Reading", "alarms", "readings"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60)
_TOKENS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144)
_PREFIX = "isolation_kit"
_BRIDGE = "bridge"
_OWN = frozenset({_BRIDGE, "ok", "model_failed"})


class Metrics(NoHooks):
    """Counts what the hooks tell. Durations and tokens come from a tracer that calls `span_ended`."""

    def __init__(self, names: Names) -> None:
        self._label = Names(names.known | _OWN, names.digest).label
        self.delegations = _counter("delegations", "Delegations by how they ended.", "agent", "status")
        self.responses = _counter("task_responses", "Results that came up from children.", "agent")
        self.polluted = _counter("pollution_detected", "Undeclared fields dropped.", "agent", "source")
        self.tool_calls = _counter("tool_calls", "Tool calls by outcome.", "agent", "tool", "outcome")
        self.model_calls = _counter("model_calls", "Model calls by outcome.", "agent", "outcome")
        self.retries = _counter("retries", "Retries that a parent decided.", "agent")
        self.skews = _counter("version_skew", "Fields of a newer contract dropped at the bridge.", "agent")
        self.stopped = _counter("child_alarms", "Alarms about children by reason.", "agent", "reason")
        self.memory = Peak(f"{_PREFIX}_child_memory_peak_bytes", "Most resident memory of a child.", "agent")
        self.turns = _histogram("turn_seconds", "Duration of a parent's turn.", _SECONDS, "agent", "state")
        self.states = _histogram("state_seconds", "Time in a state of a turn.", _SECONDS, "agent", "state")
        self.tokens = _histogram("delegation_input_tokens", "Input tokens of a delegation.", _TOKENS, "agent")

    def delegation_ended(self, agent: str, result: SubAgentResult) -> None:
        """Count a delegation."""
        self._count(self.delegations, agent, str(result.status))

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Count a response."""
        if way == "up":
            self._count(self.responses, agent)

    def pollution(self, agent: str, task_id: str, dropped: Dropped, source_tool: str) -> None:
        """Count POLLUTION_DETECTED."""
        self._count(self.polluted, agent, source_tool or _BRIDGE)

    def skewed(self, agent: str, task_id: str, dropped: Dropped) -> None:
        """Count a field that only a newer contract declares."""
        self._count(self.skews, agent)

    def alarm(self, agent: str, reason: str, trace_id: str) -> None:
        """Count an alarm about a child."""
        self._count(self.stopped, agent, reason)

    def decided(self, agent: str, decision: Decision) -> None:
        """Count a retry."""
        if decision.kind == "retry":
            self._count(self.retries, agent)

    def memory_peaked(self, agent: str, peak: int) -> None:
        """Keep the highest peak."""
        self.memory.raise_to(self._label(agent), value=peak)

    def model_replied(self, agent: str, reply: ModelReply | None) -> None:
        """Count a model call."""
        self._count(self.model_calls, agent, "ok" if reply is not None else "model_failed")

    def tool_replied(self, agent: str, tool: str, reason: str) -> None:
        """Count a tool call."""
        self._count(self.tool_calls, agent, tool, reason or "ok")

    def span_ended(self, span: Span) -> None:
        """Take the duration of a turn or state, the tokens of a delegation."""
        label = self._label
        if span.kind == "delegation":
            if span.calls:
                self.tokens.observe(label(span.agent), value=span.tokens)
        elif span.kind == "turn":
            self.turns.observe(label(span.agent), label(span.status), value=span.seconds)
        else:
            self.states.observe(label(span.agent), label(span.name), value=span.seconds)

    def _count(self, counter: Counter, *names: str) -> None:
        """Count under the names' labels. What is a series already is made of labels: it needs no look-up."""
        values = counter.values
        if names in values:
            values[names] += 1
        else:
            counter.add(*map(self._label, names))

    def text(self) -> str:
        """All metrics in the Prometheus text format."""
        return exposition(
            (
                self.delegations,
                self.responses,
                self.polluted,
                self.skews,
                self.tool_calls,
                self.model_calls,
                self.retries,
                self.stopped,
                self.memory,
                self.turns,
                self.states,
                self.tokens,
            )
        )


@dataclass(frozen=True, slots=True)
class Limit:
    """An alarm threshold; a reading above `most` is an alarm."""

    name: str
    most: float


LIMITS = (
    Limit("pollution_rate", 0.001),
    Limit("child_memory_peak_bytes", 120 * 2**20),
    Limit("turn_p95_seconds", 2.0),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What stands at a threshold now. `no data` is not the same as fine."""

    limit: Limit
    value: float | None

    @property
    def state(self) -> Literal["fine", "alarm", "no data"]:
        """How the value compares with its limit."""
        if self.value is None:
            return "no data"
        return "alarm" if self.value > self.limit.most else "fine"


def readings(metrics: Metrics, limits: tuple[Limit, ...] = LIMITS) -> tuple[Reading, ...]:
    """The reading of each limit. The pollution rate is POLLUTION_DETECTED per TaskResponse, 0 or more."""
    responses, polluted = metrics.responses.total, metrics.polluted.total
    values = {
        # Fields dropped before any result came up are an alarm already, not a division by zero.
        "pollution_rate": polluted / max(responses, 1) if responses or polluted else None,
        "child_memory_peak_bytes": metrics.memory.highest,
        "turn_p95_seconds": metrics.turns.quantile(0.95),
    }
    unknown = [limit.name for limit in limits if limit.name not in values]
    if unknown:
        raise UsageError(f"no such reading: {', '.join(unknown)}; there are {', '.join(values)}")
    return tuple(Reading(limit, values[limit.name]) for limit in limits)


def alarms(metrics: Metrics, limits: tuple[Limit, ...] = LIMITS) -> tuple[Reading, ...]:
    """The readings above their limits."""
    return tuple(reading for reading in readings(metrics, limits) if reading.state == "alarm")


def _counter(name: str, about: str, *labels: str) -> Counter:
    return Counter(f"{_PREFIX}_{name}_total", about, *labels)


def _histogram(name: str, about: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(f"{_PREFIX}_{name}", about, bounds, *labels)
