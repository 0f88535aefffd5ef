"""The task brief: all that a child is told (article 002, sections 4 and 5).

Goal, inputs, tools allowed and forbidden, acceptance, output schema, constraints, and `global_context`, which
holds condensed constants of the deployment and nothing of the conversation. Free text is cut at the window,
with a mark; an identifier is refused, never cut, because a cut one can be another user's (article 000, 4.7).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from isolation_kit.errors import IsolationKitError
from isolation_kit.runtime.text import cut, encodable

__all__ = ["BriefError", "TaskBrief", "checked_brief", "is_identifier_field"]

_IDENTIFIER = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_IDENTIFIER_FIELD = re.compile(r"(?:.*_)?ids?\Z")


class BriefError(IsolationKitError):
    """A brief that no child may start from; the message names the field and the rule, never the value."""


@dataclass(frozen=True, slots=True)
class TaskBrief:
    """The one document that a child starts from."""

    task_id: str
    goal: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    forbidden_tools: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    output_schema: Mapping[str, Any] = field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    global_context: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What travels, as JSON values; the output schema does not, the executor knows its own."""
        return {
            "task_id": self.task_id,
            "goal": self.goal,
            "inputs": dict(self.inputs),
            "allowed_tools": list(self.allowed_tools),
            "forbidden_tools": list(self.forbidden_tools),
            "acceptance": list(self.acceptance),
            "constraints": list(self.constraints),
            "global_context": self.global_context,
        }


def is_identifier_field(name: str) -> bool:
    """True for `id`, `user_id`, `order_ids` and the like."""
    return _IDENTIFIER_FIELD.match(name) is not None


def checked_brief(brief: TaskBrief, window: int) -> TaskBrief:
    """`brief` with its free texts cut at `window` characters each, so that none spills into another field.

    The window in tokens, of the whole context, is the contract's: see `window.fitted_brief`.

    Raises:
        BriefError: for a malformed or too long identifier, a field of the wrong type, text that is no UTF-8,
            an empty goal, or a tool that is both allowed and forbidden.
    """
    _check_identifier("task_id", brief.task_id)
    _check_shapes(brief)
    if not brief.goal:
        raise BriefError("the brief has no goal; say in one sentence what the child is to deliver")
    both = set(brief.allowed_tools) & set(brief.forbidden_tools)
    if both:
        raise BriefError(f"the brief allows and forbids {', '.join(sorted(both))}; name each tool once")
    return replace(
        brief,
        goal=_free_text("goal", brief.goal, window),
        inputs={name: _input(name, value, window) for name, value in brief.inputs.items()},
        acceptance=tuple(_free_text("acceptance", text, window) for text in brief.acceptance),
        constraints=tuple(_free_text("constraints", text, window) for text in brief.constraints),
        global_context=_free_text("global_context", brief.global_context, window),
    )


def _check_shapes(brief: TaskBrief) -> None:
    for name in ("allowed_tools", "forbidden_tools", "acceptance", "constraints"):
        if not isinstance(getattr(brief, name), tuple):
            raise BriefError(f"{name} is no tuple; give a tuple of texts, for example ('lookup',)")
    for tool in (*brief.allowed_tools, *brief.forbidden_tools):
        _check_identifier("allowed_tools or forbidden_tools", tool)
    if not isinstance(brief.inputs, Mapping):
        raise BriefError(
            "inputs is no mapping; give texts by name, for example {'request': 'list the bills'}"
        )
    for name in brief.inputs:
        if not isinstance(name, str) or not 0 < len(name) <= 64 or not encodable(name):
            raise BriefError(
                "inputs has a malformed name; allowed are 1 to 64 characters, for example 'request'"
            )


def _input(name: str, value: str, window: int) -> str:
    if is_identifier_field(name):
        _check_identifier(f"inputs.{name}", value)
        return value
    return _free_text(f"inputs.{name}", value, window)


def _check_identifier(name: str, value: object) -> None:
    if not isinstance(value, str) or not _IDENTIFIER.match(value):
        size = f"{len(value)} characters" if isinstance(value, str) else type(value).__name__
        raise BriefError(
            f"the identifier {name} is malformed ({size}); allowed are 1 to 64 letters, digits, '_' and '-', "
            "for example 'U_8a3f'; an identifier is refused, never cut: ask the user for the right one"
        )


def _free_text(name: str, value: object, window: int) -> str:
    if not isinstance(value, str):
        raise BriefError(
            f"{name} is of type {type(value).__name__}; it must be text, for example 'list the bills'"
        )
    if not encodable(value):
        raise BriefError(f"{name} holds a lone surrogate and is no UTF-8 text; send the text as it was typed")
    return cut(value, window)
