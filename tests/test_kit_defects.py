"""Defects of the kit itself: each is noticed by a control or a check, which is silent on the sound kit.

What must never happen is that a broken kit calls a leaky system clean. The checks are what a CI runs, in
small: a clean target, two seeded defects, the sweep, the journal, and the count of cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_target import full_case, tiny

from isolation_kit.audit import Campaign, Plan
from isolation_kit.canary import Canary, Mint
from isolation_kit.content import load_attacks
from isolation_kit.detect.work import Work
from isolation_kit.finding import Finding, Verdict
from isolation_kit.journal import Journal, read
from isolation_kit.mutants import all_mutants
from isolation_kit.oracles import Oracle, all_oracles, drive
from isolation_kit.oracles import views as views_module
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.policy import Allow, Policy
from isolation_kit.report import RunBlock, Timing, build
from isolation_kit.scenario import Place, Scenario
from isolation_kit.stage import Ledger, ModelReply, Runner
from isolation_kit.stage.logs import LogTap
from isolation_kit.stage.puppet import Puppet
from isolation_kit.stage.recorder import Recorder
from isolation_kit.target import declaration_of
from isolation_kit.trace import Event

ATTACKS = load_attacks()
POLICY = Policy((Allow("task.input", "log", "kid", reason="a test", owner="a test"),))


def judged(factory: Any, case: Scenario, *names: str) -> dict[str, tuple[Verdict, tuple[Finding, ...], str]]:
    """Verdict, findings and reason of some oracles on one case."""
    runner = Runner(declaration_of(factory), Ledger(11))
    try:
        rows = {}
        for oracle in all_oracles():
            if oracle.name in names:
                row = drive(
                    oracle,
                    case,
                    declaration_of(factory),
                    POLICY,
                    lambda variant: runner.execute(variant.scenario, case.base_digest()),
                )
                rows[oracle.name] = (row.verdict, row.findings, row.reason)
        return rows
    finally:
        runner.close()


def clean_case() -> Iterator[str]:
    """A clean target on a case with every slot: all pass."""
    for name, (verdict, _, reason) in judged(
        tiny(), full_case(), "canary", "contract", "controls", "noninterference"
    ).items():
        if verdict is not Verdict.PASS:
            yield f"{name}: {verdict} {reason}"


def seeded_defects() -> Iterator[str]:
    """A leak that a matcher sees and one that only paired runs see are killed."""
    for mutant in all_mutants():
        if mutant.name in ("m01_full_history", "m21_history_hash"):
            _, findings, _ = judged(mutant.target, mutant.smallest, mutant.oracle)[mutant.oracle]
            if not any(mutant.shown_by(finding) for finding in findings):
                yield f"{mutant.name} survived"


def sweep_of_a_clean_target() -> Iterator[str]:
    """Nothing blind, no error, every case a pass."""
    with Campaign(declaration_of(tiny()), Plan(oracles=frozenset({"canary", "controls"}))) as campaign:
        outcome = campaign.run(Item(0, "system", "sweep"))
    yield from (f"not tapped: {tap}" for tap in outcome.not_tapped)
    if outcome.error:
        yield outcome.error


def findings_on_disk(folder: Path) -> Iterator[str]:
    """A finding is in the file while the run goes on."""
    leaky = tiny(brief=lambda task, history: f"{history[-1]} {task}")
    declaration = declaration_of(leaky)
    path = folder / "log.jsonl"
    with Journal(path) as journal:
        campaign = Campaign(declaration, Plan(oracles=frozenset({"canary"})), journal=journal)
        with campaign:
            campaign.run(Item(0, "system", "sweep"))
            if not read(path).entries:
                yield "nothing is on disk before the end"


def an_oracle_that_raises() -> Iterator[str]:
    """It is an error of its own row."""

    def fails(*args: Any) -> Any:
        raise ZeroDivisionError

    oracle = Oracle("mine", "a claim", fails, {}, "a test")
    with Campaign(declaration_of(tiny()), Plan()) as campaign:
        outcome, _ = campaign.judge(full_case(), 0, 0, [oracle])
    if outcome.verdict is not Verdict.ERROR:
        yield f"an oracle that raises: {outcome.verdict}"


def all_cases_are_there(outcome: ItemOutcome) -> Iterator[str]:
    """As many cases as were asked for, or a reason."""
    report = build(
        (outcome,),
        run=RunBlock(seed=7),
        policy=Policy(),
        classes=(),
        declarations={"system": declaration_of(tiny())},
        timing=Timing(),
    )
    if report["verdict"] != Verdict.PASS:
        yield str(report["items"][0]["reasons"])


def two_workers(lose: bool) -> ItemOutcome:
    """One item, half of its blocks by each of two workers; the second one's counters get lost or not."""
    tallies = []
    for shard in ((1, 2), (2, 2)):
        plan = Plan(cases=100, oracles=frozenset({"controls"}), attacks=ATTACKS, shard=shard)
        with Campaign(declaration_of(tiny()), plan) as campaign:
            tallies.append(campaign.run(Item(1, "system", "cross-user")))
    one, two = tallies
    merged = one.tally if lose else one.tally.merge(two.tally)
    return replace(one, tally=merged, requested=100)


# -- the defects -------------------------------------------------------------------------------------------


def tap_detached(patch: pytest.MonkeyPatch) -> None:
    """The log handler hears nothing."""
    patch.setattr(LogTap, "emit", lambda self, record: None)


