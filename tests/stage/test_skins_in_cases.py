"""Canaries in skins: a case names them, what leaks is found and judged as before, and no text is shown."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tiny_target import full_turn, tiny

from isolation_kit.audit import Campaign, Plan
from isolation_kit.canary import Mint, Skin
from isolation_kit.content import load_attacks
from isolation_kit.detect import Pool
from isolation_kit.detect.registry import register
from isolation_kit.errors import UsageError
from isolation_kit.finding import Verdict
from isolation_kit.fingerprints import CaseOutcome
from isolation_kit.generate import dressed
from isolation_kit.oracles.names import shown_name
from isolation_kit.outcome import Item
from isolation_kit.report.clean import Scrub
from isolation_kit.scenario import Place, Scenario
from isolation_kit.stage import Ledger
from isolation_kit.stage.names import plain_name
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference import reference_rules, reference_task
from isolation_kit.trace import Planted

CASE = Scenario("f", "a", 1, (full_turn(), full_turn(turn=1)))
CLEAN = tiny()
LEAKY = tiny(brief=lambda task, history: f"{task} {history[0]}", reply=lambda raw: raw)
EACH = pytest.mark.parametrize("skin", Skin)
WORN = pytest.mark.parametrize("skin", [skin for skin in Skin if skin is not Skin.OPAQUE])


def in_skin(skin: Skin) -> Scenario:
    """The case with all its canaries in one skin."""
    return CASE.with_skins({place.slot: skin for place in CASE.places()})


def judged(system: object, scenario: Scenario) -> CaseOutcome:
    """The case under every oracle."""
    with Campaign(declaration_of(system), Plan(seed=7)) as campaign:  # type: ignore[arg-type]
        return campaign.replay(scenario)


@pytest.fixture(scope="module")
def bare() -> CaseOutcome:
    """What the leaky system is found to do with bare tokens."""
    outcome = judged(LEAKY, CASE)
    assert outcome.findings
    return outcome


@WORN
def test_a_leak_is_the_same_leak_in_every_skin(skin: Skin, bare: CaseOutcome) -> None:
    """The leaky twin has the fingerprints that it has with bare tokens, the clean one has none."""
    leaky = judged(LEAKY, in_skin(skin))
    assert {item.fingerprint for item in leaky.findings} == {item.fingerprint for item in bare.findings}
    assert judged(CLEAN, in_skin(skin)).verdict is Verdict.PASS


@WORN
def test_an_outcome_shows_no_text_of_a_skin(skin: Skin) -> None:
    """Neither in findings nor in reasons, and a stored case names the skin only."""
    scenario = in_skin(skin)
    outcome, mint = judged(LEAKY, scenario), Mint(7)
    told = repr(outcome) + scenario.to_json()
    for place in scenario.places():
        canary = mint.mint(scenario.digest(), place, skin=skin)
        assert all(text not in told for text in (canary.token, canary.text))


def test_a_case_keeps_its_skins() -> None:
    """Round trip; without any a case is what it was before there were skins; an unknown one is refused."""
    scenario = in_skin(Skin.UUID)
    assert Scenario.from_json(scenario.to_json()) == scenario
    assert scenario.skin_of("user.current") == "uuid"
    assert "skins" not in CASE.to_json()
    assert replace(scenario, skins=()) == CASE == Scenario.from_json(CASE.to_json())
    with pytest.raises(UsageError, match="unknown skin"):
        Ledger(7).issue(CASE.with_skins({"user.current": "hat"}), "case", Place("user.current"))


@EACH
def test_no_name_and_no_report_shows_a_text(skin: Skin) -> None:
    """Names of tools and fields, and any line of a report, whatever stands around the text."""
    canary = Mint(7).mint("case", Place("user.current"), skin=skin)
    pool = Pool(Mint(7).prefix)
    register(pool, Mint(7).marks, canary)
    planted = Planted(0, canary.place, canary.token, worn=canary.dressed)
    squashed = "".join(char for char in canary.text if char.isalnum())
    assert canary.text not in Scrub(7)(f"the tool {canary.text} said it", 400)
    for name in (canary.text, f"get_{canary.text}", squashed):
        assert plain_name(name, pool).startswith("#")
        assert shown_name(name, planted.spellings).startswith("#")
    assert plain_name("get_order_2024", pool) == "get_order_2024"
    assert shown_name("get_order", planted.spellings) == "get_order"


def test_the_spellings_of_a_text_are_those_of_json() -> None:
    """What compares traces replaces a name as it stands and as JSON in JSON writes it."""
    canary = Mint(7).mint("case", Place("user.current"), skin=Skin.PERSON)
    planted = Planted(0, canary.place, canary.token, worn=canary.dressed)
    once = json.dumps({"name": canary.text})
    for text in (canary.text, once, json.dumps(once)):
        assert any(spelling in text for spelling in planted.spellings[1:])
    assert canary.text not in repr(planted)


def found(system: object, *skins: str) -> bool:
    """Whether generated cases show a leak; bare tokens are among them in any case."""
    declaration = declaration_of(system)  # type: ignore[arg-type]
    plan = Plan(cases=12, attacks=load_attacks(), skins=skins, oracles=frozenset({"canary"}), reduce=False)
    with Campaign(declaration, plan) as campaign:
        outcome = campaign.run(Item(1, declaration.name, "cross-user"))
    assert outcome.tally.n == 12
    return Verdict.LEAK in outcome.tally.verdicts


def test_generated_cases_wear_skins_in_turn() -> None:
    """A brief that brings every address that was ever told leaks only where canaries look like one."""
    addresses = tiny(
        brief=lambda task, history: " ".join(
            [task, *(w for line in history for w in line.split() if "@" in w)]
        )
    )
    assert not found(addresses)
    assert found(addresses, "phone", "email")
    assert not found(CLEAN, "phone", "email")


def test_a_way_to_a_child_keeps_its_shape() -> None:
    """Where ids trigger a child, its input stays an id; without skins a case is as it was."""
    plain = (CASE.with_skins({}), *(dressed(CASE, (), declaration_of(reference_rules), n) for n in (0, 7)))
    assert set(plain) == {CASE}
    task, rules = (dressed(CASE, ("uuid",), declaration_of(f), 0) for f in (reference_task, reference_rules))
    assert (task.skin_of("task.input"), rules.skin_of("task.input")) == ("uuid", "opaque")
    assert rules.skin_of("user.current") == "uuid"
    assert dressed(CASE, ("uuid",), declaration_of(reference_task), 1) == CASE
