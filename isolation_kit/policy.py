"""Who may see what: the default audience per slot and channel, and the user's `[[allow]]` entries.

Default deny. Every sighting is judged strictly; an `[[allow]]` entry never removes a finding, it marks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from typing import Literal

from isolation_kit.finding import Direction
from isolation_kit.scenario import Place, Slot
from isolation_kit.target import Declaration
from isolation_kit.trace import CHILD_CHANNELS, SINKS, Channel, Event, Planted, Sighting

__all__ = ["Allow", "Policy", "allowed_at", "audience", "crossing", "denied_to_children"]

_TASK = frozenset({Slot.TASK_GOAL, Slot.TASK_INPUT, Slot.TASK_CONSTANTS})
_CHILD_WORK = frozenset({Slot.CHILD_TEXT, Slot.CHILD_TOOL_ARGS, Slot.CHILD_TOOL_RESULT})
_CHILD_SLOTS = _CHILD_WORK | {Slot.CHILD_ANSWER, Slot.CHILD_TOOL_NOISE}
_PARENT = frozenset(slot for slot in Slot if slot.startswith(("user.", "parent.")))
_CHILD_SEES = _TASK | _CHILD_WORK | {Slot.CHILD_ANSWER}
_GOES_UP = _TASK | {Slot.CHILD_ANSWER}
_USER_SEES = _GOES_UP | {
    Slot.USER_CURRENT,
    Slot.USER_EARLIER,
    Slot.PARENT_TEXT,
    Slot.PARENT_TOOL_ARGS,
    Slot.PARENT_TOOL_RESULT,
    Slot.PARENT_RETRIEVED,
    Slot.PARENT_MEMORY,
    Slot.PARENT_FILE,
}

_AUDIENCE: Mapping[Channel, frozenset[Slot]] = {
    Channel.CHILD_REQUEST: _CHILD_SEES,
    Channel.CHILD_HEADERS: frozenset(),
    Channel.CHILD_TOOLS: frozenset(),
    Channel.CHILD_TOOL_ARGS: _CHILD_SEES,
    Channel.CHILD_TOOL_RESULT: _CHILD_SEES | {Slot.CHILD_TOOL_NOISE},
    Channel.CHILD_CONTEXT: _CHILD_SEES,
    Channel.RESULT: _GOES_UP,
    Channel.PARENT_REQUEST: _PARENT | _GOES_UP,
    Channel.FINAL_OUTPUT: _USER_SEES,
    Channel.STREAM: _USER_SEES,
    Channel.STORE: (_PARENT - {Slot.PARENT_SYSTEM, Slot.PARENT_TOOL_NOISE}) | _GOES_UP,
    Channel.LOG: frozenset(),
    Channel.SPAN: frozenset(),
    Channel.ARTIFACT: _GOES_UP | {Slot.CHILD_TOOL_RESULT},
    Channel.ENVIRONMENT: frozenset({Slot.ENVIRONMENT}),
    Channel.PROCESS_MEMORY: frozenset(),
}

# Another person's data is wrong wherever an agent works on one person's task. The parent's own context and
# the session store legally hold both.
_ABOUT_ONE_SUBJECT = CHILD_CHANNELS | {Channel.RESULT}


_ABOVE = frozenset({Channel.RESULT, Channel.PARENT_REQUEST, Channel.FINAL_OUTPUT, Channel.STREAM})


def audience(channel: Channel) -> frozenset[Slot]:
    """The slots that a recipient on `channel` may see of its own user, session and delegation."""
    return _AUDIENCE[channel]


def denied_to_children(slots: Iterable[str]) -> frozenset[str]:
    """Those of `slots` that no child may see: what paired runs vary."""
    return frozenset(slots) - _CHILD_SEES - {Slot.CHILD_TOOL_NOISE}


def crossing(
    sighting: Sighting,
    event: Event,
    planted: Mapping[Place, tuple[Planted, ...]],
    declaration: Declaration,
    sessions: Mapping[int, str],
    allowed: frozenset[Slot] | None = None,
) -> Direction | None:
    """Judge one sighting strictly: the direction of the leak, or None where the default table allows it.

    Args:
        planted: by place, everyone to whom the canary was handed in this execution.
        allowed: what `allowed_at` says of the event; a request has dozens of sightings.
        sessions: turn index to session name, to tell residue of an ended session.
    """
    place = sighting.place
    if not sighting.live:
        return Direction.AFTER
    if place.user >= 0 and event.user >= 0 and place.user != event.user:
        return Direction.ACROSS
    if _other_subject(place, event):
        return Direction.ACROSS
    if place.user >= 0 and event.session and sessions.get(place.turn, event.session) != event.session:
        return Direction.AFTER
    given = planted.get(place, ())
    if _of_another_instance(place, event, given):
        return _between(given[0].agent, event.agent, declaration)
    if place.slot in (allowed_at(event, declaration) if allowed is None else allowed):
        return Direction.UP if _of_a_deeper_layer(event, given, declaration) else None
    return _plain_direction(place.slot, event.channel)


def _other_subject(place: Place, event: Event) -> bool:
    return (
        place.subject >= 0
        and event.subject >= 0
        and place.subject != event.subject
        and event.channel in _ABOUT_ONE_SUBJECT
    )


def _of_another_instance(place: Place, event: Event, given: tuple[Planted, ...]) -> bool:
    if event.channel not in CHILD_CHANNELS or event.instance < 0:
        return False
    if place.slot not in _TASK and place.slot not in _CHILD_SLOTS:
        return False
    return bool(given) and not any(
        item.instance == event.instance and item.agent == event.agent for item in given
    )


def _between(owner: str, seen_by: str, declaration: Declaration) -> Direction:
    """The way that another child's data took: up or down the tree, else sideways."""
    if owner in declaration.below(seen_by):
        return Direction.UP
    return Direction.DOWN if seen_by in declaration.below(owner) else Direction.SIDEWAYS


