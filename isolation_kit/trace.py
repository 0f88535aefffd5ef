"""What was seen in one execution: events, lifecycle, planted canaries and where they were sighted. Pure data.

A Trace lives in memory. Its JSON form holds raw bytes and is written only under `--isolation-reveal` (0600).
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from isolation_kit.scenario import Place

__all__ = [
    "CHILD_CHANNELS",
    "SINKS",
    "Channel",
    "Event",
    "Handover",
    "Life",
    "Lifecycle",
    "Planted",
    "Pollution",
    "Remnant",
    "Sighting",
    "Trace",
]


class Channel(StrEnum):
    """Where something can be seen."""

    CHILD_REQUEST = "child.request"
    CHILD_HEADERS = "child.headers"
    CHILD_TOOLS = "child.tools"
    CHILD_TOOL_ARGS = "child.tool.args"
    CHILD_TOOL_RESULT = "child.tool.result"
    CHILD_CONTEXT = "child.context"
    RESULT = "result"
    PARENT_REQUEST = "parent.request"
    FINAL_OUTPUT = "final.output"
    STREAM = "stream"
    STORE = "store"
    LOG = "log"
    SPAN = "span"
    ARTIFACT = "artifact"
    ENVIRONMENT = "environment"
    PROCESS_MEMORY = "process.memory"

    @property
    def agentleak(self) -> str:
        """The AgentLeak channel code for interchange (github.com/Privatris/AgentLeak)."""
        return _AGENTLEAK[self]


_AGENTLEAK: Mapping[Channel, str] = {
    Channel.FINAL_OUTPUT: "C1",
    Channel.STREAM: "C1",
    Channel.CHILD_REQUEST: "C2",
    Channel.CHILD_HEADERS: "C2",
    Channel.CHILD_TOOLS: "C2",
    Channel.RESULT: "C2",
    Channel.PARENT_REQUEST: "C2",
    Channel.CHILD_TOOL_ARGS: "C3",
    Channel.CHILD_TOOL_RESULT: "C4",
    Channel.CHILD_CONTEXT: "C5",
    Channel.STORE: "C5",
    Channel.PROCESS_MEMORY: "C5",
    Channel.LOG: "C6",
    Channel.SPAN: "C6",
    Channel.ENVIRONMENT: "C6",
    Channel.ARTIFACT: "C7",
}

CHILD_CHANNELS = frozenset(channel for channel in Channel if channel.startswith("child."))
SINKS = frozenset(
    {
        Channel.STORE,
        Channel.LOG,
        Channel.SPAN,
        Channel.ARTIFACT,
        Channel.ENVIRONMENT,
        Channel.PROCESS_MEMORY,
    }
)


class Event(NamedTuple):
    """Bytes that reached `agent` (instance number, per case) on `channel`, in a user's session and turn.

    `tool` names the tool where one was involved, `key` the record of a store; -1 stands for none.
    """

    seq: int
    channel: Channel
    agent: str
    data: bytes
    instance: int = -1
    user: int = -1
    session: str = ""
    turn: int = -1
    subject: int = -1
    tool: str = ""

    def __repr__(self) -> str:
        """Without the data: it is the target's, and may hold anything."""
        return f"Event({self.seq}, {self.channel}, {self.agent}, {len(self.data)} bytes)"


class Lifecycle(StrEnum):
    """What happened to an agent instance or a session."""

    SPAWNED = "spawned"
    ENDED = "ended"
    CANCELLED = "cancelled"
    REFUSED = "refused"


class Life(NamedTuple):
    """One lifecycle event of an agent instance."""

    seq: int
    kind: Lifecycle
    agent: str
    instance: int
    turn: int
    detail: str = ""


class Planted(NamedTuple):
    """A canary that was really handed out, live from `seq` on; `agent`/`instance`: whom it was given to.

    `worn` is the text that was planted in place of the bare token, else empty.
    """

    seq: int
    place: Place
    token: str
    agent: str = ""
    instance: int = -1
    tool: str = ""
    worn: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """What stands for this canary in a text: the token, and what it wears, also as a JSON string."""
        if not self.worn or self.token in self.worn:
            return (self.token,)
        once = json.dumps(self.worn)[1:-1]
        return tuple(dict.fromkeys((self.token, self.worn, once, json.dumps(once)[1:-1])))

    def __repr__(self) -> str:
        """Without the token."""
        return f"Planted({self.seq}, {self.place}, {self.agent!r}, {self.instance})"


@dataclass(frozen=True, slots=True)
class Handover:
    """One delegation that took place: to whom, in which turn, which tokens must go down and which come up.

    `by` is the child (and its instance) that handed the task over; ("", -1) stands for the root.
    """

    agent: str
    instance: int
    turn: int
    task: tuple[Place, ...]
    answer: tuple[Place, ...]
    required: bool = True
    by: tuple[str, int] = ("", -1)


