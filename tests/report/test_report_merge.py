"""Merging: shards and days add up, in any order and any grouping."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from report_samples import LEAKS, RUN, Made, leaky, report, sample

from isolation_kit.errors import UsageError
from isolation_kit.finding import Verdict
from isolation_kit.report import Baseline, Timing, build, dump, merge

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking whole reports takes minutes
SHARDS = st.builds(
    Made,
    family=st.sampled_from(["noise-injection", "cross-user"]),
    target=st.sampled_from(["support", "other"]),
    order=st.integers(0, 2),
    cases=st.integers(0, 12),
    leaks=st.lists(st.sampled_from(LEAKS), max_size=3),
    verdicts=st.lists(st.sampled_from(list(Verdict)), max_size=2),
    pollution=st.sampled_from([(), (("trace_id", "crm_search"),)]),
    first_block=st.integers(0, 3),
    more=st.fixed_dictionaries(
        {
            "cut": st.sampled_from(["", "time is up", "exhausted"]),
            "error": st.sampled_from(["", "TimeoutError in say", "a; b"]),
            "unreached": st.sampled_from([(), (("writer", "no rule"),)]),
        }
    ),
)


@st.composite
def reports(draw: st.DrawFn) -> dict[str, Any]:
    """A report of up to three items, as one shard or day would write it."""
    outcomes = [made.outcome() for made in draw(st.lists(SHARDS, max_size=3))]
    known = draw(st.booleans())
    run = replace(RUN, shard=f"{draw(st.integers(1, 3))}/3")
    started = f"2026-11-30T09:{draw(st.integers(0, 59)):02}:00Z"
    timing = Timing(started, draw(st.integers(0, 99999)) / 1000, 0.1, {"support": 0.001})
    first = report(outcomes, run=run, timing=timing)
    return report(outcomes, run=run, timing=timing, baseline=Baseline.of(first)) if known else first


@settings(max_examples=25, deadline=None, phases=QUICK)
@given(st.lists(reports(), min_size=3, max_size=3, unique_by=lambda one: one["timing"]["started"]))
def test_merge_is_associative_and_commutative(three_of_them: list[Any]) -> None:
    """Any grouping and any order of three reports gives the same bytes."""
    one, two, three = three_of_them
    whole = dump(merge([one, two, three]))
    assert dump(merge([merge([one, two]), three])) == whole
    assert dump(merge([one, merge([two, three])])) == whole
    assert dump(merge([three, one, two])) == whole


@settings(max_examples=15, deadline=None, phases=QUICK)
@given(reports())
def test_merging_one_report_changes_nothing(one: Any) -> None:
    """All that is derived is derived the same from the stored counters."""
    assert dump(merge([one])) == dump(one)


def test_two_shards_are_the_whole() -> None:
    """The counts of two halves are those of the whole run."""
    halves = [
        Made(leaks=LEAKS, cases=100).outcome(),
        Made(leaks=LEAKS, cases=100, first_block=2).outcome(),
    ]
    whole = Made(leaks=LEAKS, cases=200).outcome()
    merged, single = merge([report([half]) for half in halves]), report([whole])
    assert merged["items"][0]["cases"] == 200
    assert merged["tallies"] == single["tallies"]
    assert merged["fingerprints"] == single["fingerprints"]


def test_same_seed_twice_is_said() -> None:
    """The same seed and shard twice are the same cases; the report says so."""
    again = report([leaky()], timing=Timing("2026-12-01T09:00:00+00:00"))
    twice = merge([sample(), again])["scope"]["says"]
    other = report([leaky()], run=replace(RUN, seed=8))
    assert any("same seed" in text for text in twice)
    assert not any("same seed" in text for text in merge([report([leaky()]), other])["scope"]["says"])


def test_one_report_given_twice_is_refused() -> None:
    """The same evidence twice would narrow the intervals; another start or another shard is no twin."""
    with pytest.raises(UsageError, match=r"a\.json \(number 1\) and b\.json \(number 3\).*leave one"):
        merge([sample(), report([leaky()]), sample()], names=["a.json", "c.json", "b.json"])
    with pytest.raises(UsageError, match="number 1 and number 2"):
        merge([sample(), sample()])
    shards = [report([leaky()], run=replace(RUN, shard=f"{number}/2")) for number in (1, 2)]
    assert merge(shards)["items"][0]["cases"] == 400


def test_nothing_to_merge_is_a_usage_error() -> None:
    """No report at all is a slip on the command line."""
    with pytest.raises(UsageError, match="no report to merge"):
        merge([])


def test_build_is_public() -> None:
    """The package gives what others code against, at first use."""
    assert build.__module__ == "isolation_kit.report.assemble"
