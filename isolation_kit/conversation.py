"""A case as a conversation that a person can read; canaries stand as `‹slot/user/turn›`, never as tokens."""

from __future__ import annotations

from collections.abc import Iterator

from isolation_kit.outcome import Line
from isolation_kit.scenario import Act, Answer, Delegate, Say, Scenario, UseTool, fill

__all__ = ["conversation"]

_LONGEST = 400


def conversation(scenario: Scenario) -> tuple[Line, ...]:
    """Every line of the script in order: who speaks, and what."""
    return tuple(_lines(scenario))


def _lines(scenario: Scenario) -> Iterator[Line]:
    for turn in scenario.turns:
        user = scenario.users[turn.user] if turn.user < len(scenario.users) else f"u{turn.user}"
        about = (
            f", about {scenario.subjects[turn.subject]}" if 0 <= turn.subject < len(scenario.subjects) else ""
        )
        yield Line(f"user {user} (session {turn.session}{about})", _shown(turn.text))
        yield from _acts("parent", turn.acts)


def _acts(who: str, acts: tuple[Act, ...]) -> Iterator[Line]:
    for act in acts:
        match act:
            case Say(text):
                yield Line(f"{who} thinks", _shown(text))
            case Answer(text):
                yield Line(f"{who} answers", _shown(text))
            case UseTool(tool, query, reply):
                yield Line(f"{who} calls tool {tool}", _shown(query))
                yield Line("tool replies", _shown(reply))
            case Delegate(child, task, inner, constants, _):
                yield Line(f"{who} to child {child}", _shown(f"{task} {constants}".strip()))
                yield from _acts(f"child {child}", inner)


def _shown(text: str) -> str:
    shown = fill(text, lambda place: f"‹{place.label}›")
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}… [{len(shown) - _LONGEST} more characters]"
    return shown.encode("utf-8", "backslashreplace").decode()
