"""What to do in one case: users, turns, scripted acts, tool replies, limits. Pure data, no behaviour.

A Scenario is complete: it holds its carrier texts with placeholders `{{canary:slot/user/subject/turn/n}}` and
its seed, so a stored case replays after the content folders have changed, and it never shows a token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from isolation_kit.errors import UsageError

__all__ = [
    "Act",
    "Answer",
    "Delegate",
    "Limits",
    "Place",
    "Say",
    "Scenario",
    "Slot",
    "Temperament",
    "TurnPlan",
    "UseTool",
    "check_slot",
    "fill",
    "places_in",
]


class Slot(StrEnum):
    """Where a canary may be planted; users add their own names under `x.`."""

    USER_CURRENT = "user.current"
    USER_EARLIER = "user.earlier"
    PARENT_SYSTEM = "parent.system"
    PARENT_DESCRIPTION = "parent.description"
    PARENT_TEXT = "parent.text"
    PARENT_TOOL_ARGS = "parent.tool.args"
    PARENT_TOOL_RESULT = "parent.tool.result"
    PARENT_TOOL_NOISE = "parent.tool.noise"
    PARENT_TOOL_DESCRIPTION = "parent.tool.description"
    PARENT_STATE = "parent.state"
    PARENT_METADATA = "parent.metadata"
    PARENT_SESSION_ID = "parent.session_id"
    PARENT_RETRIEVED = "parent.retrieved"
    PARENT_MEMORY = "parent.memory"
    PARENT_FILE = "parent.file"
    ENVIRONMENT = "environment"
    TASK_GOAL = "task.goal"
    TASK_INPUT = "task.input"
    TASK_CONSTANTS = "task.constants"
    CHILD_ANSWER = "child.answer"
    CHILD_TEXT = "child.text"
    CHILD_TOOL_ARGS = "child.tool.args"
    CHILD_TOOL_RESULT = "child.tool.result"
    CHILD_TOOL_NOISE = "child.tool.noise"


_SLOTS = frozenset(Slot)
_USER_SLOT = re.compile(r"x\.[a-z0-9_]+(?:\.[a-z0-9_]+)*\Z")


def check_slot(name: str) -> str:
    """Return `name` if it is a known slot or lies in the user namespace `x.`.

    Raises:
        UsageError: for any other name.
    """
    if name in _SLOTS or _USER_SLOT.match(name):
        return name
    raise UsageError(
        f"unknown slot {name[:60]!r}; allowed: {', '.join(sorted(_SLOTS))}, or a name of your own such as "
        "'x.session_cache' (lower case letters, digits, '_' and '.')"
    )


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where one canary is planted: slot, user index (-1: the system's own), subject index (-1: none), turn
    index (-1: before the first turn), running number."""

    slot: str
    user: int = 0
    subject: int = -1
    turn: int = 0
    n: int = 0

    @property
    def placeholder(self) -> str:
        """The text that stands for this place's token in a carrier."""
        return f"{{{{canary:{self.slot}/{self.user}/{self.subject}/{self.turn}/{self.n}}}}}"

    @property
    def label(self) -> str:
        """`slot/user/turn`: how reports name a canary."""
        user = "system" if self.user < 0 else f"u{self.user}"
        return f"{self.slot}/{user}/t{self.turn}"


_PLACEHOLDER = re.compile(r"\{\{canary:([a-z0-9_.]+)/(-?\d+)/(-?\d+)/(-?\d+)/(\d+)\}\}")


@lru_cache(maxsize=8192)
def _parts(text: str) -> tuple[str | Place, ...]:
    """`text` cut at its placeholders; the same carriers come again in thousands of cases."""
    out: list[str | Place] = []
    end = 0
    for m in _PLACEHOLDER.finditer(text):
        out += [text[end : m.start()], Place(m[1], int(m[2]), int(m[3]), int(m[4]), int(m[5]))]
        end = m.end()
    return (*out, text[end:])


def places_in(text: str) -> tuple[Place, ...]:
    """The places named by the placeholders of `text`, in order of appearance."""
    if "{{canary:" not in text:
        return ()
    return tuple(part for part in _parts(text) if isinstance(part, Place))


def fill(text: str, token: Callable[[Place], str]) -> str:
    """Replace every placeholder of `text` by what `token` returns for its place."""
    if "{{canary:" not in text:
        return text
    return "".join([part if isinstance(part, str) else token(part) for part in _parts(text)])


class Temperament(StrEnum):
    """How much of its own context a puppet copies into what it says."""

    QUIET = "quiet"
    PARROT = "parrot"


@dataclass(frozen=True, slots=True)
class Say:
    """Text beside the next act (reasoning, a plan); at a child it is scratch work."""

    text: str


@dataclass(frozen=True, slots=True)
class UseTool:
    """Call the `tool`-th tool (modulo the offered ones) with `query`; the stage answers with `reply`."""

    tool: int
    query: str
    reply: str


@dataclass(frozen=True, slots=True)
class Delegate:
    """Hand `task` to the `child`-th declared child (modulo the declared ones); `acts` is that child's script.

    `required` says whether the task's tokens must arrive and the child's answer must come back (LOSS if not):
    true but where the case overflows a limit on purpose.
    """

    child: int
    task: str
    acts: tuple[Act, ...] = ()
    constants: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """The final text of the role."""

    text: str


Act = Say | UseTool | Delegate | Answer
_ACTS: Mapping[str, type[Any]] = {"say": Say, "tool": UseTool, "delegate": Delegate, "answer": Answer}
_ACT_NAMES = {kind: name for name, kind in _ACTS.items()}


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """One user turn: who speaks in which session about whom, the text, and what the root agent then does."""

    user: int
    text: str
    acts: tuple[Act, ...] = ()
    session: str = "s"
    subject: int = -1

    @property
    def delegations(self) -> tuple[Delegate, ...]:
        """The delegations of this turn in order."""
        return tuple(act for act in self.acts if isinstance(act, Delegate))


