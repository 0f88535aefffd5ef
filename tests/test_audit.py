"""The audit: exactly n cases, the same findings every time, and every cut, gap or hang is shown."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import reduce as fold
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tiny_target import full_case, offer, tiny

from isolation_kit.audit import FAMILIES, Campaign, Plan, items
from isolation_kit.audit.item_run import ItemRun
from isolation_kit.content import Attack, load_attacks
from isolation_kit.errors import ConfigError
from isolation_kit.finding import Finding, Fingerprint, Judgement, Mode, Verdict
from isolation_kit.fingerprints import CaseOutcome, Tally
from isolation_kit.generate import FAMILIES as FAMILIES_BY_NAME
from isolation_kit.generate import SWEEP, Family
from isolation_kit.journal import Journal, read
from isolation_kit.mutants import all_mutants
from isolation_kit.oracles import all_oracles
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.scenario import Order, Scenario, Schedule
from isolation_kit.stage import ModelCall, Stage
from isolation_kit.target import Agent, Turn, Via, declaration_of, target
from isolation_kit.trace import Trace

FAMILY = "noise-injection"
LEAKY = tiny(brief=lambda task, history: "\n".join([*history, task]))
CLEAN = tiny()


@pytest.fixture(scope="module")
def attacks() -> tuple[Attack, ...]:
    """Every attack of the kit."""
    return load_attacks()


@pytest.fixture
def run(attacks: tuple[Attack, ...]) -> Callable[..., ItemOutcome]:
    """Runs one item on a target."""

    def one(factory: Any, family: str = FAMILY, journal: Journal | None = None, **plan: Any) -> ItemOutcome:
        settings = Plan(**{"attacks": attacks, "cases": 20, **plan})
        with Campaign(declaration_of(factory), settings, journal=journal) as campaign:
            return campaign.run(Item(1, "tiny", family))

    return one


Run = Callable[..., ItemOutcome]


def test_items_are_the_sweep_then_the_families() -> None:
    """Per target in order of the configuration, numbered through."""
    named = items(["one", "two"], FAMILIES)
    assert [item.order for item in named] == list(range(12))
    assert [item.name for item in named[:2]] == ["sweep[one]", f"{FAMILIES[0]}[one]"]
    assert {item.family for item in named[6:]} == {SWEEP, *FAMILIES}


@pytest.mark.parametrize("cases", [1, 49, 50, 51, 101])
def test_exactly_n_cases_run(cases: int, run: Run) -> None:
    """Not one more and not one less, over blocks of fifty."""
    outcome = run(CLEAN, cases=cases)
    assert (outcome.requested, outcome.tally.n, outcome.cut) == (cases, cases, "")
    assert sum(outcome.tally.block_sizes.values()) == cases


@pytest.mark.parametrize("family", FAMILIES)
def test_a_clean_target_passes_each_family(family: str, run: Run) -> None:
    """No structural finding; every case concluded."""
    outcome = run(CLEAN, family)
    assert dict(outcome.tally.verdicts) == {Verdict.PASS: 20}, outcome.tally.reasons
    assert [key for key in outcome.tally.hits if key[2] is Mode.STRUCTURAL] == []


@pytest.mark.parametrize("family", [SWEEP, *FAMILIES])
def test_its_leaky_twin_fails_each_family(family: str, run: Run) -> None:
    """The first finding comes early and the matcher's smallest case is one turn with one secret."""
    outcome = run(LEAKY, family)
    assert outcome.tally.verdicts[Verdict.LEAK] > 0
    smallest = [case for case in outcome.smallest if case.reduced and case.oracle == "canary"]
    assert min(case.size for case in smallest) == (1, 1, 1)
    assert min(hits.first_execution for hits in outcome.tally.hits.values()) <= 60


def test_the_same_seed_gives_the_same_bytes(run: Run) -> None:
    """Counters and smallest cases alike; another seed gives other cases."""
    one, two, other = run(LEAKY), run(LEAKY), run(LEAKY, seed=8)
    assert one.tally.to_json() == two.tally.to_json()
    assert [case.scenario.to_json() for case in one.smallest] == [
        case.scenario.to_json() for case in two.smallest
    ]
    first = {hits.first for hits in one.tally.hits.values()}
    assert first.isdisjoint({hits.first for hits in other.tally.hits.values()})


def without_executions(tally: Tally) -> str:
    """The counters, but for how many executions a worker had made until its first finding."""
    raw = json.loads(tally.to_json())
    for hit in raw["hits"]:
        del hit["first_execution"]
    return json.dumps(raw, sort_keys=True)


