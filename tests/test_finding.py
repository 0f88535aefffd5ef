"""Findings: their identity, what decides, and the order of verdicts."""

from __future__ import annotations

from dataclasses import astuple, replace

from hypothesis import given
from hypothesis import strategies as st
from strategies import findings, fingerprints

from isolation_kit.finding import Finding, Fingerprint, Judgement, Mode, Verdict, worst

PRINT = Fingerprint("t", "p>c", "user.current", "child.request", "down")


@given(findings)
def test_json_round_trip(finding: Finding) -> None:
    """A finding is read back equal, with enums as enums."""
    back = Finding.from_json(finding.to_json())
    assert back == finding
    assert (type(back.kind), type(back.mode)) == (Verdict, Mode)


@given(fingerprints, fingerprints)
def test_ids_tell_fingerprints_apart(one: Fingerprint, two: Fingerprint) -> None:
    """Equal ids mean equal fingerprints."""
    assert (one.id == two.id) == (one == two)


names = st.text(st.characters(exclude_categories=["C"]), max_size=4)


@given(names, names)
def test_parts_do_not_run_into_each_other(one: str, two: str) -> None:
    """Target and edge are told apart even where their texts are glued to the same."""
    left = Fingerprint(f"{one}{two}", "e", "w", "c", "d")
    right = Fingerprint(one, f"{two}e", "w", "c", "d")
    assert (left.id == right.id) == (left == right)


def test_an_id_is_stable() -> None:
    """Baselines hold ids: they must not change between releases."""
    assert PRINT.id == "55a6303b4ced"


@given(findings)
def test_only_confirmed_structural_unallowed_findings_count(finding: Finding) -> None:
    """Exposure, a weak match or a declared exception never decides an exit code."""
    expected = (finding.mode, finding.tier, finding.allowed_by) == (Mode.STRUCTURAL, "confirmed", "")
    assert finding.counts == expected


@given(findings, st.sampled_from(("confirmed", "weak")))
def test_attributes_are_no_identity(finding: Finding, tier: str) -> None:
    """Form, path, tier, turn and count vary under one fingerprint."""
    other = replace(finding, tier=tier, form="hex", path="a/b", turn=3, count=7)
    assert other.fingerprint.id == finding.fingerprint.id


@given(st.lists(st.sampled_from(Verdict), min_size=1))
def test_worst_is_the_first_in_precedence(verdicts: list[Verdict]) -> None:
    """LEAK before LOSS before ERROR before INCONCLUSIVE before PASS."""
    order = ("LEAK", "LOSS", "ERROR", "INCONCLUSIVE", "PASS")
    assert worst(verdicts) == next(name for name in order if name in verdicts)


def test_nothing_judged_is_inconclusive() -> None:
    """Never green on nothing."""
    assert worst(()) is Verdict.INCONCLUSIVE


def test_not_applicable_keeps_its_reason() -> None:
    """A judgement that concludes nothing says why and holds no findings."""
    judgement = Judgement.not_applicable("contract", "no schemas")
    assert (judgement.applicable, judgement.reason, judgement.findings) == (False, "no schemas", ())


@given(findings)
def test_text_shows_the_fingerprint_only(finding: Finding) -> None:
    """The text of a fingerprint is made of its own four parts, target left out."""
    shown = str(finding.fingerprint)
    assert all(part in shown for part in astuple(finding.fingerprint)[1:])
