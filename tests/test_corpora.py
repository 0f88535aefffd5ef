"""Real texts as carriers: public tool results pass a clean runtime and are caught in a leaky one.

The scan of whole corpora for false alarms is in tests/detect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.audit import Campaign, Plan
from isolation_kit.finding import Judgement, Verdict
from isolation_kit.fingerprints import CaseOutcome
from isolation_kit.mutants import m01_full_history, m10_tool_reply_whole
from isolation_kit.scenario import Answer, Delegate, Place, Scenario, TurnPlan, UseTool
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference import reference_task

NOISE = Place("child.tool.noise").placeholder
SECRET = Place("user.current").placeholder
TASK = Place("task.input").placeholder
Judge = Callable[..., Judgement]


def airline(corpora: Path) -> Iterator[tuple[str, str]]:
    """(role, content) of the messages of tau-bench's airline runs."""
    path = next(iter(sorted((corpora / "tau-bench").glob("*airline*.json"))), None)
    if path is None:
        pytest.skip(
            "the corpus tau-bench is not there; set ISOLATION_KIT_CORPORA to the folder that holds it"
        )
    for run in json.loads(path.read_text(encoding="utf-8")):
        for message in run["traj"]:
            if isinstance(message.get("content"), str):
                yield message["role"], message["content"]


def fixtures(corpora: Path) -> Mapping[str, Any]:
    """Stripe's public API fixtures by resource."""
    path = corpora / "stripe" / "openapi" / "fixtures3.json"
    if not path.is_file():
        pytest.skip("the corpus stripe is not there; set ISOLATION_KIT_CORPORA to the folder that holds it")
    resources: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["resources"]
    return resources


def planted(reply: str) -> str | None:
    """A reply with a canary before its fields (a long one is cut at the end); None for what is no object."""
    try:
        value = json.loads(reply)
    except ValueError:
        return None
    if not isinstance(value, dict) or "{{canary:" in reply:
        return None
    return json.dumps({"request_id": NOISE, **value}, ensure_ascii=False)


def case(number: int, user: str, reply: str) -> Scenario:
    """A user's text, one delegation, one tool reply of the real world."""
    acts = (UseTool(0, "look it up", reply), Answer("found it"))
    turn = TurnPlan(0, f"{user} {SECRET}", (Delegate(0, f"Look up {TASK}", acts), Answer("done")))
    return Scenario("corpora", "carrier", number, (turn,))


def outcomes(factory: Any, scenarios: list[Scenario]) -> list[CaseOutcome]:
    """The scenarios judged on one target: the first by every oracle, the others at the rates of `quick`."""
    plan = Plan()
    with Campaign(declaration_of(factory), plan) as campaign:
        return [campaign.judge(item, 0, n, plan.judges(n))[0] for n, item in enumerate(scenarios)]


def found(outcome: CaseOutcome) -> set[tuple[str, str]]:
    """(slot, channel) of what decides, field names left out."""
    prints = [finding.fingerprint for finding in outcome.findings if finding.counts]
    return {(item.what, item.channel) for item in prints if not item.what.startswith("field.")}


@pytest.fixture(scope="module")
def stripe(corpora: Path) -> list[Scenario]:
    """Forty fixtures as tool replies, each with a canary beside its fields."""
    resources = fixtures(corpora)
    replies = [planted(json.dumps(resources[name])) for name in sorted(resources)]
    return [case(n, "hello", reply) for n, reply in enumerate(islice(filter(None, replies), 40))]


@pytest.fixture(scope="module")
def dialogues(corpora: Path) -> list[Scenario]:
    """Forty tool results of an airline, with what its customers wrote as user texts."""
    messages = list(airline(corpora))
    texts = [text for role, text in messages if role == "user" and "{{" not in text]
    replies = [planted(text) for role, text in messages if role == "tool"]
    pairs = zip(texts, filter(None, replies), strict=False)
    return [case(n, text, reply) for n, (text, reply) in enumerate(islice(pairs, 40))]


@pytest.mark.parametrize("name", ["stripe", "dialogues"])
def test_real_texts_pass_the_clean_runtime(name: str, request: pytest.FixtureRequest) -> None:
    """No finding at all, and every case concluded: real noise is no false alarm."""
    scenarios = request.getfixturevalue(name)
    assert len(scenarios) == 40
    judged = outcomes(reference_task, scenarios)
    assert {outcome.verdict for outcome in judged} == {Verdict.PASS}
    assert [outcome.findings for outcome in judged if outcome.findings] == []


@pytest.mark.parametrize("name", ["stripe", "dialogues"])
def test_real_tool_replies_leak_where_they_pass_whole(name: str, request: pytest.FixtureRequest) -> None:
    """Each of the forty shows its canary at the child's model, named with its tool."""
    for outcome in outcomes(m10_tool_reply_whole, request.getfixturevalue(name)):
        assert ("child.tool.noise", "child.request") in found(outcome)
        tools = {f.source_tool for f in outcome.findings if f.fingerprint.what == "child.tool.noise"}
        assert tools == {"lookup"}


def test_real_user_texts_leak_with_the_whole_history(dialogues: list[Scenario]) -> None:
    """What a customer typed reaches the child where the history goes along."""
    for outcome in outcomes(m01_full_history, dialogues):
        assert ("user.current", "child.request") in found(outcome)
