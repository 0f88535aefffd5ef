"""The search for a smaller case: candidates in order, the boldest change first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from isolation_kit.reduction.shorter import shorter, shorter_reply
from isolation_kit.scenario import (
    Act,
    Answer,
    Delegate,
    Limits,
    Place,
    Say,
    Scenario,
    Schedule,
    Temperament,
    TurnPlan,
    UseTool,
    fill,
    places_in,
)

__all__ = ["reduce"]


_FIELD = "field."


def reduce(
    scenario: Scenario, still_leaks: Callable[[Scenario], bool], budget: int = 500, slot: str = ""
) -> tuple[Scenario, int]:
    """The smallest case found that still leaks, and how many executions it took.

    Args:
        still_leaks: runs the finding's witness on a candidate.
        budget: the most candidates that may be tried.
        slot: what leaks, a slot or `field.<name>`; a case with nothing else in it is tried first.
    """
    tried: set[str] = {scenario.digest()}
    spent = 0
    progress = True
    focused = _focused(scenario, slot) if slot else scenario
    if budget and focused.digest() not in tried:
        tried.add(focused.digest())
        spent = 1
        scenario = focused if still_leaks(focused) else scenario
    while progress and spent < budget:
        progress = False
        for candidate in _candidates(scenario):
            digest = candidate.digest()
            if digest in tried:
                continue
            tried.add(digest)
            spent += 1
            if still_leaks(candidate):
                scenario, progress = candidate, True
                break
            if spent >= budget:
                break
    return scenario, spent


def _focused(scenario: Scenario, slot: str) -> Scenario:
    """The case with only those texts and acts that plant `slot`, and the ways to them."""

    def text(value: str) -> str:
        return " ".join(place.placeholder for place in places_in(value) if place.slot == slot)

    def acts(old: tuple[Act, ...]) -> tuple[Act, ...]:
        return tuple(kept for act in old if (kept := _focused_act(act, slot, text, acts)) is not None)

    return replace(
        scenario,
        turns=tuple(replace(turn, text=text(turn.text), acts=acts(turn.acts)) for turn in scenario.turns),
    )


def _focused_act(
    act: Act, slot: str, text: Callable[[str], str], acts: Callable[[tuple[Act, ...]], tuple[Act, ...]]
) -> Act | None:
    match act:
        case Say(value) | Answer(value):
            return replace(act, text=text(value)) if text(value) else None
        case UseTool(_, query, reply):
            if slot.startswith(_FIELD):
                return replace(act, query="")
            if not text(query) and not text(reply):
                return None
            return replace(act, query=text(query), reply=reply if text(reply) else "{}")
        case Delegate():
            return replace(act, task=text(act.task), constants=text(act.constants), acts=acts(act.acts))


def _candidates(scenario: Scenario) -> Iterator[Scenario]:
    """Simpler cases, the boldest change first."""
    yield from _whole(scenario)
    for index in range(len(scenario.turns)):
        yield _without_turn(scenario, index)
    yield from _fewer_users(scenario)
    for index, turn in enumerate(scenario.turns):
        for acts in _fewer_acts(turn.acts):
            yield _with_turn(scenario, index, replace(turn, acts=acts))
    for index, turn in enumerate(scenario.turns):
        if turn.session != "s":
            yield _with_turn(scenario, index, replace(turn, session="s"))
        for text in shorter(turn.text):
            yield _with_turn(scenario, index, replace(turn, text=text))
        for acts in _shorter_acts(turn.acts):
            yield _with_turn(scenario, index, replace(turn, acts=acts))


def _whole(scenario: Scenario) -> Iterator[Scenario]:
    if not scenario.quiet:
        yield replace(scenario, root=Temperament.QUIET, child=Temperament.QUIET)
        yield replace(scenario, root=Temperament.QUIET)
        yield replace(scenario, child=Temperament.QUIET)
    if scenario.concurrent:
        yield replace(scenario, concurrent=False)
    yield from _plainer(scenario)
    if scenario.limits != Limits():
        yield replace(scenario, limits=Limits())
    if scenario.subjects and all(turn.subject < 0 for turn in scenario.turns):
        yield replace(scenario, subjects=())
    if len(scenario.turns) > 2:
        last = scenario
        while len(last.turns) > 1:
            last = _without_turn(last, 0)
        yield last


def _plainer(scenario: Scenario) -> Iterator[Scenario]:
    """The case without its schedule, or without one of its breaks."""
    schedule = scenario.schedule
    if schedule != Schedule():
        yield scenario.scheduled(Schedule())
    for number in range(len(schedule.breaks)):
        rest = (*schedule.breaks[:number], *schedule.breaks[number + 1 :])
        yield scenario.scheduled(replace(schedule, breaks=rest))


def _with_turn(scenario: Scenario, index: int, turn: TurnPlan) -> Scenario:
    return replace(scenario, turns=(*scenario.turns[:index], turn, *scenario.turns[index + 1 :]))


def _without_turn(scenario: Scenario, index: int) -> Scenario:
    """The case without one turn; later turns move up, and their places with them."""
    if len(scenario.turns) == 1:
        return scenario
    kept = (*scenario.turns[:index], *scenario.turns[index + 1 :])

    def moved(place: Place) -> Place:
        return place._replace(turn=place.turn - 1) if place.turn > index else place

    breaks = tuple(
        replace(item, turn=item.turn - 1) if item.turn > index else item
        for item in scenario.schedule.breaks
        if item.turn != index
    )
    return replace(
        scenario,
        turns=tuple(_mapped(turn, moved) for turn in kept),
        schedule=replace(scenario.schedule, breaks=breaks),
    )


def _fewer_users(scenario: Scenario) -> Iterator[Scenario]:
    if any(turn.subject >= 0 for turn in scenario.turns):
        yield replace(
            scenario,
            subjects=(),
            turns=tuple(
                replace(_mapped(turn, lambda place: place._replace(subject=-1)), subject=-1)
                for turn in scenario.turns
            ),
        )
    used = sorted({turn.user for turn in scenario.turns})
    if len(used) > 1:
        for user in used[1:]:
            yield _renamed(scenario, {user: used[0]})
    if used != list(range(len(scenario.users))):
        numbers = {user: number for number, user in enumerate(used)}
        only = numbers.get(scenario.schedule.only, -1)
        yield replace(
            _renamed(scenario, numbers),
            users=tuple(scenario.users[user] for user in used),
            schedule=replace(scenario.schedule, only=only),
        )


def _renamed(scenario: Scenario, users: dict[int, int]) -> Scenario:
    def moved(place: Place) -> Place:
        return place._replace(user=users.get(place.user, place.user))

    return replace(
        scenario,
        turns=tuple(
            replace(_mapped(turn, moved), user=users.get(turn.user, turn.user)) for turn in scenario.turns
        ),
        schedule=replace(scenario.schedule, only=users.get(scenario.schedule.only, scenario.schedule.only)),
    )


def _mapped(turn: TurnPlan, change: Callable[[Place], Place]) -> TurnPlan:
    def text(value: str) -> str:
        return fill(value, lambda place: change(place).placeholder)

    return replace(turn, text=text(turn.text), acts=tuple(_mapped_act(act, text) for act in turn.acts))


def _mapped_act(act: Act, text: Callable[[str], str]) -> Act:
    match act:
        case Say(value):
            return Say(text(value))
        case Answer(value):
            return Answer(text(value))
        case UseTool(tool, query, reply):
            return UseTool(tool, text(query), text(reply))
        case Delegate():
            return replace(
                act,
                task=text(act.task),
                constants=text(act.constants),
                acts=tuple(_mapped_act(inner, text) for inner in act.acts),
            )


def _fewer_acts(acts: tuple[Act, ...]) -> Iterator[tuple[Act, ...]]:
    for index in range(len(acts)):
        yield (*acts[:index], *acts[index + 1 :])
    for index, act in enumerate(acts):
        if isinstance(act, Delegate):
            for inner in _fewer_acts(act.acts):
                yield (*acts[:index], replace(act, acts=inner), *acts[index + 1 :])
            if act.constants:
                yield (*acts[:index], replace(act, constants=""), *acts[index + 1 :])


def _shorter_acts(acts: tuple[Act, ...]) -> Iterator[tuple[Act, ...]]:
    for index, act in enumerate(acts):
        for simpler in _shorter_act(act):
            yield (*acts[:index], simpler, *acts[index + 1 :])


def _shorter_act(act: Act) -> Iterator[Act]:
    match act:
        case Say(text) | Answer(text):
            yield from (replace(act, text=value) for value in shorter(text))
        case UseTool():
            yield from (replace(act, query=value) for value in shorter(act.query))
            yield from (replace(act, reply=value) for value in shorter_reply(act.reply))
        case Delegate():
            if act.child:
                yield replace(act, child=0)
            yield from (replace(act, task=value) for value in shorter(act.task))
            yield from (replace(act, constants=value) for value in shorter(act.constants))
            yield from (replace(act, acts=inner) for inner in _shorter_acts(act.acts))
