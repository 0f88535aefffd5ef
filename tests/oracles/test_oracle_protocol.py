"""The protocol: oracles are found by themselves, share runs, sample, and fail in their own row only."""

from __future__ import annotations

import sys
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import findings
from tiny_target import full_case, tiny

import isolation_kit.oracles as folder
from isolation_kit.audit import Campaign, Plan
from isolation_kit.errors import UsageError
from isolation_kit.finding import Finding, Fingerprint, Judgement, Verdict
from isolation_kit.oracles import Oracle, Variant, all_oracles, drive
from isolation_kit.oracles.protocol import verdict_of
from isolation_kit.policy import Policy
from isolation_kit.target import declaration_of
from isolation_kit.trace import Trace

DECLARATION = declaration_of(tiny())
SCENARIO = full_case()
EVERY = {"quick": 1, "ci": 1, "deep": 1}


def oracle(check: Any, name: str = "mine") -> Oracle:
    """An oracle of a user's own."""
    return Oracle(name, "a claim", check, EVERY, "a test")


def driven(check: Any) -> Judgement:
    """Its judgement on one case."""
    return drive(oracle(check), SCENARIO, DECLARATION, Policy(), lambda variant: Trace("c"))


def test_each_file_of_the_folder_is_an_oracle_with_claim_and_source() -> None:
    """Dropping a file in is all that is needed."""
    names = [item.name for item in all_oracles()]
    assert names == sorted(names)
    assert {"canary", "contract", "controls", "noninterference", "repeat"} <= set(names)
    for item in all_oracles():
        assert item.claim
        assert item.source
        assert item.samples("quick", 0)
        assert set(item.every) == {"quick", "ci", "deep"}
    assert folder.all_oracles() is all_oracles()


def raises_at_once(*args: Any) -> Any:
    raise RuntimeError("sk-live-secret")


def raises_first(*args: Any) -> Generator[Any, Any, Judgement]:
    raise RuntimeError("sk-live-secret")
    yield


def raises_later(*args: Any) -> Generator[Any, Any, Judgement]:
    yield (Variant(SCENARIO),)
    raise KeyError("sk-live-secret")


def returns_nothing(*args: Any) -> Generator[Any, Any, None]:
    yield (Variant(SCENARIO),)


def returns_a_verdict(*args: Any) -> Generator[Any, Any, Verdict]:
    yield ()
    return Verdict.PASS


def ends_the_process(*args: Any) -> Generator[Any, Any, Judgement]:
    yield (Variant(SCENARIO),)
    raise SystemExit(0)


def says(given: Judgement) -> Any:
    """An oracle that returns this, named by what is odd about it."""

    def check(*args: Any) -> Generator[Any, Any, Judgement]:
        yield ()
        return given

    check.__name__ = f"says {given.oracle} {given.verdict!r} {given.reason!r} {given.findings!r}"[:60]
    return check


FOUND = Finding(Fingerprint("t", "parent>child", "user.current", "child.request", "down"), "mine")
ODD: list[Any] = [
    Judgement("mine", Verdict.LEAK),
    Judgement("mine", Verdict.LOSS, (FOUND,)),
    Judgement("mine", Verdict.PASS, (FOUND,)),
    Judgement("canary", Verdict.LEAK, (FOUND,)),
    Judgement("mine", "NOPE"),  # type: ignore[arg-type]
    Judgement("mine", Verdict.LEAK, (FOUND,), reason=7),  # type: ignore[arg-type]
    Judgement("mine", Verdict.LEAK, ("sk-live",)),  # type: ignore[arg-type]
    Judgement("mine", masks=[1]),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(
    "check",
    [raises_at_once, raises_first, raises_later, returns_nothing, returns_a_verdict, ends_the_process]
    + [says(given) for given in ODD],
    ids=lambda check: check.__name__,
)
def test_a_broken_oracle_is_an_error_of_its_own_row(check: Any) -> None:
    """Never a pass, and its text is not shown."""
    judgement = driven(check)
    assert (judgement.oracle, judgement.verdict, judgement.findings) == ("mine", Verdict.ERROR, ())
    assert "the oracle mine" in judgement.reason
    assert "sk-live" not in judgement.reason


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.ERROR, Verdict.LEAK])
def test_a_sound_judgement_is_handed_on(verdict: Verdict) -> None:
    """What an oracle of somebody's own says with its findings stands."""
    sound = Judgement("mine", verdict, (FOUND,) if verdict is Verdict.LEAK else ())
    assert driven(says(sound)) is sound


