"""Counters of workers add up exactly, in any order, and survive their way to the master."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.finding import Finding, Fingerprint, Verdict
from isolation_kit.load.counts import WINDOW, Counts
from isolation_kit.load.outcome import outcomes
from isolation_kit.load.summary import Load, told

LEAK = Finding(Fingerprint("service", "parent", "task.input", "final.output", "across"), "canary")
LOSS = Finding(
    Fingerprint("service", "parent", "task.input", "final.output", "down"), "canary", kind=Verdict.LOSS
)
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["cross-user", "noise-injection"]),
        st.integers(100, 130),
        st.sampled_from([(), (LEAK,), (LOSS,), (LEAK, LOSS)]),
    ),
    max_size=30,
)


@given(EVENTS)
def test_workers_add_up(events: list[tuple[int, str, int, tuple[Finding, ...]]]) -> None:
    """Four workers that tell in parts count what one would have counted."""
    whole = Counts()
    workers = [Counts() for _ in range(4)]
    sent = []
    for worker, family, second, findings in events:
        for counts in (whole, workers[worker]):
            counts.checked(family, second, findings)
        sent.append(workers[worker].take().to_json())
    total = reduce(Counts.merge, map(Counts.from_json, reversed(sent)), Counts())
    assert total.to_json() == whole.to_json()
    assert total.leaks() == sum(LEAK in findings for *_, findings in events)
    assert total.sum("checked") == len(events)


def test_counters_become_items_with_blocks_and_hits() -> None:
    """Times begin at the run's start; each family is an item; a share rests on all that was checked."""
    counts = Counts()
    for second in range(1000, 1020):
        found = (LEAK,) if second < 1005 else ()
        counts.checked("cross-user", second, found)
        counts.add("sent")
    load = Load(users=dict.fromkeys(range(20), 4), seconds=20)
    (item,) = outcomes(counts.since(1000), load, ("cross-user",), (), False)
    (key,) = item.tally.hits
    assert (item.tally.n, item.tally.hits[key].count, item.tally.n_able(key)) == (20, 5, 20)
    assert item.tally.hits[key].blocks == {0: WINDOW}
    assert "at 4 users: 5 leaks in 20 checked (25.0000%)" in told(counts.since(1000), load)


def test_failures_above_the_tolerance_are_an_error() -> None:
    """Failures are counted apart, by kind, and an item says which."""
    counts = Counts()
    for number in range(100):
        counts.add("sent")
        counts.add("failed", "status 503") if number < 2 else None
    tight, loose = (
        outcomes(counts, Load(tolerance=share), ("cross-user",), (), False)[0] for share in (0.01, 0.02)
    )
    assert "status 503 2" in tight.error
    assert loose.error == ""
