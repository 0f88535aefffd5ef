"""Pure changes of a scenario for paired runs. Every place keeps its number, so allowed tokens stay the same.

A variation is named by a short text (`value:user.current:1`, `padded:user.current`, `chat`), which a finding
carries: with it the pair of cases, base and varied, can be made again from the base alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace

from isolation_kit.scenario import (
    EARLIER_USER,
    Act,
    Answer,
    Delegate,
    Place,
    Say,
    Scenario,
    TurnPlan,
    UseTool,
    fill,
    places_in,
)

__all__ = ["after", "broken", "chatted", "emptied", "following", "padded", "pair", "repeated", "valued"]

# Longer, wider in bytes, and on more lines; no quote or backslash, for it may stand in a JSON string.
_PAD = " and more than that" * 3 + " 更多的字" * 3 + " \U0001f4ce"
_CHAT = TurnPlan(0, "Thank you, that was all for now.", (Answer("You are welcome."),))
_ENDED = "ended before"
_PLACEHOLDER = re.compile(r"\{\{canary:([a-z0-9_.]+)/[^{}]*\}\}")


def pair(scenario: Scenario, name: str) -> tuple[Scenario, Scenario]:
    """The two cases that the variation `name` compares.

    Raises:
        ValueError: for a text that names no variation.
    """
    kind, _, rest = name.partition(":")
    slots, _, number = rest.partition(":")
    names = slots.split(",")
    if kind == "value":
        return scenario, valued(scenario, names, int(number))
    if kind == "error":
        return broken(scenario), valued(broken(scenario), names, int(number))
    if kind == "padded":
        return scenario, padded(scenario, names)
    if kind == "empty":
        return scenario, emptied(scenario, names)
    if kind == "chat":
        return scenario, chatted(scenario)
    if kind == "repeated":
        return scenario, repeated(scenario)
    if kind == "after":
        return scenario, after(scenario, rest)
    raise ValueError(kind)


def valued(scenario: Scenario, slots: Collection[str], number: int) -> Scenario:
    """Other secrets in `slots`, of equal length and type."""
    return scenario.with_variant(dict.fromkeys(slots, number))


def padded(scenario: Scenario, slots: Collection[str]) -> Scenario:
    """More text, in more bytes a character, beside each secret of `slots`."""

    def beside(match: re.Match[str]) -> str:
        return match[0] + _PAD if match[1] in slots else match[0]

    return _texts(scenario, lambda text: _PLACEHOLDER.sub(beside, text))


def emptied(scenario: Scenario, slots: Collection[str]) -> Scenario:
    """Nothing where only secrets of `slots` stood: an empty history under the same tasks."""

    def nothing(text: str) -> str:
        places = places_in(text)
        if not places or any(place.slot not in slots for place in places):
            return text
        return "{}" if text.startswith("{") and not text.startswith("{{") else ""

    return _texts(scenario, nothing)


def chatted(scenario: Scenario) -> Scenario:
    """A turn more at the beginning of each session, in which nothing is handed to a child."""
    opened = dict.fromkeys((turn.user, turn.session) for turn in scenario.turns)
    return _led(scenario, [replace(_CHAT, user=user, session=session) for user, session in opened])


def repeated(scenario: Scenario) -> Scenario:
    """The first turn that delegates comes once more, in its session before the case, with its own tokens."""
    return _led(scenario, _delegating(scenario)[:1])


def after(scenario: Scenario, whose: str) -> Scenario:
    """The case after a session that ended: of another `user`, another `session` of its first user, or both.

    What was said there is what the case's last two delegating turns say, with tokens of its own.
    """
    copied, users = _delegating(scenario)[-2:], len(scenario.users)
    owners = {"user": (users,), "session": (scenario.turns[0].user,)}.get(
        whose, (users, scenario.turns[0].user)
    )
    before = [replace(turn, user=user, session=_ENDED) for user in owners for turn in copied]
    return _led(replace(scenario, users=(*scenario.users, EARLIER_USER)), before)


def following(scenario: Scenario, earlier: Scenario, end: int = -1) -> Scenario:
    """The case after another one, which is an ended session of its first (`end` 0) or last (-1) user."""
    user = scenario.turns[end].user if scenario.turns else 0
    before = [replace(turn, user=user, session=_ENDED, subject=-1) for turn in earlier.turns]
    return _led(scenario, before, subjects=False)


def _delegating(scenario: Scenario) -> list[TurnPlan]:
    return [turn for turn in scenario.turns if turn.delegations]


def _led(scenario: Scenario, before: list[TurnPlan], subjects: bool = True) -> Scenario:
    """The case with turns before it, whose places are theirs alone; without `subjects`, about nobody."""
    lead = scenario.lead + len(before)
    turns = [_moved(turn, index - lead, subjects) for index, turn in enumerate(before)]
    return replace(scenario, turns=(*turns, *scenario.turns), lead=lead)


def _moved(turn: TurnPlan, number: int, subjects: bool) -> TurnPlan:
    def moved(place: Place) -> str:
        subject = place.subject if subjects else -1
        return place._replace(user=turn.user, turn=number, subject=subject).placeholder

    def elsewhere(text: str) -> str:
        return fill(text, moved)

    acts = tuple(_changed(act, elsewhere, tasks=True) for act in turn.acts)
    return replace(turn, text=elsewhere(turn.text), acts=acts)


def broken(scenario: Scenario) -> Scenario:
    """Every tool of a child answers with what no parser takes: its error path."""

    def fails(act: Act, below: bool) -> Act:
        if isinstance(act, Delegate):
            return replace(act, acts=tuple(fails(inner, True) for inner in act.acts))
        return replace(act, reply='{"broken": ' + act.reply) if below and isinstance(act, UseTool) else act

    turns = (replace(turn, acts=tuple(fails(act, False) for act in turn.acts)) for turn in scenario.turns)
    return replace(scenario, turns=tuple(turns))


def _texts(scenario: Scenario, change: Callable[[str], str]) -> Scenario:
    """Every text changed but the tasks: those are what a child may see."""
    turns = (
        replace(turn, text=change(turn.text), acts=tuple(_changed(act, change) for act in turn.acts))
        for turn in scenario.turns
    )
    return replace(scenario, turns=tuple(turns))


def _changed(act: Act, change: Callable[[str], str], tasks: bool = False) -> Act:
    match act:
        case Say(text) | Answer(text):
            return replace(act, text=change(text))
        case UseTool():
            return replace(act, query=change(act.query), reply=change(act.reply))
        case Delegate():
            acts = tuple(_changed(inner, change, tasks) for inner in act.acts)
            if not tasks:
                return replace(act, acts=acts)
            return replace(act, task=change(act.task), constants=change(act.constants), acts=acts)
