"""The planning context of a parent's model: the goal, the open work, a line for each finished subtask.

Article 003, section 5.1: what a finished subtask brought moves from the open work to a done area, and the
goal is stated again. The history stays the truth; this is a view of it, made anew for each request. The
newest replies stand in it whole, so the model reads each result once; from then on it sees the line. The line
stays the reply of a tool: as a message of the system or the user, a child's words would weigh too much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isolation_kit.runtime.messages import Message, ToolCall
from isolation_kit.runtime.text import canonical, cut

__all__ = ["AGAIN", "GOAL_LIMIT", "LINE_LIMIT", "TASK_LIMIT", "Subtask", "done_line", "planning_context"]

LINE_LIMIT = 800  # characters of a line of the done area
TASK_LIMIT = 200  # characters of the task in the call that a line answers
GOAL_LIMIT = 1000  # characters of the goal when it is stated again; where the turn begins, it stands whole
_LONGEST = (200, 80)  # an output of a line; shorter ones would cut identifiers
AGAIN = "The goal of this turn, stated again:\n"


@dataclass(frozen=True, slots=True)
class Subtask:
    """A finished subtask: the place of its reply in the history, and the reply that the done area holds."""

    at: int
    reply: Message


def done_line(number: int, report: Mapping[str, Any]) -> str:
    """The `number`-th finished subtask in at most `LINE_LIMIT` characters, from its report (`failures`).

    Long outputs are cut, with a mark. Of too many outputs or references only the number is left.
    """
    report = {"done": number, **report}
    line = canonical(report)
    for longest in _LONGEST:
        if len(line) <= LINE_LIMIT:
            return line
        line = canonical(_shortened(report, longest))
    if len(line) <= LINE_LIMIT:
        return line
    for name in ("key_outputs", "artifacts"):
        many = report.pop(name, ())
        report |= {f"{name}_left_out": len(many)} if many else {}
    return canonical(_shortened(report, _LONGEST[-1]))


def _shortened(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return cut(value, longest)
    if isinstance(value, list):
        return [_shortened(item, longest) for item in value]
    if isinstance(value, Mapping):
        return {key: _shortened(item, longest) for key, item in value.items()}
    return value


def planning_context(history: Sequence[Message], done: Sequence[Subtask]) -> tuple[Message, ...]:
    """What the parent's model is sent of `history`, `done` being its finished subtasks, oldest first."""
    if not done:
        return tuple(history)
    turn = _last(history, lambda role: role == "user")
    newest = _last(history, lambda role: role != "tool")
    replies = {subtask.at: subtask.reply for subtask in done if subtask.at < newest}
    view = [
        replies.get(at) or (_brief_calls(at, message, replies) if message.calls else message)
        for at, message in enumerate(history)
    ]
    if done[-1].at > turn >= 0:
        view.append(Message("user", AGAIN + cut(history[turn].content, GOAL_LIMIT)))
    return tuple(view)


def _last(history: Sequence[Message], role: Callable[[str], bool]) -> int:
    """The place of the last message whose role fits, or -1."""
    return next((at for at in range(len(history) - 1, -1, -1) if role(history[at].role)), -1)


def _brief_calls(at: int, message: Message, replies: Mapping[int, Message]) -> Message:
    """The message at `at` with the calls of finished subtasks in short; the replies follow it in order."""
    calls = tuple(
        _brief(call) if at + place in replies else call for place, call in enumerate(message.calls, start=1)
    )
    return message if calls == message.calls else replace(message, calls=calls)


def _brief(call: ToolCall) -> ToolCall:
    if all(isinstance(value, str) and len(value) <= TASK_LIMIT for value in call.arguments.values()):
        return call
    return replace(call, arguments=_shortened(call.arguments, TASK_LIMIT))
