"""After a child's end nothing that it held is left: no process, descriptor, thread, task, file, shared
memory, environment, argument, and no reachable object or memory of a surviving process with its tokens.

Variant: the case itself, executed once more with a look around after each turn's children have ended and
after the case. What holds a canary is a leak at once. A thing without one (a thread, a descriptor, a
variable) may be the system's own and stay for good, such as a pool that the first case starts: it counts only
if a second execution leaves one more.
The parent's own context, the store and the kit's records legally hold canaries and do not count; nor does
what another channel has shown of a child's work, for that is where it leaked.
Kills: 46, 48 and 65 of the table of seeded defects; sees 6, 7, 34 and 42.
Source: article 001 section 2.2 (a child is forgotten), article 000 sections 4.2 and 5.5 (a reused environment
keeps globals and its temporary folder).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of, verdict_of
from isolation_kit.policy import Policy
from isolation_kit.scenario import Place, Scenario, Temperament
from isolation_kit.target import Declaration
from isolation_kit.trace import CHILD_CHANNELS, Channel, Remnant, Trace

__all__ = ["ORACLE"]

_NAME = "destroy"


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    if scenario.child is not Temperament.QUIET:
        return Judgement.not_applicable(_NAME, "a parrot child hands its work to those who rightly keep it")
    if scenario.concurrent:
        return Judgement.not_applicable(_NAME, "turns overlap, so no moment is after a child's end")
    (trace,) = yield (Variant(scenario, inspect=True),)
    if trace.error or trace.refused:
        return Judgement.not_applicable(_NAME, "the target failed or refused; the controls say how")
    if not any(event.channel in CHILD_CHANNELS for event in trace.events):
        return Judgement.not_applicable(_NAME, "no child was reached")
    left = [item for item in trace.aftermath if item.places]
    bare = [item for item in trace.aftermath if not item.places]
    if bare:
        (again,) = yield (Variant(scenario, repeat=1, inspect=True),)
        more = {(item.kind, item.holder) for item in again.aftermath if not item.places}
        left += [item for item in bare if (item.kind, item.holder) in more]
    findings = tuple(_findings(scenario, declaration, policy, trace, left))
    reason = f"not looked at: {trace.unlooked}" if trace.unlooked else ""
    return Judgement(_NAME, verdict_of(findings), findings, reason)


ORACLE = Oracle(
    name=_NAME,
    claim="after a child's end nothing that it held is left",
    check=_check,
    every={"quick": 50, "ci": 10, "deep": 2},
    source="article 001 section 2.2",
)


def _findings(
    scenario: Scenario, declaration: Declaration, policy: Policy, trace: Trace, left: list[Remnant]
) -> Iterator[Finding]:
    shown = _shown_elsewhere(trace)
    seen: set[tuple[Fingerprint, str]] = set()
    for item in left:
        for what, place in _whats(item, shown):
            agent = _agent(declaration, trace, place)
            print_ = Fingerprint(
                declaration.name, declaration.edge(agent), what, str(item.channel), str(Direction.OUT)
            )
            if (print_, item.kind) in seen:
                continue
            seen.add((print_, item.kind))
            yield Finding(
                print_,
                _NAME,
                mode=mode_of(scenario),
                form=f"left as {item.kind}",
                path=item.path or item.holder,
                turn=item.turn,
                user=place.user if place else -1,
                allowed_by=policy.allowed_by(what, str(item.channel), agent, Direction.OUT),
            )


def _whats(item: Remnant, shown: frozenset[Place]) -> Iterator[tuple[str, Place | None]]:
    """What was left, by the slots whose canaries it holds, or by its kind."""
    if not item.places:
        yield f"field.left_{item.kind}", None
    for place in item.places:
        if not _legal(item, place, shown):
            yield place.slot, place


def _shown_elsewhere(trace: Trace) -> frozenset[Place]:
    """Places whose canaries stood above the child or in a sink: who shows them may also keep them."""
    outside = {event.seq for event in trace.events if event.channel not in CHILD_CHANNELS}
    return frozenset(item.place for item in trace.sightings if item.seq in outside)


def _legal(item: Remnant, place: Place, shown: frozenset[Place]) -> bool:
    """True for what is the parent's by now, while the system lives."""
    return item.channel is Channel.PROCESS_MEMORY and item.turn >= 0 and place in shown


def _agent(declaration: Declaration, trace: Trace, place: Place | None) -> str:
    """The child whose canary it is; else the first that was handed a task."""
    given = next((p.agent for p in trace.planted if p.place == place and p.agent), "")
    if given in declaration.agents and given != declaration.root:
        return given
    return next((item.agent for item in trace.handovers), declaration.children[0])
