"""The boundary oracle: silent cuts, half characters, rests that spill, texts sent whole after all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from tiny_target import full_case, tiny, two_users

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.mutants import m54_cut_by_weight, m63_name_cut
from isolation_kit.scenario import Temperament
from isolation_kit.stage import ModelCall, Stage
from isolation_kit.target import Agent, Turn, Via, target
from isolation_kit.targets.reference import reference_rules, reference_task

Judge = Callable[..., Judgement]
LIMIT = 600


def sends(*fields: Callable[[str], str]) -> Any:
    """A target whose child gets one message for each function of the task."""

    @target(
        root="boss",
        agents={"boss": Agent({"kid": Via("")}), "kid": Agent()},
        triggers={"kid": "go〔{task}〕"},
    )
    async def system(stage: Stage) -> AsyncIterator[Any]:
        async def say(turn: Turn) -> str:
            task = turn.text.partition("〔")[2].partition("〕")[0]
            messages = tuple({"role": "user", "content": field(task)} for field in fields)
            return (await stage.model("kid").reply(ModelCall("kid", messages))).text

        yield say

    return system


def half(text: str) -> str:
    """Cut at bytes, whatever stands there."""
    return text.encode()[: LIMIT - 1].decode("utf-8", "replace")


FAULTS = {
    "cut without a word": sends(lambda text: text[:LIMIT]),
    "cut inside a character": sends(half),
    "the rest in another field": sends(lambda text: f"{text[:LIMIT]} [cut]", lambda text: text[LIMIT:]),
    "cut, and sent whole after all": sends(lambda text: f"{text[:90]} [cut]", lambda text: text),
}


@pytest.mark.parametrize("form", FAULTS)
def test_each_fault_at_a_limit_is_told_apart(form: str, judge: Judge) -> None:
    """With scripts of three and four bytes a character."""
    forms = set()
    for seed in range(1, 6):
        judgement = judge("boundary", FAULTS[form], full_case(seed=seed))
        assert judgement.verdict in (Verdict.LEAK, Verdict.LOSS) or form == "cut inside a character"
        forms |= {finding.form for finding in judgement.findings}
    assert form in forms


@pytest.mark.parametrize(
    "factory",
    [tiny(), sends(lambda text: f"{text[:500]} [cut]"), reference_task, reference_rules],
    ids=["no-limit", "marked", "task", "rules"],
)
@pytest.mark.parametrize("case", [full_case(), two_users(seed=2)], ids=["one-user", "two-users"])
def test_an_open_cut_and_no_cut_pass(factory: Any, case: Any, judge: Judge) -> None:
    """So do long names that are refused or kept whole."""
    judgement = judge("boundary", factory, case)
    assert (judgement.verdict, judgement.findings, judgement.applicable) == (Verdict.PASS, (), True)


def test_a_spill_into_the_next_field_of_a_brief_is_found(judge: Judge) -> None:
    """In the brief and in the request that is made of it."""
    found = judge("boundary", m54_cut_by_weight, full_case()).findings
    assert {f.fingerprint.channel for f in found if f.kind is Verdict.LEAK} == {
        "child.context",
        "child.request",
    }


def test_a_cut_name_that_is_another_user_s_is_found(judge: Judge) -> None:
    """Only under long names: the canary oracle sees nothing in the case itself."""
    found = {str(f.fingerprint) for f in judge("boundary", m63_name_cut, two_users()).findings}
    assert "parent.memory -> parent.request (across) at parent" in found
    assert judge("canary", m63_name_cut, two_users()).findings == ()


def test_a_target_that_fails_on_a_long_text_is_an_error(judge: Judge) -> None:
    """Only the oracle's own row: the base case ran."""

    def breaks(text: str) -> str:
        if len(text) > LIMIT:
            raise ValueError("too long")
        return text

    judgement = judge("boundary", sends(breaks), full_case())
    assert (judgement.verdict, judgement.findings) == (Verdict.ERROR, ())
    assert judgement.reason.startswith("with a text at the limit: the target raised ValueError")


@pytest.mark.parametrize(
    ("factory", "case", "reason"),
    [
        (tiny(scope="campaign"), full_case(), "the target stays up over cases, under limits of its own"),
        (tiny(), full_case(root=Temperament.PARROT), "a parrot repeats what was cut"),
        (
            tiny(),
            full_case(turns=(replace(full_case().turns[0], acts=()),)),
            "the case hands nothing to a child",
        ),
    ],
    ids=["campaign", "parrot", "no-child"],
)
def test_where_it_does_not_apply_it_says_why(factory: Any, case: Any, reason: str, judge: Judge) -> None:
    """The rest of the oracles runs."""
    judgement = judge("boundary", factory, case)
    assert (judgement.applicable, judgement.reason) == (False, reason)
