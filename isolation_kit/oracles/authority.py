"""A child has no more power than was declared: no other tool, no other child, nobody else's data.

Offered tools are a subset of the declared ones and of the declared ways to own children, so that no child
spawns beyond its depth or over an undeclared edge. Where a tool lets the child say whose data is meant
(`user_id`, `tenant`, `session_id`), the puppet names another user of the case: nothing of that may reach the
tool, for who is served is the runtime's to say and never the child's.
Kills: 41 of the table of seeded defects.
Source: mem0ai/mem0#4359; article 001 section 2.2 (a child has its basic tools only).
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping
from functools import lru_cache
from typing import Any

from isolation_kit.content import names_a_person
from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement
from isolation_kit.oracles.names import shown_name
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of, verdict_of
from isolation_kit.policy import Policy
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration
from isolation_kit.trace import Channel, Event, Handover, Trace

__all__ = ["ORACLE"]

_NAME = "authority"


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    if not any(declaration.agents[child].tools for child in declaration.children):
        return Judgement.not_applicable(_NAME, "the target declares no tools of a child")
    (trace,) = yield (Variant(scenario),)
    if not any(event.agent != declaration.root for event in trace.events):
        return Judgement.not_applicable(_NAME, "no child was reached")
    seen: dict[Fingerprint, Finding] = {}
    for name, form, event in _excesses(scenario, declaration, trace):
        finding = _finding(scenario, declaration, policy, trace, name, form, event)
        seen.setdefault(finding.fingerprint, finding)
    findings = tuple(seen[key] for key in sorted(seen))
    return Judgement(_NAME, verdict_of(findings), findings)


ORACLE = Oracle(
    name=_NAME,
    claim="a child is offered declared tools only, and selects nobody else's data by naming them",
    check=_check,
    every={"quick": 1, "ci": 1, "deep": 1},
    source="mem0ai/mem0#4359",
    scheduled=True,
)


def _excesses(
    scenario: Scenario, declaration: Declaration, trace: Trace
) -> Iterator[tuple[str, str, Event | Handover]]:
    """(name of what was too much, in what way, where it was seen)."""
    asking: dict[str, str] = {}  # by agent, a parameter that says whose data is meant
    for event in trace.events:
        if event.channel is Channel.CHILD_TOOLS:
            allowed = _allowed(declaration, event.agent)
            for name, person in _offered(event.data):
                if allowed is not None and name not in allowed:
                    yield name, "undeclared tool", event
                if person:
                    asking[event.agent] = person
        elif event.channel is Channel.CHILD_TOOL_ARGS and event.user >= 0 and event.agent in asking:
            somebody_else = _word(scenario.somebody_else(event.user))
            if somebody_else.search(event.data):
                yield asking[event.agent], "another user's id accepted", event
    for handover in trace.handovers:
        giver = handover.by[0] or declaration.root
        if giver in declaration.agents and handover.agent not in declaration.agents[giver].children:
            yield handover.agent, "undeclared edge", handover


def _allowed(declaration: Declaration, name: str) -> frozenset[str] | None:
    """The tools that an agent may be offered; None where it declares nothing to compare with."""
    agent = declaration.agents.get(name)
    if agent is None or name == declaration.root or not (agent.tools or agent.children):
        return None
    return frozenset(tool.name for tool in agent.tools) | {via.tool for via in agent.children.values()}


@lru_cache(maxsize=64)
def _offered(data: bytes) -> tuple[tuple[str, str], ...]:
    """Of each offered tool its name, and the parameter that asks for a person ("" without one).

    The same list comes with thousands of requests.
    """
    try:
        tools = json.loads(data)
    except ValueError:
        return ()
    inner = [tool.get("function", tool) for tool in tools if isinstance(tool, Mapping)]
    return tuple((str(tool.get("name", "")), _asked(tool)) for tool in inner if isinstance(tool, Mapping))


def _asked(tool: Mapping[str, Any]) -> str:
    schema = tool.get("parameters") or tool.get("input_schema") or {}
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    names = properties if isinstance(properties, Mapping) else {}
    return next((str(name) for name in names if names_a_person(str(name))), "")


@lru_cache(maxsize=64)
def _word(name: str) -> re.Pattern[bytes]:
    """`name` as a word of its own: agent_1 does not stand in agent_10. Campaigns number theirs in front."""
    word = re.escape(name.encode("utf-8", "surrogatepass"))
    return re.compile(rb"(?<![\w-])(?:c\d{6}-)?" + word + rb"(?![\w-])")


def _finding(
    scenario: Scenario,
    declaration: Declaration,
    policy: Policy,
    trace: Trace,
    name: str,
    form: str,
    where: Any,
) -> Finding:
    tool_args = isinstance(where, Event) and where.channel is Channel.CHILD_TOOL_ARGS
    channel = str(where.channel) if isinstance(where, Event) else str(Channel.CHILD_CONTEXT)
    direction = Direction.ACROSS if tool_args else Direction.DOWN
    what = f"field.{shown_name(name, tuple(text for item in trace.planted for text in item.spellings))}"
    return Finding(
        Fingerprint(declaration.name, declaration.edge(where.agent), what, channel, str(direction)),
        _NAME,
        mode=mode_of(scenario),
        form=form,
        source_tool=where.tool if tool_args else "",
        turn=where.turn,
        user=where.user if isinstance(where, Event) else -1,
        instance=where.instance,
        allowed_by=policy.allowed_by(what, channel, where.agent, direction),
    )
