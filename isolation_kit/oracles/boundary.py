"""At a limit a text is cut openly and stays in its field, and an identifier is refused, never cut.

Variants: the last delegation's task is blown up to limit-1, limit, limit+1 and ten times the limit (scaled to
hundreds of characters), in a script of 0.2 to 4 tokens a character. Where less arrives than was sent, the cut
must be marked, must fall between two characters, must not push the rest into another field, and the whole
text must not be sent after all. With two users, the first variant gives them long names of a common beginning
and sessions of one name instead: whatever cuts such a name, or a key made of it, mixes the two up.
Kills: 54 and 63 of the table of seeded defects.
Source: article 000 sections 3.2 and 4.7.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement, Verdict
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of, verdict_of
from isolation_kit.policy import Policy
from isolation_kit.scenario import Delegate, Limits, Scenario, Slot
from isolation_kit.target import Declaration
from isolation_kit.trace import Channel, Event, Trace

__all__ = ["ORACLE"]

_NAME = "boundary"
_LIMITS = Limits(window=600, tool_output=400)
_TOKEN = 20  # characters of a token, which stands where the scenario has a placeholder
_BEGIN, _END = "PADDINGBEGINS", "PADDINGENDS"
_ATOMS = ("internationalization", "再来一个词", "ᄀᄁᄂᄃ", "𠜎𠜱𠝹", "𒀀𒀁𒀂", "🔎🔍🔦")
_BEGINNINGS = (65, 300, 6_000)  # characters that two names have in common
_READ = frozenset({Channel.CHILD_CONTEXT, Channel.CHILD_REQUEST})
_NODES = 5_000


class _Fault(NamedTuple):
    """What went wrong at a limit, in which event, and whether it lost something or brought something over."""

    form: str
    event: Event
    kind: Verdict
    what: str = str(Slot.TASK_INPUT)
    direction: Direction = Direction.DOWN


class _Blown(NamedTuple):
    """A case whose task was blown up: by what, in which turn, for the running number of which delegation."""

    scenario: Scenario
    padding: str
    atom: str
    turn: int


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    if declaration.scope == "campaign":
        return Judgement.not_applicable(_NAME, "the target stays up over cases, under limits of its own")
    if not scenario.quiet:
        return Judgement.not_applicable(_NAME, "a parrot repeats what was cut")
    at = _last_delegation(scenario)
    if at < 0:
        return Judgement.not_applicable(_NAME, "the case hands nothing to a child")
    sizes = [_LIMITS.window - 1, _LIMITS.window, _LIMITS.window + 1, 10 * _LIMITS.window]
    two = len({turn.user for turn in scenario.turns}) > 1
    blown = [_blown(scenario, at, size) for size in sizes[1 if two else 0 :]]
    base, *traces = yield (
        Variant(scenario),
        *(Variant(item.scenario) for item in blown),
        *((Variant(_long_names(scenario)),) if two else ()),
    )
    if base.error or base.refused:
        return Judgement.not_applicable(_NAME, "the target failed or refused")
    failed = next((trace.error for trace in traces[: len(blown)] if trace.error), "")
    if failed:
        return Judgement(_NAME, Verdict.ERROR, reason=f"with a text at the limit: {failed}")
    faults = list(_cuts(declaration, blown, traces))
    if two:
        faults += _mixed_up(base, traces[-1])
    seen: dict[tuple[Fingerprint, Verdict], Finding] = {}
    for fault in faults:
        finding = _finding(scenario, declaration, policy, fault)
        seen.setdefault((finding.fingerprint, finding.kind), finding)
    findings = tuple(seen[key] for key in sorted(seen))
    return Judgement(_NAME, verdict_of(findings), findings)


ORACLE = Oracle(
    name=_NAME,
    claim="at a limit a cut is open and stays in its field; identifiers are refused, never cut",
    check=_check,
    every={"quick": 400, "ci": 40, "deep": 4},
    source="article 000 section 4.7",
    may_raise=True,  # names of users that are too long are refused, in whatever way
)


# -- the variants ----------------------------------------------------------------------------------------


def _last_delegation(scenario: Scenario) -> int:
    """The last turn that hands something over, or -1."""
    return max((index for index, turn in enumerate(scenario.turns) if turn.delegations), default=-1)


def _blown(scenario: Scenario, at: int, size: int) -> _Blown:
    """The case with the first task of turn `at` as long as `size` says, under scaled limits."""
    said = "\n".join(scenario.texts())
    unused = [atom for atom in _ATOMS if atom not in said] or ["※"]
    atom = unused[scenario.seed % len(unused)]
    turn = scenario.turns[at]
    task = turn.delegations[0].task
    room = size - _length(task) - len(_BEGIN) - len(_END)
    padding = _BEGIN + (atom * (max(room, 0) // len(atom) + 1))[: max(room, 0)] + _END
    first = next(i for i, act in enumerate(turn.acts) if isinstance(act, Delegate))
    longer = replace(turn.delegations[0], task=task + padding, constants="", required=False)
    acts = (*turn.acts[:first], longer, *turn.acts[first + 1 :])
    turns = (*scenario.turns[:at], replace(turn, acts=acts), *scenario.turns[at + 1 :])
    limits = replace(scenario.limits, window=_LIMITS.window, tool_output=_LIMITS.tool_output)
    return _Blown(replace(scenario, turns=turns, limits=limits), padding, atom, at)


def _length(text: str) -> int:
    parts = text.split("{{canary:")
    return len(parts[0]) + sum(_TOKEN + len(part.partition("}}")[2]) for part in parts[1:])


def _long_names(scenario: Scenario) -> Scenario:
    """The same case with users whose names begin alike for long, and with sessions of equal names."""
    beginning = "u_" + "a" * _BEGINNINGS[scenario.seed % len(_BEGINNINGS)]
    sessions: dict[int, list[str]] = {}
    turns = []
    for turn in scenario.turns:
        own = sessions.setdefault(turn.user, [])
        if turn.session not in own:
            own.append(turn.session)
        turns.append(replace(turn, session=f"s{own.index(turn.session)}"))
    users = tuple(f"{beginning}{number}" for number in range(len(scenario.users)))
    return replace(scenario, users=users, turns=tuple(turns))


# -- what became of them ---------------------------------------------------------------------------------


def _mixed_up(base: Trace, named: Trace) -> Iterator[_Fault]:
    """Whose data reached another user only because the names were long. A refusal is right."""
    before = {(s.place.slot, event.channel) for s, event in _across(base)}
    for sighting, event in _across(named):
        if (sighting.place.slot, event.channel) not in before:
            slot = sighting.place.slot
            yield _Fault("a long name cut", event, Verdict.LEAK, slot, Direction.ACROSS)


def _across(trace: Trace) -> Iterator[tuple[Any, Event]]:
    events = {event.seq: event for event in trace.events}
    for sighting in trace.sightings:
        event = events[sighting.seq]
        if sighting.live and 0 <= sighting.place.user != event.user >= 0:
            yield sighting, event


def _cuts(declaration: Declaration, blown: list[_Blown], traces: list[Trace]) -> Iterator[_Fault]:
    after: set[str] = set()  # what follows the text where it arrives whole
    for item, trace in zip(blown, traces, strict=False):
        recipient = next((h for h in trace.handovers if h.turn == item.turn and not h.by[0]), None)
        if recipient is None:
            continue
        mine = (recipient.agent, recipient.instance)
        events = [e for e in trace.events if e.channel in _READ and (e.agent, e.instance) == mine]
        yield from _of_one(item, events, after)


def _of_one(item: _Blown, events: list[Event], after: set[str]) -> Iterator[_Fault]:
    """The faults of one variant. The same text on two channels: both must have been cut, or none."""
    cut = False
    for event in events:
        try:
            texts = tuple(_texts(json.loads(event.data), [_NODES]))
        except (ValueError, RecursionError):
            # Bytes that are no UTF-8, half a character among them, are no JSON either.
            if b"PADDING" in event.data and _broken(event.data):
                yield _Fault("cut inside a character", event, Verdict.LOSS)
            continue
        for text in texts:
            if _BEGIN not in text:
                if item.atom in text or _END in text:
                    yield _Fault("the rest in another field", event, Verdict.LEAK)
                continue
            came = text[text.index(_BEGIN) :]
            rest = came[_common(came, item.padding) :]
            if came.startswith(item.padding):
                after.add(rest)
                if cut:
                    yield _Fault("cut, and sent whole after all", event, Verdict.LEAK)
                continue
            cut = True
            if "\ufffd" in came or (not came.isascii() and any("\ud800" <= c <= "\udfff" for c in rest)):
                yield _Fault("cut inside a character", event, Verdict.LOSS)
            elif not rest or rest in after:
                yield _Fault("cut without a word", event, Verdict.LOSS)


def _broken(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _texts(value: Any, budget: list[int]) -> Iterator[str]:
    """Every text of a JSON value; JSON inside a text is read too, for fields may stand in there."""
    budget[0] -= 1
    if budget[0] < 0:
        return
    if isinstance(value, str):
        inner = _inner(value)
        if inner is None:
            yield value
        else:
            yield from _texts(inner, budget)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item, budget)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, budget)


def _inner(text: str) -> Any:
    """The JSON object or list that a text is, or that ends it behind a line of its own."""
    start = 0 if text.startswith(("{", "[")) else text.find("\n{") + 1
    if not start and not text.startswith(("{", "[")):
        return None
    try:
        inner = json.loads(text[start:])
    except (ValueError, RecursionError):
        return None
    return [text[:start], inner] if start else inner


def _finding(scenario: Scenario, declaration: Declaration, policy: Policy, fault: _Fault) -> Finding:
    event, channel = fault.event, str(fault.event.channel)
    return Finding(
        Fingerprint(
            declaration.name, declaration.edge(event.agent), fault.what, channel, str(fault.direction)
        ),
        _NAME,
        kind=fault.kind,
        mode=mode_of(scenario),
        form=fault.form,
        turn=event.turn,
        user=event.user,
        instance=event.instance,
        allowed_by=policy.allowed_by(fault.what, channel, event.agent, fault.direction),
    )
