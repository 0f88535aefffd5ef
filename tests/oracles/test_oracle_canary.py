"""The canary oracle: each leak of the tiny system is caught where it happens, the clean twin is silent."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from tiny_target import Factory, at, declared, full_case, full_turn, offer, tiny, two_users

from isolation_kit.finding import Finding, Judgement, Mode, Verdict
from isolation_kit.oracles import Variant, all_oracles, drive
from isolation_kit.policy import Allow, Policy
from isolation_kit.scenario import Delegate, Scenario, Temperament, TurnPlan
from isolation_kit.stage import ModelCall, Stage
from isolation_kit.target import Agent, Turn, Via, declaration_of, target

Judge = Callable[..., Judgement]
CLEAN = tiny()


def prints(judgement: Judgement) -> set[tuple[str, str, str]]:
    """(slot, channel, direction) of all findings."""
    found = [finding.fingerprint for finding in judgement.findings]
    return {(f.what, f.channel, f.direction) for f in found}


def whole_dialogue(task: str, history: list[str]) -> str:
    """The classic: everything the user ever said goes with the task."""
    return "\n".join([*history, task])


LEAKS: dict[str, tuple[Factory, tuple[str, str, str]]] = {
    "history": (tiny(brief=whole_dialogue), ("user.current", "child.request", "down")),
    "context": (tiny(brief=whole_dialogue), ("user.current", "child.context", "down")),
    "headers": (tiny(headers=lambda h: {"X-User-Said": h[-1]}), ("user.current", "child.headers", "down")),
    "tools": (tiny(tools=lambda h: f"find_{h[-1]}"), ("user.current", "child.tools", "down")),
    "noise": (tiny(reply=lambda raw: raw), ("child.tool.noise", "child.request", "down")),
    "scratch": (
        tiny(result=lambda answer, work: {"answer": f"{work}{answer}"}),
        ("child.tool.args", "result", "up"),
    ),
    "upward": (
        tiny(result=lambda answer, work: {"answer": f"{work}{answer}"}),
        ("child.tool.result", "parent.request", "up"),
    ),
}


@pytest.mark.parametrize(("factory", "expected"), LEAKS.values(), ids=LEAKS)
def test_a_leak_is_caught_where_it_happens(
    factory: Factory, expected: tuple[str, str, str], judge: Judge
) -> None:
    """Slot, channel and direction are those of the seam that was broken."""
    judgement = judge("canary", factory, full_case())
    assert judgement.verdict is Verdict.LEAK
    assert expected in prints(judgement)
    assert {finding.fingerprint.edge for finding in judgement.findings} == {"boss>kid"}
    named = {f.path for f in judgement.findings if f.fingerprint.channel == "child.headers"}
    assert named == ({"x-user-said"} if expected[1] == "child.headers" else set())


@pytest.mark.parametrize(
    "scenario", [full_case(), two_users(), two_users(concurrent=True)], ids=["1", "2", "at-once"]
)
def test_the_clean_twin_passes(scenario: Scenario, judge: Judge) -> None:
    """With every slot planted nothing is found, one user or two, in turn or at once."""
    judgement = judge("canary", CLEAN, scenario)
    assert (judgement.verdict, judgement.findings) == (Verdict.PASS, ())


def test_an_encoded_token_is_found(judge: Judge) -> None:
    """Base64 of the history is the history."""
    hidden = tiny(brief=lambda task, history: f"{task} {b64encode(history[-1].encode()).decode()}")
    judgement = judge("canary", hidden, full_case())
    found = [f for f in judgement.findings if f.fingerprint.what == "user.current"]
    assert {finding.form for finding in found} == {"base64"}
    assert judgement.verdict is Verdict.LEAK


def test_another_users_history_is_across(judge: Judge) -> None:
    """A memory that two users share shows the first one's task to the second one's child."""
    seen: list[str] = []

    def remember(task: str, history: list[str]) -> str:
        seen.append(task)
        return "\n".join(seen)

    assert ("task.input", "child.request", "across") in prints(
        judge("canary", tiny(brief=remember), two_users())
    )


def test_a_token_of_an_earlier_case_is_residue(judge: Judge) -> None:
    """The same target, another case: what is left over is named *after*."""
    seen: list[str] = []

    def remember(task: str, history: list[str]) -> str:
        seen.append(task)
        return "\n".join(seen)

    leaky = tiny(brief=remember)
    assert judge("canary", leaky, full_case(seed=1)).verdict is Verdict.PASS
    assert ("task.input", "child.request", "after") in prints(judge("canary", leaky, full_case(seed=2)))


def test_a_sibling_of_the_same_parent_is_sideways(judge: Judge) -> None:
    """Two tasks in one turn: the second child has no business with the first one's."""
    seen: list[str] = []

    def remember(task: str, history: list[str]) -> str:
        seen.append(task)
        return "\n".join(seen)

    acts = (Delegate(0, at("task.input")), Delegate(0, at("task.goal")))
    judgement = judge("canary", tiny(brief=remember), full_case(turns=(TurnPlan(0, "two things", acts),)))
    assert prints(judgement) >= {("task.input", "child.request", "sideways")}
    assert judge("canary", CLEAN, full_case(turns=(TurnPlan(0, "two things", acts),))).findings == ()