@dataclass(frozen=True, slots=True)
class Limits:
    """Scaled limits that a target may honour, in characters, rounds and milliseconds."""

    window: int = 4000
    tool_output: int = 2000
    rounds: int = 30
    timeout_ms: int = 5000


@dataclass(frozen=True, slots=True)
class Scenario:
    """One complete case. `users` and `subjects` are names; turns refer to them by index."""

    family: str
    attack: str
    seed: int
    turns: tuple[TurnPlan, ...]
    users: tuple[str, ...] = ("u_0",)
    subjects: tuple[str, ...] = ()
    root: Temperament = Temperament.QUIET
    child: Temperament = Temperament.QUIET
    concurrent: bool = False
    limits: Limits = field(default_factory=Limits)
    variant: tuple[tuple[str, int], ...] = ()

    def __hash__(self) -> int:
        """By what tells generated cases apart; hashing every text would cost more than running the case."""
        return hash((self.family, self.attack, self.seed, self.variant, len(self.turns)))

    @property
    def quiet(self) -> bool:
        """True if no puppet copies its context: what leaks now is structural."""
        return self.root is Temperament.QUIET and self.child is Temperament.QUIET

    def texts(self) -> Iterator[str]:
        """Every carrier text of the case, in order of the script."""
        for turn in self.turns:
            yield turn.text
            yield from _act_texts(turn.acts)

    def places(self) -> frozenset[Place]:
        """Every place that a placeholder of the script names."""
        return frozenset(place for text in self.texts() for place in places_in(text))

    def with_variant(self, slots: Mapping[str, int]) -> Scenario:
        """The same case with the secrets of `slots` drawn anew: a pure change for paired runs."""
        return replace(self, variant=tuple(sorted(slots.items())))

    def variant_of(self, slot: str) -> int:
        """The number of the secret that `slot` holds in this variant (0: the base)."""
        return dict(self.variant).get(slot, 0)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces, no token."""
        return json.dumps(_encode(self), ensure_ascii=True, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Scenario:
        """Read what `to_json` wrote.

        Raises:
            UsageError: if `text` is no stored case.
        """
        try:
            return _decode(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"this is no stored case ({type(error).__name__}); give a file that a run wrote under "
                ".isolation/cases/, for example: isolation-kit replay .isolation/cases/1a2b3c.json"
            ) from None

    def digest(self) -> str:
        """16 hex digits over the canonical JSON."""
        return _digest(self)

    def base_digest(self) -> str:
        """The digest of the base case, equal for all of its variants."""
        return _digest(self if not self.variant else replace(self, variant=()))


def _digest(scenario: Scenario) -> str:
    return blake2b(scenario.to_json().encode(), digest_size=8).hexdigest()


def _act_texts(acts: tuple[Act, ...]) -> Iterator[str]:
    for act in acts:
        match act:
            case Say(text) | Answer(text):
                yield text
            case UseTool(_, query, reply):
                yield query
                yield reply
            case Delegate(_, task, inner, constants, _):
                yield task
                if constants:
                    yield constants
                yield from _act_texts(inner)


_FIELDS: Mapping[type[Any], tuple[str, ...]] = {
    kind: tuple(item.name for item in fields(kind)) for kind in (*_ACT_NAMES, Scenario, TurnPlan, Limits)
}


def _encode(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    kind = type(value)
    if kind in _FIELDS:
        out = {name: _encode(getattr(value, name)) for name in _FIELDS[kind]}
        if kind in _ACT_NAMES:
            out["act"] = _ACT_NAMES[kind]
        return out
    return value


_PLAIN = {"str": str, "int": int, "bool": bool}
_PLAIN_FIELDS: Mapping[type[Any], tuple[tuple[str, type[Any]], ...]] = {
    kind: tuple((item.name, _PLAIN[str(item.type)]) for item in fields(kind) if item.type in _PLAIN)
    for kind in _FIELDS
}


def _checked(value: Any) -> Any:
    """`value`, if its plain fields hold what they declare: a file edited by hand fails here, not in a run."""
    for name, kind in _PLAIN_FIELDS[type(value)]:
        if type(getattr(value, name)) is not kind:
            raise TypeError(name)
    return value


def _decode_act(raw: Mapping[str, Any]) -> Act:
    values = {name: raw[name] for name in raw if name != "act"}
    if raw["act"] == "delegate":
        values["acts"] = tuple(_decode_act(act) for act in values["acts"])
    act: Act = _checked(_ACTS[raw["act"]](**values))
    return act


def _decode(raw: Mapping[str, Any]) -> Scenario:
    turns = tuple(
        _checked(TurnPlan(**{**turn, "acts": tuple(_decode_act(act) for act in turn["acts"])}))
        for turn in raw["turns"]
    )
    scenario: Scenario = _checked(
        Scenario(
            **{
                **raw,
                "turns": turns,
                "users": tuple(raw["users"]),
                "subjects": tuple(raw["subjects"]),
                "root": Temperament(raw["root"]),
                "child": Temperament(raw["child"]),
                "limits": _checked(Limits(**raw["limits"])),
                "variant": tuple((slot, number) for slot, number in raw["variant"]),
            }
        )
    )
    if any(not 0 <= turn.user < len(scenario.users) for turn in turns):
        raise ValueError("a turn names no user")
    if any(turn.subject >= len(scenario.subjects) for turn in turns):
        raise ValueError("a turn names no subject")
    return scenario
