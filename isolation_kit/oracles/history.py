"""Every value that stands at a recipient was written to it: each has an earlier write on an allowed path.

What the table of slots denies is the canary oracle's. This one looks at what the table allows, and asks how
it came. A child starts with its brief and nothing else: what stands in its requests came by the brief, by a
reply of its own tools, by its own words, or as the answer of a child of its own. It holds none of that when
it is born again, for a second attempt at a task is another child. A result holds what its child held, and a
parent reads no answer that no result brought.
The finding's `path` is the way to blame: where the value was planted, who held it, where it was seen.
Kills: 67 and 72 of the table of seeded defects.
Source: article 002 section 5.2 (the single door); K. Kingsbury and P. Alvaro, "Elle", VLDB 2020 (unique
values make every read tell of its write).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of, verdict_of
from isolation_kit.policy import Policy, crossing
from isolation_kit.scenario import Place, Scenario, Slot
from isolation_kit.target import Declaration
from isolation_kit.trace import Channel, Event, Lifecycle, Planted, Sighting, Trace

__all__ = ["ORACLE"]

_NAME = "history"
_OWN_WORDS = frozenset({Slot.CHILD_TEXT, Slot.CHILD_TOOL_ARGS, Slot.CHILD_ANSWER})
_READ_BY_CHILD = frozenset({Channel.CHILD_REQUEST, Channel.CHILD_TOOL_ARGS, Channel.RESULT})
_READ_ABOVE = frozenset({Channel.PARENT_REQUEST, Channel.FINAL_OUTPUT})
_JUDGED = _READ_BY_CHILD | _READ_ABOVE | {Channel.CHILD_CONTEXT, Channel.CHILD_TOOL_RESULT}
_HOPS = 6

Recipient = tuple[str, int]


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    if not scenario.quiet:
        return Judgement.not_applicable(_NAME, "a parrot's own copying is no path of the plumbing")
    (trace,) = yield (Variant(scenario),)
    if trace.unscanned:
        return Judgement.not_applicable(_NAME, "a work budget ran out, so writes may be unknown")
    unexplained = tuple(_unexplained(declaration, trace))
    if not unexplained:
        return Judgement(_NAME)
    seen: dict[Fingerprint, Finding] = {}
    for finding in _findings(scenario, declaration, policy, trace, unexplained):
        seen.setdefault(finding.fingerprint, finding)
    findings = tuple(seen[key] for key in sorted(seen))
    return Judgement(_NAME, verdict_of(findings), findings)


ORACLE = Oracle(
    name=_NAME,
    claim="every value seen at a recipient has an earlier write on an allowed path",
    check=_check,
    every={"quick": 1, "ci": 1, "deep": 1},
    source="article 002 section 5.2",
)


@dataclass(slots=True)
class _Writes:
    """What is known to have been written, while the events pass in order.

    Attributes:
        tasks: by child, what its parent put into its task.
        words: by child, its own words and its own children's tasks and answers, with the moment of each.
        held: by child, what its brief and its tools brought in its present life.
        born: by child, when its present life began.
        root: what a user said to the root, or the root itself, its tasks included.
        up: what results brought.
        doors: the children whose brief is declared and recorded: nothing but it lets the task in.
        unclear: children of which a turn has several, so that nobody can say which one an event belongs to.
    """

    tasks: dict[Recipient, frozenset[Place]]
    words: dict[Recipient, dict[Place, int]]
    ended: dict[Recipient, list[int]]
    unclear: frozenset[Recipient]
    root: frozenset[Place]
    held: dict[Recipient, set[Place]] = field(default_factory=dict)
    born: dict[Recipient, int] = field(default_factory=dict)
    up: set[Place] = field(default_factory=set)
    doors: set[Recipient] = field(default_factory=set)

    def birth(self, child: Recipient, seq: int) -> None:
        """A brief was handed to `child`; after an end that is another life."""
        self.doors.add(child)
        if any(end < seq for end in self.ended.get(child, ())):
            self.held[child] = set()
            self.born[child] = seq

    def explains(self, child: Recipient, place: Place, seq: int) -> bool:
        """True if `child` holds the value of `place` rightly at this moment."""
        if place in self.held.get(child, ()):
            return True
        said = self.words.get(child, {}).get(place)
        if said is not None and self.born.get(child, -1) <= said < seq:
            return True
        return child not in self.doors and place in self.tasks.get(child, ())


def _unexplained(declaration: Declaration, trace: Trace) -> Iterator[tuple[Sighting, Event]]:
    writes = _writes(trace)
    results = Channel.RESULT in declaration.taps
    places: dict[int, list[Sighting]] = {}
    for sighting in trace.sightings:
        if sighting.tier == "confirmed" and sighting.live:
            places.setdefault(sighting.seq, []).append(sighting)
    for event in trace.events:
        channel, child = event.channel, (event.agent, event.instance)
        if channel not in _JUDGED:
            continue
        if channel is Channel.CHILD_CONTEXT:
            agent = declaration.agents.get(event.agent)
            if event.tool or agent is None or agent.brief is None:
                continue
            writes.birth(child, event.seq)
        for sighting in places.get(event.seq, ()):
            if not _explained(writes, event, child, sighting.place, results):
                yield sighting, event


def _explained(writes: _Writes, event: Event, child: Recipient, place: Place, results: bool) -> bool:
    channel = event.channel
    if channel in _READ_ABOVE:
        return not results or place.slot != Slot.CHILD_ANSWER or place in writes.up or place in writes.root
    if channel is Channel.RESULT:
        writes.up.add(place)
    if event.instance < 0 or child in writes.unclear:
        return True
    if channel is Channel.CHILD_TOOL_RESULT:
        writes.held.setdefault(child, set()).add(place)
        return True
    if channel is Channel.CHILD_CONTEXT:
        writes.held.setdefault(child, set()).add(place)
        return place in writes.tasks.get(child, ())
    return writes.explains(child, place, event.seq)


def _writes(trace: Trace) -> _Writes:
    tasks = {(item.agent, item.instance): frozenset(item.task) for item in trace.handovers}
    givers = {(item.agent, item.instance): item.by for item in trace.handovers if item.by[0]}
    words: dict[Recipient, dict[Place, int]] = {}
    for item in trace.planted:
        child = (item.agent, item.instance)
        if item.instance < 0 or item.tool:
            continue
        if item.place.slot in _OWN_WORDS:
            words.setdefault(child, {}).setdefault(item.place, item.seq)
        if child in givers and item.place in tasks.get(child, ()):  # the layer above wrote it
            words.setdefault(givers[child], {}).setdefault(item.place, item.seq)
    ended: dict[Recipient, list[int]] = {}
    for life in trace.lives:
        if life.kind in (Lifecycle.ENDED, Lifecycle.CANCELLED):
            ended.setdefault((life.agent, life.instance), []).append(life.seq)
    times = Counter((item.agent, item.turn) for item in trace.handovers)
    unclear = [(h.agent, h.instance) for h in trace.handovers if times[h.agent, h.turn] > 1]
    said = {item.place for item in trace.planted if item.instance < 0}
    said.update(place for item in trace.handovers if not item.by[0] for place in item.task)
    return _Writes(tasks, words, ended, frozenset(unclear), frozenset(said))


def _findings(
    scenario: Scenario,
    declaration: Declaration,
    policy: Policy,
    trace: Trace,
    unexplained: tuple[tuple[Sighting, Event], ...],
) -> Iterator[Finding]:
    planted: dict[Place, tuple[Planted, ...]] = {}
    for item in trace.planted:
        planted[item.place] = (*planted.get(item.place, ()), item)
    sessions = {index: turn.session for index, turn in enumerate(scenario.turns)}
    for sighting, event in unexplained:
        if crossing(sighting, event, planted, declaration, sessions) is not None:
            continue  # denied where it stands: the canary oracle's
        direction = _direction(event, planted.get(sighting.place, ()))
        what, channel = sighting.place.slot, str(event.channel)
        yield Finding(
            Fingerprint(declaration.name, declaration.edge(event.agent), what, channel, str(direction)),
            _NAME,
            mode=mode_of(scenario),
            form="no write explains it",
            path=_blame(trace, planted, sighting, event),
            turn=event.turn,
            user=sighting.place.user,
            instance=event.instance,
            digest=sighting.digest,
            allowed_by=policy.allowed_by(what, channel, event.agent, direction),
        )


def _direction(event: Event, given: tuple[Planted, ...]) -> Direction:
    """A task past its door goes down, an answer past its result up; else it is another child's."""
    if event.channel in _READ_ABOVE:
        return Direction.UP
    if given and given[0].place.slot.startswith("task."):
        return Direction.DOWN
    return Direction.SIDEWAYS


def _blame(
    trace: Trace, planted: Mapping[Place, tuple[Planted, ...]], sighting: Sighting, event: Event
) -> str:
    """Where the value was planted, who held it on the way, where it was seen."""
    givers = [_who(item.agent, item.instance) for item in planted.get(sighting.place, ())]
    before = {other.seq for other in trace.sightings if other.place == sighting.place}
    way = [(e.seq, f"{_who(e.agent, e.instance)} {e.channel}") for e in trace.events if e.seq in before]
    way += [
        (life.seq, f"{_who(life.agent, life.instance)} {life.kind}")
        for life in trace.lives
        if (life.agent, life.instance) == (event.agent, event.instance)
    ]
    hops = list(dict.fromkeys(text for seq, text in sorted(way) if seq < event.seq))[-_HOPS:]
    start = f"{sighting.place.label} planted at {givers[0] if givers else 'nobody'}"
    return " -> ".join([start, *hops, f"seen at {_who(event.agent, event.instance)} {event.channel}"])


def _who(agent: str, instance: int) -> str:
    return f"{agent or 'the root'}#{instance}" if instance >= 0 else agent or "the root"
