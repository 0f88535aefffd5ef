"""The window: what a child's model is really sent, counted in tokens, fits `context_window_size`.

Two limits hold for a brief. `RunLimits.window` counts characters of one field (`brief.checked_brief`); the
contract's window counts tokens of the built messages and the offered tools together, and is enforced here:
first of the initial context, then, as the child's memory grows, of each request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from isolation_kit.runtime.brief import BriefError, TaskBrief, is_identifier_field
from isolation_kit.runtime.context import build_child_context
from isolation_kit.runtime.messages import Message, ToolSpec
from isolation_kit.runtime.text import canonical
from isolation_kit.runtime.tokens import FRAME, TokenCounter, cut_to_tokens, utf8_ceiling

__all__ = ["Room", "fitted_brief", "most_bytes"]

_LEAST = 64  # tokens that a cut field keeps: its beginning and the mark
_WIDEST = 6  # bytes of a character in JSON, where a control character is written as an escape
_FRAMING = 2 * FRAME  # bytes around a text: quotes, separators, the frame of its message or tool
_OPENING = 1000  # bytes of the rules that every child reads, with the names of the fields


class Room:
    """What is left of a child's window, in tokens. One living child has one."""

    def __init__(self, size: int, tools: tuple[ToolSpec, ...], count: TokenCounter) -> None:
        self._count = count
        self.left = size - sum(count(tool.definition) + FRAME for tool in tools)

    def take(self, *messages: Message) -> None:
        """Count messages that every later request repeats; below 0 the next request would not fit."""
        for message in messages:
            self.left -= self._count(message.content) + FRAME
            for call in message.calls:
                self.left -= self._count(call.name) + self._count(call.text) + FRAME

    def holds(self, text: str) -> bool:
        """True if a message with this text still fits."""
        return self._count(text) + FRAME <= self.left


def fitted_brief(brief: TaskBrief, tools: tuple[ToolSpec, ...], size: int, count: TokenCounter) -> TaskBrief:
    """`brief` with its free texts cut, where they must be, so that its context fits `size` tokens.

    The rule: the task's inputs are cut first, the largest first; then the deployment's `global_context`; then
    the goal; the constraints last, the largest first. A field loses what is missing but keeps 64 tokens (its
    beginning and the mark); only then is the next one touched. Identifiers, acceptance criteria and names of
    tools are never cut. A brief that fits comes back as it is, so that cutting twice changes nothing.

    Raises:
        BriefError: if what must not be cut is too large for the window.
    """
    if count is utf8_ceiling and most_bytes(brief, tools) <= size:
        return brief
    missing = _missing(brief, tools, size, count)
    if missing <= 0:
        return brief
    for field, key in tuple(_cutting_order(brief, count)):
        # A counter that is no sum of its parts may need a second look at the same field.
        for _ in range(3):
            brief = _shortened(brief, field, key, missing, count)
            missing = _missing(brief, tools, size, count)
            if missing <= 0:
                return brief
    raise BriefError(
        f"the context needs {size + missing} tokens with every free text cut; the contract's "
        f"context_window_size allows {size}; shorten goal, constraints or the tools' descriptions, or state "
        "a larger window"
    )


def most_bytes(brief: TaskBrief, tools: tuple[ToolSpec, ...]) -> int:
    """No fewer bytes than tools and context of `brief` have, found without building them."""
    lists = (brief.allowed_tools, brief.forbidden_tools, brief.acceptance, brief.constraints)
    texts = (brief.goal, brief.global_context, *chain(*lists, brief.inputs, brief.inputs.values()))
    told = (canonical(brief.output_schema), *(tool.definition for tool in tools))
    return _WIDEST * sum(map(len, (*texts, *told))) + _FRAMING * (len(texts) + len(told)) + _OPENING


def _missing(brief: TaskBrief, tools: tuple[ToolSpec, ...], size: int, count: TokenCounter) -> int:
    room = Room(size, tools, count)
    room.take(*build_child_context(brief))
    return -room.left


def _cutting_order(brief: TaskBrief, count: TokenCounter) -> Iterator[tuple[str, str | int]]:
    """The free texts as (field, key or position within it), the first to be cut first."""
    inputs = [(-count(text), name) for name, text in brief.inputs.items() if not is_identifier_field(name)]
    for _, name in sorted(inputs):
        yield "inputs", name
    yield "global_context", ""
    yield "goal", ""
    for _, place in sorted((-count(text), place) for place, text in enumerate(brief.constraints)):
        yield "constraints", place


def _shortened(brief: TaskBrief, field: str, key: str | int, missing: int, count: TokenCounter) -> TaskBrief:
    def cost(text: str, /) -> int:
        return count(canonical(text))

    def shorter(text: str) -> str:
        return cut_to_tokens(text, max(_LEAST, cost(text) - missing), cost)

    if field == "inputs":
        return replace(brief, inputs={n: shorter(t) if n == key else t for n, t in brief.inputs.items()})
    if field == "constraints":
        texts = tuple(shorter(text) if place == key else text for place, text in enumerate(brief.constraints))
        return replace(brief, constraints=texts)
    if field == "goal":
        return replace(brief, goal=shorter(brief.goal))
    return replace(brief, global_context=shorter(brief.global_context))
