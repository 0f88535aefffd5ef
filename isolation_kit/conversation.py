"""A case as a conversation that a person can read; canaries stand as `‹slot/user/turn›`, never as tokens."""

from __future__ import annotations

from collections.abc import Iterator

from isolation_kit.outcome import Line
from isolation_kit.scenario import Act, Answer, Delegate, Say, Scenario, UseTool, fill
from isolation_kit.target import Declaration

__all__ = ["conversation"]

_LONGEST = 400


def conversation(scenario: Scenario, declaration: Declaration | None = None) -> tuple[Line, ...]:
    """Every line of the script in order: who speaks, and what; agents by name where they are known."""
    return tuple(_lines(scenario, declaration))


def _lines(scenario: Scenario, declaration: Declaration | None) -> Iterator[Line]:
    root = declaration.root if declaration else "parent"
    if scenario.schedule.gated:
        yield Line("schedule", str(scenario.schedule))
    for turn in scenario.turns:
        user = scenario.users[turn.user] if turn.user < len(scenario.users) else f"u{turn.user}"
        about = (
            f", about {scenario.subjects[turn.subject]}" if 0 <= turn.subject < len(scenario.subjects) else ""
        )
        yield Line(f"user {user} (session {turn.session}{about})", _shown(turn.text))
        yield from _acts(root, turn.acts, declaration)


def _acts(who: str, acts: tuple[Act, ...], declaration: Declaration | None) -> Iterator[Line]:
    for act in acts:
        match act:
            case Say(text):
                yield Line(f"{who} thinks", _shown(text))
            case Answer(text):
                yield Line(f"{who} answers", _shown(text))
            case UseTool(tool, query, reply):
                yield Line(f"{who} calls {_tool(who, tool, declaration)}", _shown(query))
                yield Line("tool replies", _shown(reply))
            case Delegate(child, task, inner, constants, _):
                name = _child(who, child, declaration)
                yield Line(f"{who} to {name}", _shown(f"{task} {constants}".strip()))
                yield from _acts(name, inner, declaration)


def _child(parent: str, number: int, declaration: Declaration | None) -> str:
    names = tuple(declaration.agents[parent].children) if declaration else ()
    return names[number % len(names)] if names else f"child {number}"


def _tool(agent: str, number: int, declaration: Declaration | None) -> str:
    tools = declaration.agents[agent].tools if declaration and agent in declaration.agents else ()
    return tools[number % len(tools)].name if tools else f"tool {number}"


def _shown(text: str) -> str:
    shown = fill(text, lambda place: f"‹{place.label}›")
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}… [{len(shown) - _LONGEST} more characters]"
    return shown.encode("utf-8", "backslashreplace").decode()
