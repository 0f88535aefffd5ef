"""Ends of a child that are errors: what it had in hand then may go nowhere."""

from __future__ import annotations

import json
from dataclasses import replace

from isolation_kit.scenario import Act, Answer, Delegate, TurnPlan, UseTool

__all__ = ["ROUNDS", "busy", "said_twice", "with_refused_answers", "with_too_many_steps"]

ROUNDS = 3  # a parent needs three at most: its own tool, the delegation, its answer


def said_twice(text: str) -> str:
    """`text` as an answer in JSON that says its answer twice: no strict reader takes it."""
    return f'{{"answer": {json.dumps(text, ensure_ascii=False)}, "answer": "or not"}}'


def with_refused_answers(turn: TurnPlan) -> TurnPlan:
    """The turn with children whose answers are refused; nothing of them must come up."""
    return replace(turn, acts=tuple(_refused(act) for act in turn.acts))


def _refused(act: Act) -> Act:
    if not isinstance(act, Delegate):
        return act
    acts = (
        Answer(said_twice(item.text)) if isinstance(item, Answer) else _refused(item) for item in act.acts
    )
    return replace(act, acts=tuple(acts), required=False)


def with_too_many_steps(turn: TurnPlan) -> TurnPlan:
    """The turn with children that need more than `ROUNDS` model calls; nothing of their work must come up."""
    return replace(turn, acts=tuple(_too_busy(act) for act in turn.acts))


def _too_busy(act: Act) -> Act:
    if not isinstance(act, Delegate):
        return act
    return busy(replace(act, acts=tuple(_too_busy(item) for item in act.acts)), ROUNDS + 1)


def busy(act: Delegate, calls: int) -> Delegate:
    """The delegation to a child that calls its model `calls` times: it looks things up before all else."""
    tools = [item for item in act.acts if isinstance(item, UseTool)]
    others = [item for item in act.acts if not isinstance(item, UseTool)]
    ways = sum(isinstance(item, Delegate) for item in others)
    more = [UseTool(i, f"page {i}", "{}") for i in range(len(tools), calls - 1 - ways if tools else 0)]
    uses = [*tools, *more][: calls - 1 - ways]
    first = next((i for i, item in enumerate(others) if isinstance(item, Delegate | Answer)), 0)
    return replace(act, acts=(*others[:first], *uses, *others[first:]), required=calls <= ROUNDS)
