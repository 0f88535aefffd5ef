"""The reference targets on a stage: the clean runtime is silent, whoever speaks, in any order, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolation_kit.finding import Finding
from isolation_kit.oracles import all_oracles, drive
from isolation_kit.policy import Policy
from isolation_kit.scenario import Answer, Delegate, Limits, Place, Say, Scenario, TurnPlan, UseTool
from isolation_kit.stage import Ledger, Runner
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference import reference_rules, reference_task
from isolation_kit.trace import Channel, Lifecycle, Trace

BOTH = pytest.mark.parametrize("target", [reference_task, reference_rules], ids=["task", "rules"])
NAMES = ("agent_1", "agent_10", "acme")


def plan(index: int, user: int, subject: int, child: int, session: str) -> TurnPlan:
    """A turn with something planted in every place that a script has."""

    def at(slot: str, n: int = 0) -> str:
        return Place(slot, user, subject, index, n).placeholder

    raw = (
        f'{{"amount": 5, "description": "{at("child.tool.result")}", "trace_id": "{at("child.tool.noise")}", '
        f'"items": [{{"name": "a", "debug": "{at("child.tool.noise", 1)}"}}]}}'
    )
    acts = (
        Say(f"think {at('child.text')}"),
        UseTool(0, f"q {at('child.tool.args')}", raw),
        Answer(f"It is {at('child.answer')}"),
    )
    return TurnPlan(
        user,
        f"hello 【DEBUG:trace_id={at('user.current')}】",
        (Say(f"plan {at('parent.text')}"), Delegate(child, at("task.input"), acts), Answer("ok")),
        session,
        subject,
    )


def case(turns: tuple[TurnPlan, ...], **more: Any) -> Scenario:
    """A quiet case of three users and two subjects."""
    return Scenario("unit", "unit", 1, turns, users=NAMES, subjects=("张伟", "李娜"), **more)


@pytest.fixture(scope="module")
def judge() -> Iterator[Callable[[Any, Scenario], tuple[Trace, list[Finding]]]]:
    """Runs a case and returns its trace and the findings that decide; any other verdict than PASS fails."""
    runners: dict[str, Runner] = {}

    def run(target: Any, scenario: Scenario) -> tuple[Trace, list[Finding]]:
        declaration = declaration_of(target)
        runner = runners.setdefault(declaration.name, Runner(declaration, Ledger(5)))
        trace = runner.execute(scenario)
        found = []
        for oracle in all_oracles():
            if oracle.name in ("canary", "contract", "controls"):
                verdict = drive(oracle, scenario, declaration, Policy(), lambda variant: trace)
                assert verdict.verdict not in ("ERROR", "INCONCLUSIVE"), verdict.reason
                found += [item for item in verdict.findings if item.counts]
        return trace, found

    yield run
    for runner in runners.values():
        runner.close()


who = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 1), st.sampled_from(["s", "t"]))


@BOTH
@settings(max_examples=25, deadline=None)
@given(turns=st.lists(who, min_size=1, max_size=4), at_once=st.booleans())
def test_the_clean_runtime_is_silent(
    target: Any, judge: Callable[..., Any], turns: list[tuple[int, int, int, str]], at_once: bool
) -> None:
    """Users, people, children and session names in any order, one after another or at once."""
    plans = tuple(plan(index, *one) for index, one in enumerate(turns))
    trace, found = judge(target, case(plans, concurrent=at_once))
    assert found == []
    assert trace.task_responses == len(turns)
    assert len(trace.pollution) == 2 * len(turns)


@BOTH
def test_a_repeat_gives_the_same_bytes(target: Any, judge: Callable[..., Any]) -> None:
    """Nothing in a trace depends on the run."""
    scenario = case((plan(0, 0, 0, 0, "s"), plan(1, 1, 1, 1, "s")))
    first, second = (
        [(event.channel, event.data) for event in judge(target, scenario)[0].events] for _ in range(2)
    )
    assert first == second


@BOTH
def test_every_channel_that_the_target_taps_is_seen(target: Any, judge: Callable[..., Any]) -> None:
    """Context, result, store and log have events, so that their silence means something."""
    trace, _ = judge(target, case((plan(0, 0, 0, 0, "s"),)))
    seen = {event.channel for event in trace.events}
    assert seen >= {*declaration_of(target).taps, Channel.LOG, Channel.CHILD_REQUEST, Channel.CHILD_TOOLS}


@BOTH
def test_what_a_target_has_is_planted(target: Any, judge: Callable[..., Any]) -> None:
    """Session id, state, memory and metadata hold canaries of their user."""
    trace, _ = judge(target, case((plan(0, 1, 0, 0, "s"),)))
    own = {item.place.slot for item in trace.planted if item.place.user == 1}
    assert own >= {"parent.session_id", "parent.state", "parent.memory", "parent.metadata"}


@BOTH
@pytest.mark.parametrize("size", [599, 600, 601, 6000])
def test_a_task_is_cut_at_the_window_and_marked(target: Any, judge: Callable[..., Any], size: int) -> None:
    """Whole up to the limit; past it a mark, and no child reads more."""
    act = Delegate(0, "账" * size, (Answer("ok"),), required=False)
    turns = (TurnPlan(0, "hello", (act, Answer("ok")), subject=0),)
    trace, _ = judge(target, case(turns, limits=Limits(window=600)))
    shown = b"".join(event.data for event in trace.seen(Channel.CHILD_REQUEST)).decode()
    assert ("[cut " in shown) is (size > 600)
    assert 580 < shown.count("账") - shown.count("账单") <= 601


@BOTH
def test_text_that_cannot_be_encoded_is_refused(target: Any, judge: Callable[..., Any]) -> None:
    """A lone surrogate in the task: the child does not start, and the refusal is told."""
    act = Delegate(0, "a\ud83d", (Answer("ok"),), required=False)
    trace, _ = judge(target, case((TurnPlan(0, "hello", (act, Answer("ok")), subject=0),)))
    assert not trace.error
    assert [life.kind for life in trace.lives if life.kind is Lifecycle.REFUSED] or trace.refused
    assert trace.seen(Channel.CHILD_REQUEST) == ()
