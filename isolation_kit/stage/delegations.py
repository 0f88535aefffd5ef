"""The delegations of one case: which instance each is, whose call belongs to which, what leads to them."""

from __future__ import annotations

import json
from collections.abc import Callable

from isolation_kit.canary import Canary
from isolation_kit.scenario import Answer, Delegate, Place, Scenario, places_in
from isolation_kit.stage.puppet import Delegation
from isolation_kit.stage.recorder import Recorder
from isolation_kit.target import Declaration
from isolation_kit.trace import Handover

__all__ = ["Delegations", "user_text"]


class Delegations:
    """All delegations of one running case, in the order in which they started."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._all: list[Delegation] = []
        self._instances: dict[str, int] = {}

    def start(self, child: str, turn: int, plan: Delegate, by: tuple[str, int] = ("", -1)) -> Delegation:
        """A new instance of `child` in `turn`, with the tokens of its task planted; `by`: who started it."""
        instance = self._instances.get(child, 0)
        self._instances[child] = instance + 1
        delegation = Delegation.of(child, instance, turn, plan, by)
        self._all.append(delegation)
        for place in sorted(delegation.places):
            self._recorder.plant(place, child, instance)
        return delegation

    def number(self, delegation: Delegation) -> int:
        """Which delegation of its turn it is, from 0: the same whatever other turns do."""
        return [item for item in self._all if item.turn == delegation.turn].index(delegation)

    def answered(self, delegation: Delegation) -> None:
        """A child gave its answer: from now on the child that asked for it rightly holds it too."""
        agent, instance = delegation.by
        if instance >= 0:
            for place in _answer(delegation):
                self._recorder.plant(place, agent, instance)

    def end(self, turn: int) -> None:
        """Close what is still open in `turn`: the rest of its scripts is dropped."""
        for delegation in self._all:
            if delegation.turn == turn and not delegation.done:
                delegation.done = True
                delegation.queue.clear()

    def of(self, agent: str, turn: int, body: str = "") -> Delegation | None:
        """The delegation to `agent` that a call in `turn` belongs to.

        Several may be open at once (one child called twice in a step): then the one whose task is in the
        request is meant.
        """
        mine = [item for item in self._all if item.turn == turn and item.agent == agent]
        if len(mine) == 1:
            return mine[0]
        still = [item for item in mine if not item.done]
        if len(still) > 1 and body:
            for item in still:
                given = [self._recorder.hand_out(place, agent, item.instance) for place in item.places]
                if given and all(_stands_in(body, canary) for canary in given):
                    return item
        return still[0] if still else (mine[-1] if mine else None)

    def came_up(self, agent: str, turn: int) -> Delegation | None:
        """The delegation whose result comes up now: the first that has ended and brought none yet.

        Where one step hands over several tasks, the next one is open already when the first one's comes.
        """
        ended = (item for item in self._all if item.agent == agent and item.turn == turn and item.done)
        first = next((item for item in ended if not item.returned), None)
        if first is None:
            return self.of(agent, turn)
        first.returned = True
        return first

    def handovers(self) -> tuple[Handover, ...]:
        """Every delegation that took place, for the controls."""
        return tuple(
            Handover(
                item.agent,
                item.instance,
                item.turn,
                tuple(sorted(item.places)),
                _answer(item),
                item.plan.required,
                item.by if item.by[1] >= 0 else ("", -1),
            )
            for item in self._all
        )


def _stands_in(body: str, canary: Canary) -> bool:
    worn = json.dumps(canary.text)[1:-1]
    return any(text in body for text in (canary.token, canary.text, worn, json.dumps(worn)[1:-1]))


def _answer(delegation: Delegation) -> tuple[Place, ...]:
    return tuple(
        place for act in delegation.plan.acts if isinstance(act, Answer) for place in places_in(act.text)
    )


def user_text(
    scenario: Scenario,
    declaration: Declaration,
    index: int,
    start: Callable[[str, int, Delegate], Delegation],
    fill: Callable[[str, str, int], str],
) -> str:
    """The user's text in turn `index`, with live canaries; before it what leads a rule-driven parent.

    Args:
        start: begins the delegation that a trigger leads to.
        fill: puts tokens into a text for an agent ("": nobody's) and its instance (-1: none).
    """
    plan = scenario.turns[index]
    subject = scenario.subjects[plan.subject] if plan.subject >= 0 else ""
    parts = []
    for delegate in plan.delegations if declaration.triggers else ():
        child = declaration.direct[delegate.child % len(declaration.direct)]
        if child in declaration.triggers:
            template = _template(declaration, child, index - scenario.lead, delegate)
            delegation = start(child, index, delegate)
            task = fill(delegate.task, delegation.agent, delegation.instance)
            parts.append(template.replace("{subject}", subject).replace("{task}", task))
    parts.append(fill(plan.text, "", -1))
    return " ".join(part for part in parts if part)


def _template(declaration: Declaration, child: str, index: int, delegate: Delegate) -> str:
    """The words that lead to `child`; a follow-up does not repeat the task."""
    places = places_in(delegate.task)
    follows = bool(places) and all(place.turn < index for place in places)
    if follows and child in declaration.follow_ups:
        return declaration.follow_ups[child]
    return declaration.triggers[child]
