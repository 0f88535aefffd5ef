"""The integrity oracle: a hostile answer is data to the parent; what obeys it, or is shaped by it, leaks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tiny_target import full_case, tiny

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.mutants import m71_answer_obeyed
from isolation_kit.oracles.integrity import HOSTILE
from isolation_kit.scenario import Temperament
from isolation_kit.targets.reference import reference_rules, reference_task

Judge = Callable[..., Judgement]
SEEDS = {kind: seed for seed, kind in enumerate(HOSTILE)}


def merged(answer: str, work: list[Any]) -> Mapping[str, Any]:
    """A result made of all keys that a child's answer brings."""
    own = json.loads(answer) if answer.startswith("{") else {}
    return {"answer": answer, **{key: value for key, value in own.items() if key != "answer"}}


def ever_new() -> Any:
    """A target whose result has another key in each run, whatever a child says."""
    runs = itertools.count()
    return tiny(result=lambda answer, work: {"answer": answer, f"n{next(runs)}": 1})


@pytest.mark.parametrize("factory", [tiny(), reference_task, reference_rules], ids=["tiny", "task", "rules"])
@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_clean_targets_take_every_hostile_answer_as_data(seed: int, factory: Any, judge: Judge) -> None:
    """All kinds, on three targets."""
    judgement = judge("integrity", factory, full_case(seed=seed))
    assert (judgement.verdict, judgement.findings, judgement.applicable) == (Verdict.PASS, (), True)


def test_a_parent_that_obeys_is_found(judge: Judge) -> None:
    """One more child in the turn, by the tool call in an answer; other kinds do not move it."""
    judgement = judge("integrity", m71_answer_obeyed, full_case(seed=SEEDS["tool call"]))
    (finding,) = judgement.findings
    assert str(finding.fingerprint) == "child.answer -> child.context (up) at parent>worker"
    assert (finding.form, finding.turn) == ("hostile answer (tool call)", 0)
    assert judge("integrity", m71_answer_obeyed, full_case(seed=SEEDS["orders"])).findings == ()


def test_a_result_in_the_shape_that_the_child_chose_is_found(judge: Judge) -> None:
    """Keys of an answer become keys of the result."""
    (finding,) = judge("integrity", tiny(result=merged), full_case(seed=SEEDS["keys too many"])).findings
    assert (finding.fingerprint.what, finding.fingerprint.channel) == ("child.answer", "result")


def test_a_target_that_differs_by_itself_is_inconclusive(judge: Judge) -> None:
    """Two runs with plain words differ as well, so nothing is said of the hostile ones."""
    judgement = judge("integrity", ever_new(), full_case())
    assert (judgement.verdict, judgement.findings) == (Verdict.INCONCLUSIVE, ())


@pytest.mark.parametrize(
    ("factory", "case", "reason"),
    [
        (tiny(scope="campaign"), full_case(), "the target stays up over cases; two runs of one may differ"),
        (
            tiny(),
            full_case(child=Temperament.PARROT),
            "a parrot copies what a child answers by itself",
        ),
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
    judgement = judge("integrity", factory, case)
    assert (judgement.applicable, judgement.reason) == (False, reason)
