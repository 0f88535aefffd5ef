"""Verdicts: precedence, what counts, and what is never green."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import LEAKS, POLICY, Leak, Made, clean_twin, leaky, report

from isolation_kit.errors import UsageError
from isolation_kit.finding import Judgement, Mode, Verdict
from isolation_kit.fingerprints import CaseOutcome, Tally
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.report import Baseline, exit_verdict, new

ORDER = ["LEAK", "LOSS", "ERROR", "INCONCLUSIVE", "PASS"]
NOISE, EARLIER, FIELD, ALLOWED, EXPOSED, SUSPECT = LEAKS


def verdict(*leaks: Leak, policy: Any = POLICY, **values: Any) -> str:
    """The verdict over one item with these leaks."""
    return str(report([Made(cases=20, leaks=leaks, **values).outcome()], policy=policy)["verdict"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([item for item in Verdict if item is not Verdict.LEAK]), max_size=20))
def test_report_takes_the_first_verdict(verdicts: list[Verdict]) -> None:
    """LEAK, LOSS, ERROR, INCONCLUSIVE, PASS: the first that any case had."""
    expected = min([*map(str, verdicts), "PASS"], key=ORDER.index)
    assert verdict(verdicts=verdicts) == expected


def test_clean_twin_passes_and_leaky_one_leaks() -> None:
    """The same item with and without leaks."""
    assert report([clean_twin()])["verdict"] == "PASS"
    assert report([leaky(), clean_twin()])["verdict"] == "LEAK"


@pytest.mark.parametrize(
    "leak", [ALLOWED, EXPOSED, replace(SUSPECT, every=1)], ids=["allowed", "exposed", "suspect"]
)
def test_what_does_not_count_is_shown_and_passes(leak: Leak) -> None:
    """Allowed, exposed and suspect findings stand in the report and leave the verdict alone."""
    document = report([Made(cases=20, leaks=(leak,)).outcome()])
    assert (document["verdict"], len(document["fingerprints"])) == ("PASS", 1)
    assert not document["fingerprints"][0]["counts"]


def test_strict_and_declared_stand_side_by_side() -> None:
    """An allowed leak is a leak when judged strictly."""
    policy = report([Made(cases=20, leaks=(NOISE, ALLOWED)).outcome()])["policy"]
    assert (policy["strict"], policy["declared"]) == ({"leaks": 2}, {"leaks": 1})


def test_denied_exposure_counts() -> None:
    """`reachable = "deny"` turns an exposure into a leak."""
    assert verdict(EXPOSED) == "PASS"
    assert verdict(EXPOSED, policy=replace(POLICY, reachable="deny")) == "LEAK"


@pytest.mark.parametrize(
    ("values", "expected", "reason"),
    [
        ({"cases": 0}, "INCONCLUSIVE", "no case ran"),
        ({"more": {"unreached": (("writer", "no rule"),)}}, "INCONCLUSIVE", "writer was not reached"),
        ({"more": {"error": "TimeoutError in say"}}, "ERROR", "TimeoutError"),
        ({"more": {"requested": 30}}, "INCONCLUSIVE", "10 of 30 cases are missing"),
        ({"refused": 6}, "INCONCLUSIVE", "refused"),
    ],
    ids=["no case", "unreached", "error", "missing", "refused"],
)
def test_item_that_proves_nothing_is_no_pass(values: Any, expected: str, reason: str) -> None:
    """Never green on nothing, and the reason is said."""
    document = report([Made(**{"cases": 20, **values}).outcome()])
    assert document["verdict"] == expected
    assert reason in " ".join(document["items"][0]["reasons"])


def test_cut_with_a_reason_and_few_refusals_pass() -> None:
    """Fewer cases with a reason, and a share of refusals below the threshold, stay green."""
    assert verdict(more={"requested": 30, "cut": "exhausted"}) == "PASS"
    assert verdict(refused=1) == "PASS"


def test_report_over_nothing_is_inconclusive() -> None:
    """No item, no verdict."""
    assert report([])["verdict"] == "INCONCLUSIVE"


def test_leak_without_a_finding_is_still_a_leak() -> None:
    """An oracle that says LEAK and names no fingerprint is believed, and no baseline hides it."""
    document = report([Made(cases=20, verdicts=[Verdict.LEAK]).outcome()])
    assert document["verdict"] == "LEAK"
    assert exit_verdict(document, "new") == "LEAK"


@pytest.mark.parametrize(
    ("known", "fail_on", "expected"),
    [
        ((NOISE, EARLIER), "any", "LEAK"),
        ((NOISE, EARLIER), "new", "PASS"),
        ((NOISE,), "new", "LEAK"),
        ((), "new", "LEAK"),
        ((), "never", "PASS"),
    ],
    ids=["any", "all known", "one new", "no baseline", "never"],
)
def test_exit_verdict(known: tuple[Leak, ...], fail_on: str, expected: str) -> None:
    """Only what the gate asks for fails."""
    outcome = Made(cases=20, leaks=(NOISE, EARLIER)).outcome()
    baseline = Baseline({leak.finding().fingerprint.id: "known" for leak in known})
    assert exit_verdict(report([outcome], baseline=baseline), fail_on) == expected


def test_error_and_inconclusive_fail_under_every_gate() -> None:
    """A gate on leaks never hides that a run proved nothing."""
    document = report([Made(cases=20, leaks=(NOISE,), more={"unreached": (("writer", ""),)}).outcome()])
    assert exit_verdict(document, "never") == "INCONCLUSIVE"


def test_unknown_gate_is_a_usage_error() -> None:
    """The three choices are named."""
    with pytest.raises(UsageError, match="any, new, never"):
        exit_verdict(report([]), "sometimes")


def test_new_rows_are_those_that_count_and_are_unknown() -> None:
    """The baseline of a report knows all that counts in it."""
    document = report([leaky()])
    baseline = Baseline.of(document)
    assert new(document, baseline) == ()
    assert {row["what"] for row in new(document, Baseline())} == {
        "parent.tool.noise",
        "user.earlier",
        "field.debug.trace_id",
    }


def test_mode_of_the_samples() -> None:
    """The samples hold what their names say."""
    assert (EXPOSED.mode, SUSPECT.tier, FIELD.oracle) == (Mode.EXPOSURE, "suspect", "contract")


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_an_item_whose_cases_were_all_refused_proves_nothing(share: float) -> None:
    """Whatever share may be refused: of nothing that was tested there is no PASS."""
    all_refused = report([Made(cases=8, refused=8).outcome()], refused_share=share)
    assert all_refused["verdict"] == "INCONCLUSIVE"
    assert any("all 8 cases were refused" in text for text in all_refused["items"][0]["reasons"])
    assert report([Made(cases=8, refused=7).outcome()], refused_share=1.0)["verdict"] == "PASS"


def test_the_reason_of_a_doubt_is_told_whole_and_not_why_an_oracle_did_not_apply() -> None:
    """Three cases that an oracle did not apply to outnumber the one in doubt, and explain nothing."""
    tally = Tally()
    masks = "the same case gave another View each time: declare under [policy] masks = " + str(["id"] * 20)
    doubt = Judgement("interleaving", Verdict.INCONCLUSIVE, reason=masks)
    aside = Judgement.not_applicable("interleaving", "a parrot's own copying")
    for index, judgement in enumerate([doubt, aside, aside, aside]):
        outcome = CaseOutcome(0, index, f"{index:016x}", Mode.STRUCTURAL, (Judgement("canary"), judgement))
        tally.add(outcome)
    item = ItemOutcome(
        Item(0, "support", "noise-injection"), requested=4, tally=Tally.from_json(tally.to_json())
    )
    assert report([item])["items"][0]["reasons"] == [f"1 of 4 cases are inconclusive (interleaving: {masks})"]


def test_a_doubt_beside_a_leak_is_counted() -> None:
    """A case that leaks and on which another oracle did not conclude is no `0 of 1 cases`."""
    leak = Leak("user.earlier", "child.request").finding()
    tally = Tally()
    judgements = (
        Judgement("canary", Verdict.LEAK, (leak,)),
        Judgement("repeat", Verdict.INCONCLUSIVE, reason="it differs"),
    )
    tally.add(CaseOutcome(0, 0, "0" * 16, Mode.STRUCTURAL, judgements))
    item = ItemOutcome(Item(0, "support", "noise-injection"), requested=1, tally=tally)
    assert report([item])["items"][0]["reasons"] == ["1 of 1 cases are inconclusive (repeat: it differs)"]


def test_a_report_of_an_earlier_version_is_still_read() -> None:
    """Its reasons have no status."""
    kept = Tally(reasons=Counter({("repeat", "one run", ""): 2}))
    assert Tally.from_json(kept.to_json().replace(',""]', "]")) == kept
