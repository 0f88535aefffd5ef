"""The case proves something: what must pass passed, and nothing failed on the way.

A required token that did not arrive is a LOSS. A child that was never reached, a call that could not be
attributed or a target that failed leaves the case without proof: INCONCLUSIVE or ERROR, never a pass.
Kills: 68 of the table of seeded defects.
Source: article 000 section 2.2 (a follow-up must carry its items); google/adk-python#3612 (over-isolation).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement, Verdict
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of, verdict_of
from isolation_kit.oracles.soundness import doubt_of_record
from isolation_kit.policy import Policy
from isolation_kit.scenario import Breaking, Place, Scenario
from isolation_kit.target import Declaration
from isolation_kit.trace import Channel, Handover, Lifecycle, Trace

__all__ = ["ORACLE", "lost"]

_NAME = "controls"
_UP = (Channel.PARENT_REQUEST, Channel.FINAL_OUTPUT)


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    (trace,) = yield (Variant(scenario),)
    if trace.error:
        return Judgement(_NAME, Verdict.ERROR, reason=trace.error)
    if trace.refused:
        return Judgement(_NAME, Verdict.PASS, reason=f"refused: {trace.refused}")
    if unsound := doubt_of_record(trace):
        return Judgement(_NAME, Verdict.INCONCLUSIVE, reason=unsound)
    losses = tuple(lost(scenario, declaration, trace))
    if losses:
        return Judgement(_NAME, verdict_of(losses), losses)
    doubt = _doubt(scenario, trace)
    if doubt and not scenario.quiet:
        # What a parrot's flood of text does to the way down is no statement about the plumbing.
        return Judgement.not_applicable(_NAME, doubt)
    return Judgement(_NAME, Verdict.INCONCLUSIVE if doubt else Verdict.PASS, reason=doubt)


ORACLE = Oracle(
    name=_NAME,
    claim="required tokens go down and come up; every planned child is reached; nothing failed",
    check=_check,
    every={"quick": 1, "ci": 1, "deep": 1},
    source="article 000 section 2.2",
    scheduled=True,
)


def _doubt(scenario: Scenario, trace: Trace) -> str:
    if trace.problems:
        return trace.problems[0]
    schedule = scenario.schedule
    broken = {item.turn for item in schedule.breaks}
    planned = sum(
        len(turn.delegations)
        for index, turn in enumerate(scenario.turns)
        if index not in broken and schedule.only in (-1, turn.user)
    )
    if not planned and not broken:
        return "the case hands nothing to a child, so it proves nothing"
    refused = {(life.agent, life.instance) for life in trace.lives if life.kind is Lifecycle.REFUSED}
    reached = {(e.agent, e.instance) for e in trace.events if e.channel is Channel.CHILD_REQUEST}
    if planned and len(trace.handovers) < planned and scenario.quiet:
        return f"{len(trace.handovers)} of {planned} planned delegations took place"
    for handover in _owed(scenario, trace):
        key = (handover.agent, handover.instance)
        if handover.required and key not in reached and key not in refused:
            return f"child {handover.agent!r} was never reached"
    return ""


def _owed(scenario: Scenario, trace: Trace) -> Iterator[Handover]:
    """The delegations that must bring something: of a turn that the schedule broke, those of its retry."""
    if not scenario.schedule.breaks:
        yield from trace.handovers
        return
    kinds = {item.turn: item.kind for item in scenario.schedule.breaks}
    last = {(item.turn, item.agent): item for item in trace.handovers}
    for handover in trace.handovers:
        kind = kinds.get(handover.turn)
        retried = kind is Breaking.RETRY and last[handover.turn, handover.agent] is handover
        if kind is None or retried:
            yield handover


def lost(scenario: Scenario, declaration: Declaration, trace: Trace) -> Generator[Finding]:
    """Every required token that did not go down, or whose answer did not come up."""
    refused = {(life.agent, life.instance) for life in trace.lives if life.kind is Lifecycle.REFUSED}
    events = {event.seq: event for event in trace.events}
    down: set[tuple[str, int, Place]] = set()
    reached: set[tuple[str, int]] = set()
    up: set[Place] = set()
    for event in trace.events:
        if event.channel is Channel.CHILD_REQUEST:
            reached.add((event.agent, event.instance))
    for sighting in trace.sightings:
        event = events[sighting.seq]
        if event.channel is Channel.CHILD_REQUEST:
            down.add((event.agent, event.instance, sighting.place))
        elif event.channel in _UP:
            up.add(sighting.place)
    for handover in _owed(scenario, trace):
        key = (handover.agent, handover.instance)
        if not handover.required or key in refused or key not in reached:
            continue
        via = declaration.agents[declaration.parent_of(handover.agent)].children.get(handover.agent)
        if via is None or via.argument or declaration.triggers:
            for place in handover.task:
                if (*key, place) not in down:
                    yield _loss(scenario, declaration, handover, place, Channel.CHILD_REQUEST)
        for place in handover.answer:
            if (place not in up) if not handover.by[0] else ((*handover.by, place) not in down):
                yield _loss(scenario, declaration, handover, place, Channel.PARENT_REQUEST)


def _loss(
    scenario: Scenario, declaration: Declaration, handover: Handover, place: Place, channel: Channel
) -> Finding:
    direction = Direction.DOWN if channel is Channel.CHILD_REQUEST else Direction.UP
    return Finding(
        Fingerprint(
            declaration.name, declaration.edge(handover.agent), place.slot, str(channel), str(direction)
        ),
        _NAME,
        kind=Verdict.LOSS,
        mode=mode_of(scenario),
        turn=handover.turn,
        user=place.user,
        instance=handover.instance,
    )
