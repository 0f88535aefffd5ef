"""Who must not learn what: recipients with the same denied slots share the runs that vary those."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from isolation_kit.finding import Direction
from isolation_kit.oracles.views import Label, Views, child_views, parent_views, place_label
from isolation_kit.policy import denied_to_children
from isolation_kit.scenario import Slot
from isolation_kit.target import Declaration
from isolation_kit.trace import Trace

__all__ = ["Recipients", "recipients"]

_CHILD_WORK = (Slot.CHILD_TEXT, Slot.CHILD_TOOL_ARGS, Slot.CHILD_TOOL_RESULT, Slot.CHILD_TOOL_NOISE)


@dataclass(frozen=True, slots=True)
class Recipients:
    """Agents that are denied the same slots.

    Attributes:
        secrets: what takes other values for them.
        shaped: what takes other lengths and shapes: their own tools' replies keep theirs.
        masks: what of their Views is left out.
        label: what stands in the place of a token.
    """

    agents: frozenset[str]
    secrets: tuple[str, ...]
    shaped: tuple[str, ...]
    direction: Direction
    masks: Collection[str] = ()
    label: Label = place_label

    def varied(self, kind: str) -> tuple[str, ...]:
        """The slots that a variation of this kind changes for them."""
        return self.secrets if kind.startswith(("value", "error")) else self.shaped

    def views(self, trace: Trace, first_turn: int = 0) -> Views:
        """Their Views from a turn on."""
        if self.direction is Direction.UP:
            (root,) = self.agents
            return parent_views(trace, root, first_turn=first_turn, masks=self.masks, label=self.label)
        views = child_views(trace, first_turn=first_turn, masks=self.masks, label=self.label)
        return {key: view for key, view in views.items() if key.agent in self.agents}


def recipients(
    base: Trace, declaration: Declaration, masks: Collection[str] = (), label: Label = place_label
) -> tuple[Recipients, ...]:
    """The children, those with declared tool fields apart, and the root, each if something is kept from it.

    Args:
        base: says which slots were planted.
    """
    planted = {item.place.slot for item in base.planted}
    denied = tuple(sorted(denied_to_children(planted)))
    noise = (Slot.CHILD_TOOL_NOISE,) if Slot.CHILD_TOOL_NOISE in planted else ()
    strict = frozenset(name for name in declaration.children if declaration.agents[name].declares_fields)
    open_ = frozenset(declaration.children) - strict
    work = tuple(slot for slot in _CHILD_WORK if slot in planted)
    groups = (
        Recipients(strict, (*denied, *noise), denied, Direction.DOWN, masks, label),
        Recipients(open_, denied, denied, Direction.DOWN, masks, label),
        Recipients(frozenset({declaration.root}), work, (), Direction.UP, masks, label),
    )
    return tuple(group for group in groups if group.agents and group.secrets)
