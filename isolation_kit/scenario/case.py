"""One complete case, and how it is written to JSON and read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from json import dumps, loads
from typing import Any

from isolation_kit.errors import UsageError
from isolation_kit.scenario.acts import (
    ACT_NAMES,
    ACTS,
    Act,
    Answer,
    Delegate,
    Limits,
    Say,
    Temperament,
    TurnPlan,
    UseTool,
)
from isolation_kit.scenario.places import Place, check_slot, places_in
from isolation_kit.scenario.schedule import Break, Breaking, Order, Schedule

__all__ = ["EARLIER_USER", "Scenario"]

EARLIER_USER = "u_earlier"  # whose session a paired run puts before a case

_FREE = Schedule()
_MOST = 1_000_000_000  # of a step, a limit, the number of a secret: what a file may ask for


@dataclass(frozen=True, slots=True)
class Scenario:
    """One complete case. `users` and `subjects` are names; turns refer to them by index.

    `lead` turns at the beginning were put before the case by a paired run; places count from there.
    `skins` names the shape that a slot's canaries wear, where it is not the bare token.
    """

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
    schedule: Schedule = _FREE
    lead: int = 0
    skins: tuple[tuple[str, str], ...] = ()

    def __hash__(self) -> int:
        """By what tells generated cases apart; hashing every text would cost more than running the case."""
        return hash((self.family, self.attack, self.seed, self.variant, len(self.turns), self.schedule))

    @property
    def quiet(self) -> bool:
        """True if no puppet copies its context: what leaks now is structural."""
        return self.root is Temperament.QUIET and self.child is Temperament.QUIET

    @property
    def at_once(self) -> bool:
        """True if turns of several users may be open at the same time."""
        return self.concurrent or self.schedule.gated

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

    def scheduled(self, schedule: Schedule) -> Scenario:
        """The same case, with the same tokens, under another schedule."""
        return replace(self, schedule=schedule)

    def variant_of(self, slot: str) -> int:
        """The number of the secret that `slot` holds in this variant (0: the base)."""
        return dict(self.variant).get(slot, 0)

    def with_skins(self, skins: Mapping[str, str]) -> Scenario:
        """The same case with the canaries of these slots in shapes of their own, for example an e-mail's.

        Args:
            skins: names of `isolation_kit.canary.Skin` by slot.
        """
        return replace(self, skins=tuple(sorted((slot, str(skin)) for slot, skin in skins.items())))

    def skin_of(self, slot: str) -> str:
        """The name of the skin that the canaries of `slot` wear: `opaque` is the bare token."""
        return dict(self.skins).get(slot, "opaque")

    def somebody_else(self, user: int) -> str:
        """The name of another user than the one with this index; one that nobody has, if there is none."""
        own = [name for name in self.users if name != EARLIER_USER]
        return own[(user + 1) % len(own)] if 1 < len(own) > user else "u_somebody_else"

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces, no token."""
        return dumps(self, default=_fields_of, ensure_ascii=True, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Scenario:
        """Read what `to_json` wrote.

        Raises:
            UsageError: if `text` is no stored case.
        """
        try:
            return _decode(loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(
                f"this is no stored case ({type(error).__name__}); give a file that a run wrote under "
                ".isolation/cases/, for example: isolation-kit replay .isolation/cases/1a2b3c.json"
            ) from None

    def digest(self) -> str:
        """16 hex digits over the canonical JSON."""
        return _digest(self)

    def base_digest(self) -> str:
        """The digest of the base case, equal for all of its variants and schedules."""
        base = not self.variant and self.schedule == _FREE
        return _digest(self if base else replace(self, variant=(), schedule=_FREE))


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


_KINDS: tuple[type[Any], ...] = (*ACT_NAMES, Scenario, TurnPlan, Limits, Schedule, Break)
_FIELDS: Mapping[type[Any], tuple[str, ...]] = {
    kind: tuple(item.name for item in fields(kind)) for kind in _KINDS
}


def _fields_of(value: Any) -> dict[str, Any]:
    kind = type(value)
    out = {name: getattr(value, name) for name in _FIELDS[kind]}
    if kind in ACT_NAMES:
        out["act"] = ACT_NAMES[kind]
    if kind is Scenario:  # cases without a schedule, a lead or skins keep their old digests
        if value.schedule == _FREE:
            del out["schedule"]
        if not value.lead:
            del out["lead"]
        if not value.skins:
            del out["skins"]
    return out


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


def _listed(value: Any, kind: type[Any] = dict) -> tuple[Any, ...]:
    """The items of a JSON list, if each is of one kind; a text or an object iterates as well, and is none."""
    if type(value) is not list or any(type(item) is not kind for item in value):
        raise TypeError("a list")
    return tuple(value)


def _decode_act(raw: Mapping[str, Any]) -> Act:
    values = {name: raw[name] for name in raw if name != "act"}
    if raw["act"] == "delegate":
        values["acts"] = tuple(_decode_act(act) for act in _listed(values["acts"]))
    act: Act = _checked(ACTS[raw["act"]](**values))
    return act


def _decode_schedule(raw: Mapping[str, Any] | None) -> Schedule:
    if raw is None:
        return _FREE
    breaks = tuple(
        _checked(Break(**{**item, "kind": Breaking(item["kind"])})) for item in _listed(raw["breaks"])
    )
    schedule: Schedule = _checked(Schedule(**{**raw, "order": Order(raw["order"]), "breaks": breaks}))
    return schedule


def _decode_skin(raw: list[Any]) -> tuple[str, str]:
    slot, skin = _listed(raw, str)
    return check_slot(slot), skin


def _decode_variant(raw: Any) -> tuple[tuple[str, int], ...]:
    pairs = tuple((slot, number) for slot, number in _listed(raw, list))
    if any(type(number) is not int or not 0 <= number <= _MOST for _, number in pairs):
        raise ValueError("a variant is no number of a secret")
    return tuple((check_slot(slot), number) for slot, number in pairs)


def _decode(raw: Mapping[str, Any]) -> Scenario:
    turns = tuple(
        _checked(TurnPlan(**{**turn, "acts": tuple(_decode_act(act) for act in _listed(turn["acts"]))}))
        for turn in _listed(raw["turns"])
    )
    scenario: Scenario = _checked(
        Scenario(
            **{
                **raw,
                "turns": turns,
                "users": _listed(raw["users"], str),
                "subjects": _listed(raw["subjects"], str),
                "root": Temperament(raw["root"]),
                "child": Temperament(raw["child"]),
                "limits": _checked(Limits(**raw["limits"])),
                "variant": _decode_variant(raw["variant"]),
                "schedule": _decode_schedule(raw.get("schedule")),
                "skins": tuple(map(_decode_skin, _listed(raw.get("skins", []), list))),
            }
        )
    )
    if any(not 0 <= turn.user < len(scenario.users) for turn in turns):
        raise ValueError("a turn names no user")
    if any(not -1 <= turn.subject < len(scenario.subjects) for turn in turns):
        raise ValueError("a turn names no subject")
    if not 0 <= scenario.lead <= len(turns):
        raise ValueError("the case has no so many turns before it")
    if any(not 0 <= getattr(scenario.limits, name) <= _MOST for name in _FIELDS[Limits]):
        raise ValueError("a limit is out of range")
    for place in scenario.places():
        check_slot(place.slot)
    _check_schedule(scenario.schedule, scenario)
    return scenario


def _check_schedule(schedule: Schedule, scenario: Scenario) -> None:
    for item in schedule.breaks:
        if not 0 <= item.turn < len(scenario.turns) or not 0 <= item.step <= _MOST:
            raise ValueError("a break names no step of a turn")
    if not -1 <= schedule.only < len(scenario.users):
        raise ValueError("the schedule names no user")