def _of_a_deeper_layer(event: Event, given: tuple[Planted, ...], declaration: Declaration) -> bool:
    """True where a task or an answer stands above the two layers that exchanged it."""
    if not given or not given[0].agent or event.channel not in _ABOVE:
        return False
    owner = given[0].agent
    if event.channel is Channel.RESULT:
        return owner != event.agent and owner in declaration.below(event.agent)
    return (
        event.agent == declaration.root and owner not in declaration.direct and owner in declaration.children
    )


def allowed_at(event: Event, declaration: Declaration) -> frozenset[Slot]:
    """The slots that the recipient of `event` may see of its own: the default table, and what it declares."""
    allowed = _AUDIENCE[event.channel]
    if event.channel in (Channel.CHILD_REQUEST, Channel.CHILD_TOOL_ARGS):
        agent = declaration.agents.get(event.agent)
        if agent is None or not agent.declares_fields:
            # Without declared fields a tool's whole reply is the child's to read.
            return allowed | {Slot.CHILD_TOOL_NOISE}
    if event.channel in (Channel.PARENT_REQUEST, Channel.FINAL_OUTPUT) and not declaration.direct:
        return allowed | _CHILD_SLOTS
    return allowed


def _plain_direction(slot: str, channel: Channel) -> Direction:
    if channel in SINKS:
        return Direction.OUT
    if slot in _CHILD_SLOTS and channel not in CHILD_CHANNELS:
        return Direction.UP
    return Direction.DOWN if channel in CHILD_CHANNELS else Direction.OUT


_NAMED_ONLY = (Direction.ACROSS, Direction.AFTER)


@dataclass(frozen=True, slots=True)
class Allow:
    """One declared exception: `slot` (or `field.<name>`) may be seen by `child` on `channel`.

    `reason` and `owner` are for the reader of the report; after `until` the entry no longer allows.
    Without a `direction` it opens the ways within one user and session: another user's or person's data
    (`across`) and residue (`after`) are opened by an entry that names them, and by no other.
    """

    slot: str
    channel: str
    child: str
    reason: str
    owner: str
    until: date | None = None
    direction: str = ""

    @property
    def label(self) -> str:
        """How findings name this entry."""
        way = f" {self.direction}" if self.direction else ""
        return f"{self.slot} -> {self.channel} at {self.child}{way} ({self.owner})"

    def covers(self, what: str, channel: str, child: str, direction: str) -> bool:
        """True if it opens exactly this slot, channel and child; there are no wildcards."""
        if (self.slot, self.channel, self.child) != (what, channel, child):
            return False
        return self.direction == direction if self.direction else direction not in _NAMED_ONLY


@dataclass(frozen=True, slots=True)
class Policy:
    """The declared exceptions as of `today`, and whether exposures (parrot puppets only) fail too.

    `bits` of a secret may reach whom it is denied (0: none); comparing oracles leave out what `masks` name,
    typed JSON paths such as `messages[*].id: string`.
    """

    allow: tuple[Allow, ...] = ()
    today: date = field(default_factory=date.today)
    reachable: Literal["report", "deny"] = "report"
    bits: float = 0
    masks: tuple[str, ...] = ()

    def allowed_by(self, what: str, channel: str, child: str, direction: str) -> str:
        """The label of the entry that opens this, or "" (an expired entry opens nothing)."""
        for entry in self.allow:
            if entry.covers(what, channel, child, direction) and not self.expired(entry):
                return entry.label
        return ""

    def expired(self, entry: Allow) -> bool:
        """True if the entry's last day has passed."""
        return entry.until is not None and self.today > entry.until

    @property
    def digest(self) -> str:
        """8 hex digits over the exceptions, for the run block of a report."""
        text = repr([(a.slot, a.channel, a.child, str(a.until)) for a in self.allow]) + self.reachable
        if self.bits or self.masks:
            text += repr((self.bits, sorted(self.masks)))
        return blake2b(text.encode(), digest_size=4).hexdigest()
