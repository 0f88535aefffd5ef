"""The authority oracle: undeclared tools and ways to spawn, ids by which a child asks for somebody else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from tiny_target import full_case, tiny, two_users

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.oracles import all_oracles, drive
from isolation_kit.policy import Allow, Policy
from isolation_kit.scenario import Delegate, Scenario
from isolation_kit.stage import ModelCall, Stage
from isolation_kit.target import Agent, Tool, Turn, Via, declaration_of, target
from isolation_kit.trace import Handover, Trace

Judge = Callable[..., Judgement]

NAMED = {"type": "object", "properties": {"query": {"type": "string"}, "tenantId": {"type": "string"}}}


def asked(heeds: bool) -> Any:
    """A target whose child's tool asks for a tenant, and heeds it or not."""
    agents = {"boss": Agent({"kid": Via("")}), "kid": Agent(tools=(Tool("find"),))}

    @target(root="boss", agents=agents, triggers={"kid": "go {task}"})
    async def system(stage: Stage) -> AsyncIterator[Any]:
        find = stage.tool("find", "kid")
        offered = ({"function": {"name": "find", "parameters": NAMED}},)

        async def say(turn: Turn) -> str:
            reply = await stage.model("kid").reply(ModelCall("kid", ({"content": turn.text},), offered))
            for use in reply.calls:
                await find(json.dumps(use.arguments) if heeds else use.arguments["query"])
            return "done"

        yield say

    return system


def found(judgement: Judgement) -> set[tuple[str, str, str, str]]:
    """(what, channel, direction, form) of the findings."""
    prints = [(finding.fingerprint, finding.form) for finding in judgement.findings]
    return {(mark.what, mark.channel, mark.direction, form) for mark, form in prints}


@pytest.mark.parametrize("case", [full_case(), two_users()], ids=["one-user", "two-users"])
def test_a_tool_that_serves_whom_the_child_names_is_found(case: Scenario, judge: Judge) -> None:
    """The puppet names another user; what ignores it passes."""
    judgement = judge("authority", asked(heeds=True), case)
    assert found(judgement) == {
        ("field.tenant_id", "child.tool.args", "across", "another user's id accepted")
    }
    assert judge("authority", asked(heeds=False), case).verdict is Verdict.PASS


def test_an_undeclared_tool_is_found(judge: Judge) -> None:
    """The way to spawn as well; the declared tool passes, an allowed one is marked."""
    spawning = tiny(tools=lambda history: "task")
    expected = {("field.task", "child.tools", "down", "undeclared tool")}
    assert found(judge("authority", spawning, full_case())) == expected
    entry = Allow("field.task", "child.tools", "kid", "a layer", "me")
    allowed = judge("authority", spawning, full_case(), Policy((entry,)))
    assert (allowed.verdict, found(allowed)) == (Verdict.PASS, expected)
    assert judge("authority", tiny(), full_case()) == Judgement("authority")


def test_an_undeclared_edge_is_found() -> None:
    """A child that hands over to an agent which it does not declare."""
    oracle = next(oracle for oracle in all_oracles() if oracle.name == "authority")
    declaration = declaration_of(tiny())
    trace = judged_trace(declaration, by=("kid", 0))
    judgement = drive(oracle, full_case(), declaration, Policy(), lambda variant: trace)
    assert found(judgement) == {("field.kid", "child.context", "down", "undeclared edge")}


def judged_trace(declaration: Any, by: tuple[str, int]) -> Trace:
    """A trace in which `by` reached the kid."""
    from isolation_kit.trace import Channel, Event

    event = Event(1, Channel.CHILD_REQUEST, "kid", b"{}", 0, 0, "s", 0)
    return Trace("c", events=(event,), handovers=(Handover("kid", 0, 0, (), (), by=by),))


def test_without_tools_or_children_it_does_not_apply(judge: Judge) -> None:
    """And it says why."""
    declaration = replace(
        declaration_of(tiny()), agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()}
    )
    oracle = next(oracle for oracle in all_oracles() if oracle.name == "authority")
    judgement = drive(oracle, full_case(), declaration, Policy(), lambda variant: Trace("c"))
    assert (judgement.applicable, judgement.reason) == (False, "the target declares no tools of a child")
    idle = replace(full_case().turns[0], acts=())
    unreached = judge("authority", tiny(), replace(full_case(), turns=(idle,)))
    assert (unreached.applicable, unreached.reason) == (False, "no child was reached")
    assert not any(isinstance(act, Delegate) for act in idle.acts)