def queue_is_full(patch: pytest.MonkeyPatch) -> None:
    """Only so many events are kept."""

    class Short(list[Event]):
        def append(self, event: Event) -> None:
            if len(self) < 4:
                super().append(event)

    made = Recorder.__init__

    def short(self: Recorder, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        self.events = Short()

    patch.setattr(Recorder, "__init__", short)


def decoder_disabled(patch: pytest.MonkeyPatch) -> None:
    """Escapes are not undone any more."""
    patch.setattr(Work, "unescape", lambda self, *args: None)


def allow_table_wildcard(patch: pytest.MonkeyPatch) -> None:
    """One entry opens everything."""
    patch.setattr(Allow, "covers", lambda self, *args: True)


def mask_too_broad(patch: pytest.MonkeyPatch) -> None:
    """Every value of a View is masked."""
    right = views_module._seen
    patch.setattr(views_module, "_seen", lambda *args: right(*args)._replace(data=b"<masked>"))


def puppet_echoes(patch: pytest.MonkeyPatch) -> None:
    """A quiet puppet copies its prompt."""
    right = Puppet.reply

    def echo(self: Puppet, call: Any, *args: Any) -> tuple[ModelReply, bool]:
        reply, done = right(self, call, *args)
        said = " ".join(str(message.get("content")) for message in call.messages)
        return replace(reply, text=f"{reply.text} {said}"), done

    patch.setattr(Puppet, "reply", echo)


def lengths_only(patch: pytest.MonkeyPatch) -> None:
    """Views are compared by their lengths."""
    right = views_module._seen

    def measured(*args: Any) -> views_module.Seen:
        seen = right(*args)
        return seen._replace(data=b"%d" % len(seen.data))

    patch.setattr(views_module, "_seen", measured)


def written_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """The journal keeps its lines until it is closed."""
    right, closed, lines = Journal._append, Journal.close, list[Any]()

    def close(self: Journal) -> None:
        for line in lines:
            right(self, line)
        lines.clear()
        closed(self)

    patch.setattr(Journal, "_append", lambda self, record: lines.append(record))
    patch.setattr(Journal, "close", close)


def constant_canary(patch: pytest.MonkeyPatch) -> None:
    """Every place gets the same token."""
    right = Mint.mint
    patch.setattr(
        Mint, "mint", lambda self, case, place, variant=0, *skin: right(self, case, Place("x.one"), 0, *skin)
    )


def same_secret_twice(patch: pytest.MonkeyPatch) -> None:
    """A variant plants what the base planted."""
    right: Callable[..., Canary] = Mint.mint
    patch.setattr(
        Mint, "mint", lambda self, case, place, variant=0, *skin: right(self, case, place, 0, *skin)
    )


def exception_swallowed(patch: pytest.MonkeyPatch) -> None:
    """An oracle that raises counts as a pass."""
    from isolation_kit.audit import campaign
    from isolation_kit.finding import Judgement

    def swallowing(oracle: Oracle, *args: Any) -> Judgement:
        try:
            return next(oracle.check(*args[:3])) and Judgement(oracle.name)
        except Exception:
            return Judgement(oracle.name)

    patch.setattr(campaign, "drive", swallowing)


CHECKS: dict[str, Callable[[], Iterator[str]]] = {
    "clean": clean_case,
    "defects": seeded_defects,
    "sweep": sweep_of_a_clean_target,
    "raising": an_oracle_that_raises,
}
DEFECTS: Sequence[tuple[Callable[[pytest.MonkeyPatch], None], str, str]] = (
    (tap_detached, "sweep", "not tapped: log"),
    (queue_is_full, "clean", "controls: "),
    (decoder_disabled, "sweep", "the detector does not find its own probe as full width"),
    (allow_table_wildcard, "defects", "m01_full_history survived"),
    (mask_too_broad, "defects", "m21_history_hash survived"),
    (puppet_echoes, "clean", "canary: LEAK"),
    (lengths_only, "defects", "m21_history_hash survived"),
    (constant_canary, "clean", "share one canary"),
    (
        same_secret_twice,
        "clean",
        "noninterference: INCONCLUSIVE both runs of a pair planted the same secrets",
    ),
    (exception_swallowed, "raising", "an oracle that raises: PASS"),
)


@pytest.mark.parametrize(
    ("defect", "check", "words"), DEFECTS, ids=[defect.__name__ for defect, _, _ in DEFECTS]
)
def test_a_defect_of_the_kit_turns_a_check_red(
    defect: Callable[[pytest.MonkeyPatch], None], check: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what is wrong, and never that the target is clean."""
    defect(monkeypatch)
    told = list(CHECKS[check]())
    assert any(words in line for line in told), told


@pytest.mark.parametrize("check", CHECKS)
def test_the_sound_kit_is_green(check: str) -> None:
    """The same checks say nothing."""
    assert list(CHECKS[check]()) == []


def test_findings_written_at_the_end_are_missed_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed run would have lost them."""
    assert list(findings_on_disk(tmp_path / "sound")) == []
    written_at_the_end(monkeypatch)
    assert list(findings_on_disk(tmp_path / "late")) == ["nothing is on disk before the end"]


def test_a_lost_worker_is_missed_by_its_cases() -> None:
    """The report counts what was asked for."""
    assert list(all_cases_are_there(two_workers(lose=False))) == []
    (told,) = all_cases_are_there(two_workers(lose=True))
    assert "50 of 100 cases are missing" in told