class Sighting(NamedTuple):
    """A canary found in the event `seq`: which one, in what form, how surely, and whether it was live here.

    `case` and `variant` tell the execution that minted it; `live` is False if this execution had not handed
    it out yet, so that it can only be residue of an earlier one.
    """

    seq: int
    place: Place
    case: str
    variant: int
    form: str
    tier: str
    live: bool
    digest: str


class Remnant(NamedTuple):
    """Something that was left after the children of a turn had ended (turn -1: after the whole case).

    Attributes:
        kind: what it is: file, environment, arguments, process, thread, task, descriptor, segment, object.
        channel: where it lies: environment, process.memory or artifact.
        holder: whose it is, in one plain word: a variable, a kind of file, a type.
        path: what keeps an object alive, as type names from the root down; "" for others.
        places: whose canaries it holds; none where the thing itself is what was left.
    """

    kind: str
    channel: Channel
    holder: str
    path: str = ""
    places: tuple[Place, ...] = ()
    turn: int = -1


@dataclass(frozen=True, slots=True)
class Pollution:
    """POLLUTION_DETECTED: an undeclared field that the target's own bridge dropped; never its value."""

    task: str
    path: str
    kind: str
    length: int
    digest: str
    source_tool: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything seen in one execution of one case."""

    case: str
    events: tuple[Event, ...] = ()
    lives: tuple[Life, ...] = ()
    planted: tuple[Planted, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    handovers: tuple[Handover, ...] = ()
    pollution: tuple[Pollution, ...] = ()
    task_responses: int = 0
    answered: tuple[bool, ...] = ()
    refused: str = ""
    error: str = ""
    said: str = ""  # the text of what the target raised, masked and short
    problems: tuple[str, ...] = ()
    unscanned: int = 0
    unread: tuple[tuple[str, int], ...] = ()  # the same by channel
    aftermath: tuple[Remnant, ...] = ()  # only of an execution that was told to look around
    unlooked: str = ""  # where it could not look
    off_schedule: tuple[str, ...] = ()  # where the target did not let the case's schedule be kept

    def seen(self, channel: Channel | str) -> tuple[Event, ...]:
        """The events of one channel in order."""
        return tuple(event for event in self.events if event.channel == channel)

    def view(self, agent: str, channels: Iterable[Channel] = CHILD_CHANNELS) -> tuple[Event, ...]:
        """One recipient's events on `channels`, in its own order."""
        wanted = frozenset(channels)
        return tuple(event for event in self.events if event.agent == agent and event.channel in wanted)

    def to_json(self) -> str:
        """JSON with raw bytes in base64: holds tokens, so only `--isolation-reveal` writes it."""
        raw = asdict(replace(self, events=(), lives=(), planted=(), sightings=(), aftermath=()))
        for name in ("lives", "planted", "sightings", "aftermath"):
            raw[name] = [row._asdict() for row in getattr(self, name)]
        raw["events"] = [{**e._asdict(), "data": b64encode(e.data).decode()} for e in self.events]
        return json.dumps(raw, ensure_ascii=True, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Read what `to_json` wrote."""
        raw: dict[str, Any] = json.loads(text)
        raw["events"] = tuple(
            Event(**{**e, "channel": Channel(e["channel"]), "data": b64decode(e["data"])})
            for e in raw["events"]
        )
        raw["lives"] = tuple(Life(**{**item, "kind": Lifecycle(item["kind"])}) for item in raw["lives"])
        raw["planted"] = tuple(Planted(**{**item, "place": Place(*item["place"])}) for item in raw["planted"])
        raw["sightings"] = tuple(
            Sighting(**{**item, "place": Place(*item["place"])}) for item in raw["sightings"]
        )
        raw["handovers"] = tuple(
            Handover(
                **{
                    **item,
                    "task": tuple(Place(*place) for place in item["task"]),
                    "answer": tuple(Place(*place) for place in item["answer"]),
                    "by": tuple(item["by"]),
                }
            )
            for item in raw["handovers"]
        )
        raw["pollution"] = tuple(Pollution(**item) for item in raw["pollution"])
        raw["aftermath"] = tuple(
            Remnant(
                **{
                    **item,
                    "channel": Channel(item["channel"]),
                    "places": tuple(Place(*place) for place in item["places"]),
                }
            )
            for item in raw.get("aftermath", ())
        )
        raw["answered"] = tuple(raw["answered"])
        raw["unread"] = tuple((channel, count) for channel, count in raw.get("unread", ()))
        raw["problems"] = tuple(raw["problems"])
        raw["off_schedule"] = tuple(raw.get("off_schedule", ()))
        return cls(**raw)