def test_shards_add_up_to_the_whole(run: Run) -> None:
    """Three workers run every third block; their sum is the run of one, cases and digests included."""
    whole = run(LEAKY, cases=130, profile="ci")
    parts = [run(LEAKY, cases=130, profile="ci", shard=(i, 3)) for i in (1, 2, 3)]
    assert [part.requested for part in parts] == [50, 50, 30]
    merged = fold(Tally.merge, (part.tally for part in reversed(parts)))
    assert without_executions(merged) == without_executions(whole.tally)


def test_the_deadline_is_shown_with_the_true_n(run: Run) -> None:
    """`--isolation-max-time` cuts between blocks; the sweep comes all the same."""
    outcome = run(LEAKY, deadline=time.monotonic() - 1)
    assert (outcome.requested, outcome.tally.n) == (20, 0)
    assert outcome.cut == "cut by --isolation-max-time"
    swept = run(LEAKY, SWEEP, deadline=time.monotonic() - 1)
    assert swept.tally.n == 4
    assert not any(case.reduced for case in swept.smallest)


def test_a_small_space_says_exhausted(
    run: Run, attacks: tuple[Attack, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four different cases are four, whatever was asked for."""
    family = Family("small", st.integers(0, 3), lambda attacks, declaration, n: full_case(attack=f"a{n}"))
    monkeypatch.setitem(FAMILIES_BY_NAME, "small", family)
    outcome = run(CLEAN, "small", cases=30, attacks=(replace(attacks[0], family="small"),))
    assert (outcome.requested, outcome.tally.n) == (30, 4)
    assert outcome.cut.startswith("exhausted")


@target(root="boss", agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()})
def hopeless(stage: Stage) -> Iterator[Any]:
    """A target that never gets anywhere."""
    raise ConnectionError("no server")
    yield


def test_a_hopeless_target_stops_early(run: Run) -> None:
    """Ten failures of ten are enough; the first error is kept."""
    outcome = run(hopeless, cases=200)
    assert outcome.tally.n == 10
    assert outcome.cut == "stopped: the first 10 cases all failed"
    assert dict(outcome.tally.verdicts) == {Verdict.ERROR: 10}
    assert outcome.error.startswith("the target raised ConnectionError in hopeless")
    assert outcome.error.endswith("): no server")
    assert outcome.failed is not None


def test_a_target_that_fails_now_and_then_is_run_to_the_end(run: Run) -> None:
    """Errors are counted beside what the other cases found."""
    calls: list[int] = []

    def shaky(task: str, history: list[str]) -> str:
        calls.append(1)
        if len(calls) % 3 == 0:
            raise ConnectionError("busy")
        return task

    outcome = run(tiny(brief=shaky), cases=20)
    assert outcome.tally.n == 20
    assert outcome.tally.verdicts[Verdict.ERROR] > 0
    assert outcome.tally.verdicts[Verdict.PASS] > 0


@target(root="boss", agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()})
def hanging(stage: Stage) -> Iterator[Any]:
    """A target that never answers."""

    def say(turn: Turn) -> str:
        time.sleep(1.5)
        return "late"

    yield say


@pytest.mark.parametrize("family", [SWEEP, FAMILY])
def test_a_hanging_target_is_reported_as_not_run(family: str, run: Run) -> None:
    """One ERROR, and no further case waits for its time limit."""
    started = time.monotonic()
    outcome = run(hanging, family, cases=60, case_timeout=0.3)
    assert time.monotonic() - started < 3
    assert dict(outcome.tally.verdicts) == {Verdict.ERROR: 1}
    assert "still running after 0.3 s" in outcome.error
    if family == FAMILY:
        assert outcome.cut == "not run: the target hung"


@pytest.mark.parametrize(
    ("family", "known", "text"),
    [("nonsense", True, "has no generator"), (FAMILY, False, "has no attacks")],
    ids=["unknown", "without-attacks"],
)
def test_a_family_that_cannot_run_is_a_configuration_error(
    family: str, known: bool, text: str, run: Run, attacks: tuple[Attack, ...]
) -> None:
    """Never a pass over nothing."""
    with pytest.raises(ConfigError, match=text):
        run(CLEAN, family, attacks=attacks if known else ())


@target(
    root="boss",
    agents={"boss": Agent({"kid": Via("task"), "ghost": Via("haunt")}), "kid": Agent(), "ghost": Agent()},
    taps=("store",),
)
async def half_reached(stage: Stage) -> AsyncIterator[Any]:
    """A parent that offers the way to one of its two children, and records no store."""

    async def say(turn: Turn) -> str:
        asked: list[dict[str, Any]] = [{"role": "user", "content": turn.text}]
        answer = await stage.model("boss").reply(ModelCall("boss", tuple(asked), (offer("task", "task"),)))
        for call in answer.calls:
            brief = ({"role": "user", "content": call.arguments["task"]},)
            up = await stage.model("kid").reply(ModelCall("kid", brief))
            asked.append({"role": "tool", "content": up.text.splitlines()[-1]})
            await stage.model("boss").reply(ModelCall("boss", tuple(asked)))
        return "done"

    yield say


def test_what_the_sweep_did_not_reach_or_tap_is_listed(run: Run) -> None:
    """A child without a case is named with the way out, a silent tap too."""
    outcome = run(half_reached, SWEEP)
    ((child, reason),) = outcome.unreached
    assert child == "ghost"
    assert "[[untested]]" in reason
    assert outcome.not_tapped == ("store",)
    assert outcome.tally.verdicts[Verdict.INCONCLUSIVE] > 0


def test_a_child_declared_untested_is_not_listed_again(run: Run) -> None:
    """The declaration carries its own reason."""
    assert run(half_reached, SWEEP, untested={"ghost": "next year"}).unreached == ()


def test_a_target_that_stays_up_is_audited_without_paired_runs(run: Run) -> None:
    """Clean: passes. The oracles that need a rebuild say why they do not apply."""
    outcome = run(tiny(scope="campaign"), cases=30)
    assert dict(outcome.tally.verdicts) == {Verdict.PASS: 30}, outcome.tally.reasons
    status = {
        oracle: kind for oracle, kind in outcome.tally.oracles if oracle in ("repeat", "noninterference")
    }
    assert set(status.values()) == {"not applicable"}


def remembering(scope: str) -> Any:
    """A target whose memory of tasks outlives its cases; each call makes a new memory."""
    seen: list[str] = []

    def remember(task: str, history: list[str]) -> str:
        seen.append(task)
        return "\n".join(seen[-2:])

    return tiny(brief=remember, scope=scope)


@pytest.mark.parametrize("scope", ["case", "campaign"])
def test_residue_is_stored_with_what_left_it_and_replays_alone(run: Run, scope: str) -> None:
    """A memory that outlives the case is *after*: the case that wrote goes before the one that reads."""
    residue = [
        case for case in run(remembering(scope), cases=4).smallest if case.fingerprint.direction == "after"
    ]
    assert {case.fingerprint.what for case in residue} >= {"task.input"}
    smallest = next(case for case in residue if case.fingerprint.what == "task.input")
    assert smallest.reduced
    assert (smallest.scenario.lead, len(smallest.scenario.turns)) == (1, 2)
    stored = Scenario.from_json(smallest.scenario.to_json())
    for factory, leaks in ((remembering(scope), True), (CLEAN, False)):
        with Campaign(declaration_of(factory), Plan()) as campaign:
            again = campaign.replay(stored)
        assert (smallest.fingerprint in {finding.fingerprint for finding in again.findings}) is leaks
        assert leaks or again.verdict is Verdict.PASS


def test_residue_that_no_session_leaves_keeps_its_first_case(run: Run) -> None:
    """What only a tear-down hands on cannot be put into one case: nothing is made up, nor called reduced."""
    left: list[str] = []

    @target(root="boss", agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()})
    async def heir(stage: Stage) -> AsyncIterator[Any]:
        heard: list[str] = []

        async def say(turn: Turn) -> str:
            heard.append(turn.text)
            messages = ({"role": "user", "content": " ".join([*left, "work"])},)
            await stage.model("boss").reply(ModelCall("boss", ({"role": "user", "content": turn.text},)))
            return (await stage.model("kid").reply(ModelCall("kid", messages))).text or "ok"

        yield say
        left[:] = heard

    residue = [case for case in run(heir, cases=4).smallest if case.fingerprint.direction == "after"]
    assert residue
    assert not any(case.reduced or case.scenario.lead for case in residue)


def test_a_token_in_clear_is_kept_before_a_count(attacks: tuple[Attack, ...]) -> None:
    """Of one leak the case with the token is told, though a comparison found it first, and kept as such."""
    print_ = Fingerprint("tiny", "boss>kid", "user.earlier", "child.request", "down")
    compared = Finding(print_, "conservation", form="length or shape")
    plain, hashed = Finding(print_, "canary"), Finding(print_, "canary", form="base64")
    shown: list[Finding] = []

    def judge(scenario: Scenario, block: int, index: int, oracles: Any) -> tuple[CaseOutcome, Trace]:
        judgement = Judgement("canary", Verdict.LEAK, tuple(shown))
        return CaseOutcome(block, index, scenario.digest(), Mode.STRUCTURAL, (judgement,)), Trace("c")

    with Campaign(declaration_of(CLEAN), Plan(attacks=attacks)) as campaign:
        campaign.judge = judge  # type: ignore[method-assign]
        item = ItemRun(campaign, Item(1, "tiny", FAMILY))
        for number, finding in enumerate((compared, plain, compared)):
            shown[:] = [finding]
            item.case(full_case(seed=number), 0, ())
        (key,) = item.found.first
        assert item.found.first[key] == (full_case(seed=1), "canary")
        (canary,) = (oracle for oracle in all_oracles() if oracle.name == "canary")
        still_leaks = item.found._witness(key, canary, 1000)
        assert still_leaks(full_case()) is False
        shown[:] = [hashed]
        assert still_leaks(full_case()) is False
        shown[:] = [hashed, plain]
        assert still_leaks(full_case()) is True


def test_findings_are_on_disk_case_by_case(run: Run, tmp_path: Path) -> None:
    """The journal holds as many cases as the counters say."""
    with Journal(tmp_path / "journal.jsonl") as journal:
        outcome = run(LEAKY, journal=journal)
    entries = read(tmp_path / "journal.jsonl").entries
    most = max(hits.count for hits in outcome.tally.hits.values())
    assert len([entry for entry in entries if entry.findings]) >= most > 0
    assert {entry.item for entry in entries} == {f"{FAMILY}[tiny]"}


def test_a_smallest_case_replays_red_and_its_clean_twin_green(run: Run) -> None:
    """The stored case is all that a replay needs."""
    smallest = next(case for case in run(LEAKY).smallest if case.reduced)
    stored = Scenario.from_json(smallest.scenario.to_json())
    with Campaign(declaration_of(LEAKY), Plan()) as campaign:
        again = campaign.replay(stored)
    assert smallest.fingerprint in {finding.fingerprint for finding in again.findings}
    with Campaign(declaration_of(CLEAN), Plan()) as campaign:
        assert campaign.replay(stored).verdict is Verdict.PASS


def test_a_leak_is_reduced_within_its_budget(run: Run) -> None:
    """At most twenty causes, at most 500 executions each; the rest keep their first case."""
    outcome = run(LEAKY, cases=30)
    reduced = [case for case in outcome.smallest if case.reduced]
    assert 0 < len(reduced) <= 20
    assert all(case.executions <= 500 for case in reduced)
    assert all(case.executions == 0 for case in outcome.smallest if not case.reduced)
    assert all(case.conversation for case in outcome.smallest)


def test_a_case_is_the_same_whichever_shard_runs_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block, number and digest of every case: the union over the shards is the whole run."""
    seen: set[tuple[int, int, str]] = set()
    original = Campaign.judge

    def judge(campaign: Campaign, scenario: Scenario, block: int, index: int, *rest: Any) -> Any:
        seen.add((block, index, scenario.digest()))
        return original(campaign, scenario, block, index, *rest)

    monkeypatch.setattr(Campaign, "judge", judge)
    run(CLEAN, cases=110)
    whole = set(seen)
    seen.clear()
    for number in (1, 2):
        run(CLEAN, cases=110, shard=(number, 2))
    assert len(whole) == 110
    assert seen == whole


def test_no_two_cases_share_a_token(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case gets a seed of its own, so that residue is told from a plant."""
    seeds: list[int] = []

    original = Campaign.judge

    def judge(campaign: Campaign, scenario: Scenario, *rest: Any) -> Any:
        seeds.append(scenario.seed)
        return original(campaign, scenario, *rest)

    monkeypatch.setattr(Campaign, "judge", judge)
    run(CLEAN, cases=60)
    assert len(seeds) == len(set(seeds)) == 60


def test_a_stored_case_with_a_schedule_replays_and_journals(tmp_path: Path) -> None:
    """The schedule stands in the journal; oracles that cannot keep it say so, and the leak is the same."""
    mutant = next(item for item in all_mutants() if item.number == 31)
    case = mutant.smallest.scheduled(Schedule(Order.ROUND_ROBIN))
    with Campaign(declaration_of(mutant.target), Plan()) as campaign:
        outcome = campaign.replay(Scenario.from_json(case.to_json()))
        assert any(mutant.shown_by(finding) for finding in outcome.findings)
        silent = campaign.replay(mutant.smallest.scheduled(Schedule(Order.SEQUENTIAL)))
    assert silent.findings == ()
    with Journal(tmp_path / "j.jsonl") as journal:
        journal.case("f[t]", 0, 0, case, outcome.findings)
    (entry,) = read(tmp_path / "j.jsonl").entries
    assert entry.scenario == case
