"""Counters of fingerprints: they add up in any order, and intervals are honest about dependence."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import outcomes, tallies

from isolation_kit.finding import Finding, Fingerprint, Judgement, Mode, Verdict
from isolation_kit.fingerprints import CaseOutcome, Hits, Tally, effective_interval, wilson

PRINT = Fingerprint("t", "p>c", "user.current", "child.request", "down")
KEY = (PRINT, Verdict.LEAK, Mode.STRUCTURAL)


def outcome(index: int, *judgements: Judgement, block: int = 0, mode: Mode = Mode.STRUCTURAL) -> CaseOutcome:
    """One case with these judgements."""
    return CaseOutcome(block, index, f"{index:016x}", mode, judgements)


def found(*findings: Finding) -> Judgement:
    """What the canary oracle says when it found something."""
    return Judgement("canary", Verdict.LEAK, findings)


@given(tallies())
def test_json_round_trip(tally: Tally) -> None:
    """A tally is read back equal, and its JSON is canonical."""
    text = tally.to_json()
    assert Tally.from_json(text) == tally
    assert Tally.from_json(text).to_json() == text


@given(tallies(0), tallies(1), tallies(2))
@settings(max_examples=25)
def test_merge_is_associative(one: Tally, two: Tally, three: Tally) -> None:
    """Shards and days add up whatever is added first."""
    assert one.merge(two).merge(three).to_json() == one.merge(two.merge(three)).to_json()


@given(tallies(0), tallies(1))
@settings(max_examples=25)
def test_merge_is_commutative(one: Tally, two: Tally) -> None:
    """The order of two shards leaves no trace."""
    assert one.merge(two).to_json() == two.merge(one).to_json()


@given(tallies(0))
def test_an_empty_tally_changes_nothing(tally: Tally) -> None:
    """The identity of the sum, from both sides."""
    assert tally.merge(Tally()).to_json() == Tally().merge(tally).to_json() == tally.to_json()


@given(st.lists(outcomes(), max_size=5), st.integers(0, 5))
def test_counts_do_not_depend_on_where_the_cases_ran(cases: list[CaseOutcome], at: int) -> None:
    """Split over two workers, the counters (all but the first execution) are those of one."""
    whole, left, right = Tally(), Tally(), Tally()
    for index, case in enumerate(cases):
        whole.add(case)
        (left if index < at else right).add(case)
    merged = left.merge(right)
    assert (merged.n, merged.verdicts, merged.oracles) == (whole.n, whole.verdicts, whole.oracles)
    assert {k: v.count for k, v in merged.hits.items()} == {k: v.count for k, v in whole.hits.items()}
    assert (merged.able, merged.planted, merged.channels) == (whole.able, whole.planted, whole.channels)


@given(st.lists(outcomes(), max_size=4))
def test_a_case_counts_once_per_fingerprint(cases: list[CaseOutcome]) -> None:
    """However often and by however many oracles it was seen in that case."""
    tally = Tally()
    for case in cases:
        tally.add(case)
    for (fingerprint, kind, mode), hits in tally.hits.items():
        showing = [
            case
            for case in cases
            if any((f.fingerprint, f.kind, f.mode) == (fingerprint, kind, mode) for f in case.findings)
        ]
        assert hits.count == len(showing)


def test_n_counts_only_cases_whose_oracle_concluded() -> None:
    """An error, an inconclusive or a not applicable judgement proves nothing and is not in n."""
    tally = Tally()
    tally.add(outcome(0, found(Finding(PRINT, "canary"))))
    tally.add(outcome(1, Judgement("canary")))
    tally.add(outcome(2, Judgement("canary", Verdict.INCONCLUSIVE, reason="cut")))
    tally.add(outcome(3, Judgement("canary", Verdict.ERROR, reason="raised")))
    tally.add(outcome(4, Judgement.not_applicable("canary", "no")))
    tally.add(outcome(5, Judgement("canary"), mode=Mode.EXPOSURE))
    assert (tally.n, tally.n_able(KEY), tally.hits[KEY].count) == (6, 2, 1)


def test_the_first_case_is_the_earliest_by_place_not_by_arrival() -> None:
    """Workers finish in any order; the first case is that of the lowest block and index."""
    late, early = Tally(), Tally()
    late.add(outcome(60, found(Finding(PRINT, "canary")), block=1))
    early.add(outcome(3, found(Finding(PRINT, "canary")), block=0))
    assert late.merge(early).hits[KEY].first == early.merge(late).hits[KEY].first == (0, 3, f"{3:016x}")


def test_a_verdict_ignores_oracles_that_did_not_apply() -> None:
    """And is inconclusive where none applied: never green on nothing."""
    absent = Judgement.not_applicable("contract", "no schema")
    assert outcome(0, Judgement("canary"), absent).verdict is Verdict.PASS
    assert outcome(0, absent).verdict is Verdict.INCONCLUSIVE


@given(st.integers(0, 500), st.integers(1, 500))
def test_wilson_is_an_interval_around_the_share(count: int, n: int) -> None:
    """It lies in [0, 1], holds the share, and mirrors hits and misses."""
    count = min(count, n)
    low, high = wilson(count, n)
    assert 0.0 <= low <= count / n + 1e-9
    assert count / n - 1e-9 <= high <= 1.0
    other_low, other_high = wilson(n - count, n)
    assert math.isclose(low, 1 - other_high, abs_tol=1e-9)
    assert math.isclose(high, 1 - other_low, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (1, 10, 0.0179, 0.4042), (5, 10, 0.2366, 0.7634), (0, 1000, 0.0, 0.0038)],
    ids=str,
)
def test_wilson_agrees_with_published_tables(count: int, n: int, low: float, high: float) -> None:
    """Four known 95 % intervals to four digits."""
    assert wilson(count, n) == pytest.approx((low, high), abs=5e-5)


def test_nothing_run_supports_nothing() -> None:
    """With n = 0 every share is possible."""
    assert wilson(0, 0) == effective_interval(0, 0, []) == (0.0, 1.0)


def test_zero_of_a_thousand_supports_at_most_one_and_a_half_percent() -> None:
    """Generated cases resemble each other: at zero hits a design effect of 4 is assumed."""
    low, high = effective_interval(0, 1000, [(0, 50)] * 20)
    assert low == 0.0
    assert high == pytest.approx(0.0151, abs=5e-5)
    assert high == pytest.approx(wilson(0, 250)[1])


def test_hits_in_one_block_widen_the_interval() -> None:
    """Fifty hits in one block say less than fifty spread evenly over twenty."""
    even = effective_interval(100, 1000, [(5, 50)] * 20)
    lumped = effective_interval(100, 1000, [(50, 50)] * 2 + [(0, 50)] * 18)
    assert even == pytest.approx(wilson(100, 1000))
    assert lumped[0] < even[0] < even[1] < lumped[1]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20))
def test_the_effective_interval_is_never_narrower_than_the_plain_one(hits: list[int]) -> None:
    """The design effect is never taken below 1."""
    blocks = [(hit, 50) for hit in hits]
    count, n = sum(hits), 50 * len(hits)
    low, high = effective_interval(count, n, blocks)
    plain_low, plain_high = wilson(count, n)
    assert low <= plain_low + 1e-9
    assert high >= plain_high - 1e-9


def test_the_interval_of_a_key_uses_the_blocks_of_its_own_mode() -> None:
    """Exposure cases of a block are no cases of a structural leak."""
    tally = Tally()
    for index in range(4):
        tally.add(outcome(index, found(Finding(PRINT, "canary")), block=index // 2))
        tally.add(outcome(index + 10, Judgement("canary"), block=index // 2, mode=Mode.EXPOSURE))
    assert tally.interval(KEY) == effective_interval(4, 4, [(2, 2), (2, 2)])


def test_an_allowed_finding_is_counted_with_its_entry() -> None:
    """Policy marks a hit and never removes it."""
    tally = Tally()
    tally.add(outcome(0, found(Finding(PRINT, "canary", allowed_by="entry"))))
    assert (tally.hits[KEY].count, tally.hits[KEY].allowed_by) == (1, "entry")
    assert Hits().merge(tally.hits[KEY]).allowed_by == "entry"


@given(st.lists(st.sampled_from(["", "one", "two"]), min_size=1, max_size=4), st.integers(0, 4))
def test_one_hit_that_nothing_allows_makes_the_sum_a_leak(labels: list[str], at: int) -> None:
    """However the cases are added up: allowed is only what every hit was allowed to do."""
    whole, left, right = Tally(), Tally(), Tally()
    for index, label in enumerate(labels):
        case = outcome(index, found(Finding(PRINT, "canary", allowed_by=label)))
        whole.add(case)
        (left if index < at else right).add(case)
    expected = max(labels) if all(labels) else ""
    for tally in (whole, left.merge(right), right.merge(left)):
        assert tally.hits[KEY].allowed_by == expected


@given(st.integers(0, 20), st.integers(100, 2000))
def test_more_hits_never_support_a_lower_bound(count: int, n: int) -> None:
    """The upper end of the interval grows with the hits, from none on."""
    assert effective_interval(count, n, [])[1] <= effective_interval(count + 1, n, [])[1] + 1e-3
