"""Metrics: a text that Prometheus' own parser reads, closed labels, the three alarms, the token curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from isolation_kit.errors import UsageError
from isolation_kit.runtime import CLEAN, Dropped, Message, ModelReply, Status, SubAgentResult
from isolation_kit.runtime.hooks import Decision
from isolation_kit.runtime.observe import (
    LIMITS,
    Limit,
    Metrics,
    Names,
    Point,
    Span,
    TokenCurve,
    alarms,
    flatness,
    readings,
)
from isolation_kit.runtime.observe.exposition import Counter, Histogram, exposition
from isolation_kit.runtime.text import keyed_digest

DROPPED = Dropped("trace_id", "string", 3, "0" * 16)


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The samples as Prometheus' parser reads them."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_delegation_shows_in_all_metrics(watched: Any, calls: Callable[..., ModelReply]) -> None:
    """Status, response, pollution by tool, calls, tokens."""
    made = watched({"worker": [calls(), ModelReply("42")]}, tool='{"amount": 1, "trace_id": "x"}')
    made.run()
    made.watching.hooks.decided("parent", Decision("retry", "worker", ("worker",), "timeout", 2))
    made.watching.hooks.memory_peaked("worker", 5)
    seen = parsed(made.watching.metrics.text())
    worker = ("agent", "worker")
    for name, labels in {
        "delegations": (worker, ("status", "succeeded")),
        "task_responses": (worker,),
        "pollution_detected": (worker, ("source", "lookup")),
        "tool_calls": (worker, ("outcome", "ok"), ("tool", "lookup")),
        "retries": (("agent", "parent"),),
    }.items():
        assert seen[f"isolation_kit_{name}_total", labels] == 1, name
    assert seen["isolation_kit_model_calls_total", (worker, ("outcome", "ok"))] == 2
    assert seen["isolation_kit_child_memory_peak_bytes", (worker,)] == 5
    assert seen["isolation_kit_delegation_input_tokens_count", (worker,)] == 1


@given(st.lists(st.tuples(st.text(), st.text()), max_size=20))
def test_hostile_names_make_no_label(pairs: list[tuple[str, str]]) -> None:
    """Whatever agents and tools call themselves: the text parses, and there is one series, `other`."""
    metrics = Metrics(Names(frozenset({"worker"}), keyed_digest(b"k")))
    for agent, tool in pairs:
        metrics.pollution(f"x{agent}", "", DROPPED, f"x{tool}")
        metrics.tool_replied(f"x{agent}", f"x{tool}", f"x{tool}")
    assert len(metrics.polluted.values) <= 1
    assert set(metrics.tool_calls.values) <= {("other", "other", "other")}
    parsed(metrics.text())


@given(st.lists(st.tuples(st.text(), st.floats(0, 1e9)), max_size=8))
def test_any_label_value_reads_back(values: list[tuple[str, float]]) -> None:
    """Quotes, backslashes and newlines are escaped as the format asks for."""
    counter = Counter("c_total", "About.", "label")
    for label, value in values:
        counter.add(label, amount=value)
    seen = parsed(exposition((counter,)))
    assert seen == {("c_total", (("label", label[0]),)): value for label, value in counter.values.items()}


@given(st.lists(st.floats(0, 100), min_size=1, max_size=200), st.sampled_from([0.5, 0.9, 0.95]))
def test_a_quantile_is_right_to_within_its_bucket(values: list[float], share: float) -> None:
    """The bucket that holds the exact quantile holds the estimate; counts and sum read back."""
    bounds = tuple(float(bound) for bound in range(0, 101, 5))
    histogram = Histogram("h", "About.", bounds, "agent")
    for place, value in enumerate(values):
        histogram.observe(f"a{place % 3}", value=value)
    estimate = histogram.quantile(share)
    ranked = sorted(values)
    exact = next(v for n, v in enumerate(ranked, start=1) if n >= share * len(values) - 1e-9)
    assert estimate is not None
    assert abs(estimate - exact) <= 5
    seen = parsed(exposition((histogram,)))
    counts = [value for (name, _), value in seen.items() if name == "h_count"]
    assert sum(counts) == len(values)


def test_a_skewed_field_is_counted_and_is_no_pollution(names: Names) -> None:
    """A newer contract on the other side has a series of its own, and no alarm."""
    metrics = Metrics(names)
    metrics.context_crossed("worker", "up", b"")
    for agent in ("worker", "worker", "invented"):
        metrics.skewed(agent, "", DROPPED)
    seen = parsed(metrics.text())
    series = {labels[0][1]: value for (name, labels), value in seen.items() if "version_skew" in name}
    assert series == {"worker": 2, "other": 1}
    assert alarms(metrics) == ()


def test_nothing_seen_is_no_data_not_fine(names: Names) -> None:
    """A detached hook must not look green."""
    assert [reading.state for reading in readings(Metrics(names))] == ["no data"] * 3
    assert alarms(Metrics(names)) == ()


@pytest.mark.parametrize(
    ("polluted", "peak", "seconds", "expected"),
    [
        (1, 120 * 2**20, 1.9, []),
        (2, 120 * 2**20, 1.9, ["pollution_rate"]),
        (1, 120 * 2**20 + 1, 1.9, ["child_memory_peak_bytes"]),
        (1, 120 * 2**20, 2.1, ["turn_p95_seconds"]),
    ],
    ids=["at the limits", "pollution", "memory", "stall"],
)
def test_alarms_at_the_articles_thresholds(
    names: Names, polluted: int, peak: int, seconds: float, expected: list[str]
) -> None:
    """0.1 % of 1,000 responses, 120 MiB, p95 of 2 s: at the limit is fine, above is an alarm."""
    metrics = Metrics(names)
    for _ in range(1000):
        metrics.context_crossed("worker", "up", b"")
    for _ in range(polluted):
        metrics.pollution("worker", "", DROPPED, "lookup")
    metrics.memory_peaked("worker", peak)
    for _ in range(20):
        metrics.span_ended(Span("turn", "parent", "", 0, -1, 0.0, seconds, "done"))
    assert [reading.limit.name for reading in alarms(metrics)] == expected


def test_pollution_before_any_response_is_an_alarm(names: Names) -> None:
    """All responses polluted so badly that none came up: not a division by zero."""
    metrics = Metrics(names)
    metrics.pollution("worker", "", DROPPED, "")
    assert [reading.limit.name for reading in alarms(metrics)] == ["pollution_rate"]


def test_limits_are_data(names: Names) -> None:
    """A deployment states its own; an unknown name is refused."""
    metrics = Metrics(names)
    metrics.delegation_ended("worker", SubAgentResult("", Status.FAILED))
    metrics.memory_peaked("worker", 10)
    assert [reading.value for reading in alarms(metrics, (Limit("child_memory_peak_bytes", 9),))] == [10]
    with pytest.raises(UsageError, match="pollution_rate"):
        readings(metrics, (*LIMITS, Limit("cost", 1)))


def points(*first: int) -> tuple[Point, ...]:
    """A curve of one agent."""
    return tuple(Point(index, "worker", tokens, tokens, 1) for index, tokens in enumerate(first))


@given(st.integers(1, 10_000), st.integers(10, 300))
def test_the_same_size_each_time_is_flat(size: int, count: int) -> None:
    """Growth 0."""
    assert flatness(points(*[size] * count)).verdict == "flat"


@given(st.integers(100, 10_000), st.integers(20, 200), st.data())
def test_growth_by_a_percent_a_delegation_is_rising(size: int, count: int, data: st.DataObject) -> None:
    """Also where single delegations are dear or cheap."""
    curve = [size + size * index // 100 for index in range(count)]
    for index in data.draw(st.sets(st.integers(0, count - 1), max_size=1)):
        curve[index] = data.draw(st.integers(0, 10**6))
    assert flatness(points(*curve)).verdict == "rising"


def test_a_curve_needs_ten_points_of_one_agent() -> None:
    """Nine say nothing; two agents cannot be compared."""
    assert flatness(points(*range(9))).verdict == "too few"
    with pytest.raises(UsageError, match="2 agents"):
        flatness((*points(1), replace(points(1)[0], agent="other")))


def test_a_curve_keeps_the_latest_points() -> None:
    """Indices go on."""
    curve = TokenCurve(most=3)
    for _ in range(5):
        curve.span_ended(Span("delegation", "worker", "", 0, -1, 0.0, 0.0, "succeeded", "", 7, 9, 0, 2))
    assert [point.index for point in curve.points] == [2, 3, 4]
    assert curve.points[0] == Point(2, "worker", 7, 9, 2)


@pytest.mark.parametrize(
    ("leaky", "verdict"), [(False, "flat"), (True, "rising")], ids=["briefs", "inherited"]
)
def test_inherited_history_makes_the_curve_rise(watched: Any, leaky: bool, verdict: str) -> None:
    """20 delegations of a growing conversation: flat with briefs, rising where the child gets the history."""
    inherit = replace(CLEAN, child_context=lambda brief, scope: tuple(scope.history))
    made = watched({"worker": [ModelReply("42")]}, parts=inherit if leaky else CLEAN)
    for turn in range(1, 21):
        made.run("the same", tuple(Message("user", "one more turn of the conversation") for _ in range(turn)))
    assert flatness(made.watching.curve.points).verdict == verdict
