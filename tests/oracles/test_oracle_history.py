"""The history oracle: a value that is allowed where it stands, and came by a way that nobody wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tiny_target import at, full_case, tiny, two_users

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.mutants import m67_free_context, m72_failed_attempt
from isolation_kit.policy import Allow, Policy
from isolation_kit.scenario import Answer, Delegate, Scenario, Temperament, TurnPlan, UseTool
from isolation_kit.targets.reference import reference_rules, reference_task
from isolation_kit.targets.reference_tree import reference_tree

Judge = Callable[..., Judgement]

CONSTANTS = full_case(
    turns=(TurnPlan(0, "hi", (Delegate(0, "find it", (Answer("42"),), at("task.constants")), Answer("ok"))),)
)
REFUSED = full_case(
    turns=(
        TurnPlan(
            0,
            "hi",
            (
                Delegate(
                    0,
                    "find it",
                    (UseTool(0, "q", f'{{"description": "{at("child.tool.result")}"}}'), Answer("{")),
                    required=False,
                ),
                Answer("ok"),
            ),
        ),
    )
)


def kept_answers() -> Any:
    """A system whose results repeat the answer before."""
    kept: list[str] = []

    def result(answer: str, work: list[Any]) -> dict[str, str]:
        kept.append(answer)
        return {"answer": " ".join(kept[-2:])}

    return tiny(result=result)


@pytest.mark.parametrize(
    "factory",
    [tiny(), reference_task, reference_rules, reference_tree],
    ids=["tiny", "task", "rules", "tree"],
)
@pytest.mark.parametrize("case", [full_case(), two_users(), CONSTANTS, REFUSED], ids=["1", "2", "c", "r"])
def test_clean_targets_have_a_write_for_each_value(case: Scenario, factory: Any, judge: Judge) -> None:
    """Also where a child failed, and where layers hand parts of their task on."""
    judgement = judge("history", factory, case)
    assert (judgement.verdict, judgement.findings, judgement.applicable) == (Verdict.PASS, (), True)


def test_a_value_that_goes_round_the_brief_is_found_with_its_way(judge: Judge) -> None:
    """The canary oracle is silent, for a task's constants may stand in a child's request."""
    (finding,) = judge("history", m67_free_context, CONSTANTS).findings
    assert str(finding.fingerprint) == "task.constants -> child.request (down) at parent>worker"
    assert finding.path.startswith("task.constants/u0/t0 planted at worker#0 -> ")
    assert finding.path.endswith(" -> seen at worker#0 child.request")
    assert judge("canary", m67_free_context, CONSTANTS).findings == ()


def test_what_a_failed_attempt_read_is_not_the_next_one_s(judge: Judge) -> None:
    """A second attempt is another child, though the stage counts one delegation."""
    (finding,) = judge("history", m72_failed_attempt, REFUSED).findings
    assert str(finding.fingerprint) == "child.tool.result -> child.request (sideways) at parent>worker"
    assert "worker#0 ended" in finding.path
    assert judge("canary", m72_failed_attempt, REFUSED).findings == ()


def test_another_child_s_answer_in_a_result_is_found(judge: Judge) -> None:
    """Two delegations of one session; an entry of the policy marks it."""
    first, second = full_case().turns[0], two_users().turns[1]
    case = full_case(turns=(first, replace(second, user=0, session="s", text="more")))
    judgement = judge("history", kept_answers(), _of_one_user(case))
    assert [str(f.fingerprint) for f in judgement.findings] == [
        "child.answer -> result (sideways) at boss>kid"
    ]
    entry = Allow("child.answer", "result", "kid", "a running summary", "me")
    assert judge("history", kept_answers(), _of_one_user(case), Policy((entry,))).verdict is Verdict.PASS


def _of_one_user(case: Scenario) -> Scenario:
    """The places of the second turn under the first user."""
    return Scenario.from_json(case.to_json().replace("/1/-1/1/0}}", "/0/-1/1/0}}"))


def test_under_parrots_it_does_not_apply(judge: Judge) -> None:
    """Their copying is no plumbing."""
    judgement = judge("history", tiny(), full_case(child=Temperament.PARROT))
    reason = "a parrot's own copying is no path of the plumbing"
    assert (judgement.applicable, judgement.reason) == (False, reason)
