"""Merging: shards and days add up, in any order and any grouping."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from report_samples import LEAKS, RUN, Made, leaky, report, sample

from isolation_kit.errors import UsageError
from isolation_kit.finding import Verdict
from isolation_kit.report import Baseline, Timing, build, dump, exit_verdict, load, merge, terminal

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
    """All that is derived is derived the same from the stored counters; a shard misses the others."""
    one["run"]["shard"] = one["run"]["parts"][0]["shard"] = ""
    whole = merge([one])
    assert dump(merge([whole])) == dump(whole)
    assert whole["tallies"] == one["tallies"]
    assert all(whole[name] == one[name] for name in one if name != "scope")  # the shard was told there


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


def shard(number: int, of: int, *, seed: int = 7, sweep: bool = False) -> dict[str, Any]:
    """A clean shard; only the first of a run has the sweep."""
    made = [Made(family="sweep", cases=8).outcome()] if sweep else []
    made.append(Made(order=1, first_block=number).outcome())
    return report(made, run=replace(RUN, seed=seed, shard=f"{number}/{of}"))


def test_missing_shards_make_a_merge_inconclusive(tmp_path: Path) -> None:
    """A part of a run proves nothing of the whole; whoever reads the sum is told, from a file too."""
    total = merge([shard(3, 3)])
    assert total["verdict"] == exit_verdict(total, "never") == exit_verdict(total, "new") == "INCONCLUSIVE"
    words = "Shards 1/3, 2/3 of seed 7 are missing from this merge; only the first shard runs the sweep."
    assert words in total["scope"]["says"]
    assert words in terminal(total, width=110).replace("\n", " ")
    (tmp_path / "sum.json").write_text(dump(total), encoding="utf-8")
    assert load(tmp_path / "sum.json") == total
    again = merge([total, shard(1, 3, sweep=True)])
    assert again["scope"]["missing_shards"] == [{"seed": 7, "of": 3, "missing": [2]}]
    days = merge([shard(1, 2, sweep=True), shard(2, 2, seed=8)])
    assert [entry["missing"] for entry in days["scope"]["missing_shards"]] == [[2], [1]]


def test_all_shards_are_a_whole_run() -> None:
    """With every shard there the merge passes, the sweep of the first one included."""
    total = merge([merge([shard(2, 2)]), shard(1, 2, sweep=True)])
    assert (total["verdict"], total["scope"]["missing_shards"]) == ("PASS", [])
    assert [item["family"] for item in total["items"]] == ["sweep", "noise-injection"]


def test_missing_shards_hide_no_leak() -> None:
    """A leak in the shard that is there stays the verdict."""
    assert merge([report([leaky()], run=replace(RUN, shard="1/2"))])["verdict"] == "LEAK"


def test_a_single_shard_says_so() -> None:
    """A shard's own report keeps its verdict and says what it is; a whole run says nothing of shards."""
    alone = shard(1, 2, sweep=True)
    assert alone["verdict"] == "PASS"
    assert any("This is shard 1/2" in text for text in alone["scope"]["says"])
    assert not any("shard" in text for text in report([leaky()])["scope"]["says"])


def test_a_leak_that_one_run_allowed_stays_a_leak() -> None:
    """Allowed in the sum is only what every run that shows it allowed."""
    allowed = Made(cases=50, leaks=(LEAKS[3],)).outcome()
    strict = Made(cases=50, leaks=(replace(LEAKS[3], allowed_by=""),)).outcome()
    clean = Made(cases=50).outcome()
    runs = {
        name: report([outcome], run=replace(RUN, seed=seed))
        for seed, (name, outcome) in enumerate({"allowed": allowed, "strict": strict, "clean": clean}.items())
    }
    for pair in (("allowed", "strict"), ("strict", "allowed")):
        total = merge([runs[name] for name in pair])
        row = total["fingerprints"][0]
        assert (total["verdict"], row["state"], row["counts"]) == ("LEAK", "leak", True)
    assert merge([runs["allowed"], runs["clean"]])["fingerprints"][0]["state"] == "allowed"


def test_nothing_to_merge_is_a_usage_error() -> None:
    """No report at all is a slip on the command line."""
    with pytest.raises(UsageError, match="no report to merge"):
        merge([])


def test_build_is_public() -> None:
    """The package gives what others code against, at first use."""
    assert build.__module__ == "isolation_kit.report.assemble"