@pytest.mark.parametrize(
    ("fails", "may_raise", "verdict"),
    [
        ((), False, Verdict.PASS),
        ((1,), False, Verdict.ERROR),
        ((1,), True, Verdict.PASS),
        ((0, 1), False, Verdict.PASS),  # the controls say that the case itself failed
    ],
)
def test_a_target_that_fails_in_a_changed_run_does_not_pass(
    fails: tuple[int, ...], may_raise: bool, verdict: Verdict
) -> None:
    """Also where the oracle says nothing of it: a crash for another secret was green."""

    def check(*args: Any) -> Generator[Any, Any, Judgement]:
        yield Variant(SCENARIO), Variant(SCENARIO, repeat=1)
        return Judgement.not_applicable("mine", "the target failed")

    def execute(variant: Variant) -> Trace:
        return Trace("c", error="the target raised" if variant.repeat in fails else "")

    judged = drive(replace(oracle(check), may_raise=may_raise), SCENARIO, DECLARATION, Policy(), execute)
    assert judged.verdict is verdict
    assert ("in a run that mine changed" in judged.reason) == (verdict is Verdict.ERROR)


def test_an_oracle_file_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is its author's to mend, and no fault of the kit."""
    monkeypatch.setitem(sys.modules, "isolation_kit.oracles.canary", None)
    with pytest.raises(UsageError, match=r"oracles/canary\.py cannot be imported"):
        all_oracles.__wrapped__()


def test_the_other_rows_of_the_case_stand() -> None:
    """A leak that another oracle saw is the verdict, whatever broke beside it."""
    leaky = declaration_of(tiny(brief=lambda task, history: f"{history} {task}"))
    others = tuple(item for item in all_oracles() if item.name in ("canary", "controls"))
    with Campaign(leaky, Plan()) as campaign:
        outcome, _ = campaign.judge(SCENARIO, 0, 0, (oracle(raises_later), *others))
    rows = {judgement.oracle: judgement.verdict for judgement in outcome.judgements}
    assert rows == {"mine": Verdict.ERROR, "canary": Verdict.LEAK, "controls": Verdict.PASS}
    assert outcome.verdict is Verdict.LEAK


def test_equal_variants_run_once() -> None:
    """The base is shared by all oracles; a repeat is a run of its own."""
    with Campaign(DECLARATION, Plan()) as campaign:
        cheap = tuple(item for item in all_oracles() if item.name in ("canary", "contract", "controls"))
        assert campaign.judge(SCENARIO, 0, 0, cheap)[0].executions == 1
        paired = tuple(item for item in all_oracles() if item.name in ("noninterference", "repeat"))
        assert campaign.judge(SCENARIO, 0, 0, cheap + paired)[0].executions == 4


def test_an_oracle_gets_its_traces_in_order() -> None:
    """And may ask again."""
    asked: list[int] = []

    def check(*args: Any) -> Generator[Any, Any, Judgement]:
        one, two = yield (Variant(SCENARIO, 1), Variant(SCENARIO, 2))
        (three,) = yield (Variant(SCENARIO, 3),)
        return Judgement("mine", reason=one.case + two.case + three.case)

    def execute(variant: Variant) -> Trace:
        asked.append(variant.repeat)
        return Trace(str(variant.repeat))

    assert drive(oracle(check), SCENARIO, DECLARATION, Policy(), execute).reason == "123"
    assert asked == [1, 2, 3]


@given(st.integers(0, 500), st.integers(0, 60))
def test_sampling_takes_the_first_and_each_nth(index: int, every: int) -> None:
    """0 means never, 1 means always, and an unknown profile means always."""
    item = replace(oracle(raises_first), every={"quick": every})
    assert item.samples("quick", index) == (every > 0 and index % every == 0)
    assert item.samples("unknown", index)


@given(st.lists(findings, max_size=5).map(tuple))
def test_the_verdict_is_that_of_the_findings_that_count(found: tuple[Finding, ...]) -> None:
    """LEAK before LOSS; exposure, weak and allowed ones decide nothing."""
    kinds = [finding.kind for finding in found if finding.counts]
    expected = next((kind for kind in (Verdict.LEAK, Verdict.LOSS) if kind in kinds), Verdict.PASS)
    assert verdict_of(found) is expected
