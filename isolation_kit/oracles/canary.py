"""No token stands at a recipient to whom its slot is denied, in any decoded form.

Kills: 1, 2, 5, 6, 7, 10, 11, 17, 20, 28, 29, 30, 35, 42, 48, 50, 61, 62, 64 and 66 of the table of
seeded defects.
Source: article 002 section 6.2 (isolation assertions), article 000 section 4.7 (adversarial tests).
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from itertools import groupby

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement, Verdict
from isolation_kit.oracles.names import shown_name
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of, verdict_of
from isolation_kit.policy import Policy, allowed_at, crossing
from isolation_kit.scenario import Place, Scenario, Slot
from isolation_kit.target import Declaration
from isolation_kit.trace import CHILD_CHANNELS, Channel, Event, Planted, Sighting, Trace

__all__ = ["ORACLE", "leaks"]

_NAME = "canary"


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    (trace,) = yield (Variant(scenario),)
    findings = leaks(scenario, declaration, policy, trace)
    verdict = verdict_of(findings)
    if verdict is Verdict.PASS and trace.unscanned:
        return Judgement(_NAME, Verdict.INCONCLUSIVE, findings, _unread(trace))
    return Judgement(_NAME, verdict, findings)


def _unread(trace: Trace) -> str:
    """Which channels were not read whole: for those, silence is no proof."""
    channels = ", ".join(f"{count} on {channel}" for channel, count in trace.unread)
    return f"{trace.unscanned} bytes were not scanned{channels and f' ({channels})'}: a work budget ran out"


ORACLE = Oracle(
    name=_NAME,
    claim="no token at a recipient to which its slot is denied, in any decoded form",
    check=_check,
    every={"quick": 1, "ci": 1, "deep": 1},
    source="article 002 section 6.2",
    scheduled=True,
)


def leaks(scenario: Scenario, declaration: Declaration, policy: Policy, trace: Trace) -> tuple[Finding, ...]:
    """Every denied sighting of a trace, one finding per fingerprint, form and tier."""
    if not trace.sightings:
        return ()
    events = {event.seq: event for event in trace.events}
    planted = _by_place(trace.planted)
    sessions = {index - scenario.lead: turn.session for index, turn in enumerate(scenario.turns)}
    found = []
    event, allowed, clean = trace.events[0], frozenset[Slot](), set[tuple[Place, bool]]()
    passed: dict[tuple[object, ...], set[tuple[Place, bool]]] = {}
    for sighting in trace.sightings:  # in the order of the events
        if sighting.seq != event.seq or not allowed:
            event = events[sighting.seq]
            allowed = allowed_at(event, declaration)
            # A request repeats the one before it, and what one recipient may see does not change.
            clean = passed.setdefault((event.channel, *event[4:9], event.agent), set())
        seen = (sighting.place, sighting.live)
        if seen in clean:
            continue
        direction = crossing(sighting, event, planted, declaration, sessions, allowed)
        if direction is None:
            clean.add(seen)
        else:
            found.append((sighting, event, direction))
    return tuple(_findings(scenario, declaration, policy, planted, found))


def _by_place(planted: tuple[Planted, ...]) -> Mapping[Place, tuple[Planted, ...]]:
    out: dict[Place, tuple[Planted, ...]] = {}
    for item in planted:
        known = out.get(item.place)
        out[item.place] = (item,) if known is None else (*known, item)
    return out


def _findings(
    scenario: Scenario,
    declaration: Declaration,
    policy: Policy,
    planted: Mapping[Place, tuple[Planted, ...]],
    found: list[tuple[Sighting, Event, Direction]],
) -> list[Finding]:
    rows = [
        (
            Fingerprint(
                declaration.name,
                _edge(declaration, event, planted.get(sighting.place, ())),
                sighting.place.slot,
                str(event.channel),
                str(direction),
            ),
            sighting,
            event,
        )
        for sighting, event, direction in found
    ]
    rows.sort(key=lambda row: (row[0], row[1].tier, row[1].form, row[1].seq))
    out = []
    for (fingerprint, tier, form), group in groupby(rows, key=lambda r: (r[0], r[1].tier, r[1].form)):
        members = list(group)
        _, sighting, event = members[0]
        out.append(
            Finding(
                fingerprint,
                _NAME,
                mode=mode_of(scenario),
                tier=tier,
                form=form,
                path=_header(event, planted.get(sighting.place, ())),
                source_tool=_source_tool(event, planted.get(sighting.place, ())),
                turn=event.turn,
                user=sighting.place.user,
                instance=event.instance,
                digest=sighting.digest,
                count=len(members),
                allowed_by=_allowed(policy, fingerprint, event.agent),
            )
        )
    return out


def _header(event: Event, given: tuple[Planted, ...]) -> str:
    """The name of the header that shows a canary as it was planted, where that is what was seen."""
    if event.channel is not Channel.CHILD_HEADERS:
        return ""
    spellings = tuple(text for item in given for text in item.spellings)
    try:
        headers = json.loads(event.data)
    except (ValueError, RecursionError):
        return ""
    pairs = headers.items() if isinstance(headers, dict) else ()
    name = next((name for name, value in pairs if any(text in str(value) for text in spellings)), "")
    shown = shown_name(name, spellings) if name else ""
    return shown if "#" in shown else name.lower()


def _edge(declaration: Declaration, event: Event, given: tuple[Planted, ...]) -> str:
    """The edge that was crossed: the recipient's, or the owner's where a child's work came up."""
    if event.channel in CHILD_CHANNELS or event.agent != declaration.root:
        return declaration.edge(event.agent)
    owner = next((item.agent for item in given if item.agent and item.agent != declaration.root), "")
    return declaration.edge(owner) if owner in declaration.agents else declaration.edge(event.agent)


def _allowed(policy: Policy, seen: Fingerprint, recipient: str) -> str:
    """The entry that opens this for the recipient, or for the child of the edge, as a report names it."""
    for child in dict.fromkeys((recipient, seen.edge.rpartition(">")[2])):
        label = policy.allowed_by(seen.what, seen.channel, child, seen.direction)
        if label:
            return label
    return ""


def _source_tool(event: Event, given: tuple[Planted, ...]) -> str:
    named = next((item.tool for item in given if item.tool), "")
    if named:
        return named
    return event.tool if event.channel in (Channel.CHILD_TOOL_ARGS, Channel.CHILD_TOOL_RESULT) else ""