def shared_box(lock: bool) -> Any:
    """Two users at once write their task on one shared object before the child reads it, or wait in line."""

    @target(root="boss", agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()})
    async def system(stage: Stage) -> AsyncIterator[Any]:
        box: dict[str, str] = {}
        line = asyncio.Semaphore(1 if lock else 99)

        async def say(turn: Turn) -> str:
            messages = ({"role": "user", "content": turn.text},)
            answer = await stage.model("boss").reply(ModelCall("boss", messages, (offer("task", "task"),)))
            async with line:
                box["task"] = answer.calls[0].arguments["task"]
                await asyncio.sleep(0.01)
                child = ({"role": "user", "content": box["task"]},)
                up = await stage.model("kid").reply(ModelCall("kid", child))
            done = ({"role": "user", "content": turn.text}, {"role": "tool", "content": up.text})
            return (await stage.model("boss").reply(ModelCall("boss", done))).text

        yield say

    return system


def test_two_users_at_once_on_a_shared_object(judge: Judge) -> None:
    """The later task overwrites the earlier one: across at the child; with a lock nothing is found."""
    turns = tuple(TurnPlan(u, "hi", (Delegate(0, at("task.input", u, u)),), f"s{u}") for u in (0, 1))
    scenario = full_case(turns=turns, users=("u_a", "u_b"), concurrent=True)
    leak = judge("canary", shared_box(lock=False), scenario)
    assert ("task.input", "child.request", "across") in prints(leak)
    assert judge("canary", shared_box(lock=True), scenario).findings == ()
    in_turn = replace(scenario, concurrent=False)
    assert judge("canary", shared_box(lock=False), in_turn).findings == ()


def test_a_parrot_alone_is_exposure_and_decides_nothing(judge: Judge) -> None:
    """A model that copies its context reaches the child; the plumbing is clean, so the case passes."""
    judgement = judge("canary", CLEAN, full_case(root=Temperament.PARROT))
    assert ("user.current", "child.request", "down") in prints(judgement)
    assert {finding.mode for finding in judgement.findings} == {Mode.EXPOSURE}
    assert judgement.verdict is Verdict.PASS


def test_an_allowed_leak_is_marked_and_passes(judge: Judge) -> None:
    """The entries open exactly this; the findings stay in the report."""
    entries = tuple(
        Allow("user.current", channel, "kid", "by design", "platform")
        for channel in ("child.request", "child.context")
    )
    leaky = tiny(brief=whole_dialogue)
    judgement = judge("canary", leaky, full_case(), Policy(entries, today=date(2026, 1, 1)))
    marked = {f.fingerprint.channel: f.allowed_by for f in judgement.findings}
    assert set(marked) == {"child.request", "child.context"}
    assert all(marked.values())
    assert judgement.verdict is Verdict.PASS
    half = judge("canary", leaky, full_case(), Policy(entries[:1]))
    assert half.verdict is Verdict.LEAK


def test_findings_hold_no_token(judge: Judge, execute: Callable[..., Any]) -> None:
    """What is reported names the place; the token and the text around it stay in memory."""
    leaky = tiny(brief=whole_dialogue)
    tokens = [planted.token for planted in execute(leaky, full_case()).planted]
    findings: tuple[Finding, ...] = judge("canary", leaky, full_case()).findings
    shown = json.dumps([finding.to_json() for finding in findings]) + repr(findings)
    assert tokens
    assert not any(token in shown for token in tokens)
    assert "hello" not in shown


def test_the_source_tool_is_named(judge: Judge) -> None:
    """Noise is blamed on the tool that brought it."""
    noisy = tiny(reply=lambda raw: raw)
    tools = {f.source_tool for f in judge("canary", noisy, full_case()).findings}
    assert tools == {"find"}
    assert declared('{"note": "a", "trace": "b"}') == '{"note": "a"}'


def test_one_finding_per_fingerprint_and_form(judge: Judge) -> None:
    """A leak seen in three requests is one finding that counts three events."""
    leaky = tiny(brief=whole_dialogue)
    findings = judge("canary", leaky, full_case(turns=(full_turn(), full_turn(0, 1)))).findings
    keys = [(f.fingerprint, f.form, f.tier) for f in findings]
    assert len(keys) == len(set(keys))
    assert max(f.count for f in findings) > 1


def test_unread_bytes_are_inconclusive_and_a_leak_beside_them_stays_one(execute: Callable[..., Any]) -> None:
    """Never green on a truncated scan."""
    oracle = next(item for item in all_oracles() if item.name == "canary")
    for factory, expected in ((CLEAN, Verdict.INCONCLUSIVE), (tiny(brief=whole_dialogue), Verdict.LEAK)):
        cut = replace(execute(factory, full_case()), unscanned=17)
        judgement = drive(
            oracle, full_case(), declaration_of(factory), Policy(), {Variant(full_case()): cut}.__getitem__
        )
        assert judgement.verdict is expected
