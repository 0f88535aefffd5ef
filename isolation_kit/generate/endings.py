"""Ends of a child that are errors: what it had in hand then may go nowhere."""

from __future__ import annotations

import json
from dataclasses import replace

from isolation_kit.scenario import Act, Answer, Delegate, TurnPlan

__all__ = ["said_twice", "with_refused_answers"]


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
