"""Builds one turn of a case from a few drawn numbers: structure is chosen, filler comes from seeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from isolation_kit.content import Attack
from isolation_kit.generate.texts import carrier, filler, reply
from isolation_kit.scenario import Act, Answer, Delegate, Place, Say, Slot, TurnPlan, UseTool
from isolation_kit.target import Agent, Declaration

__all__ = ["Builder", "Draw"]


class Draw(NamedTuple):
    """The numbers that one turn is made of, each 0..63.

    Attributes:
        pick: which carriers.
        child: which child, and how often it uses its tools.
        flags: bits: 1 parent speaks, 2 parent uses its tool, 4 child speaks, 8 and 16 the shape of noise,
            32 constants in the task.
        fill: seed and length of filler.
    """

    pick: int = 0
    child: int = 0
    flags: int = 0
    fill: int = 0


_LAYERS = 3  # below the root: a tree of depth 4 (article 002)
_SHAPES = (0, 0, 0, 0, 1, 1, 2, 3)  # noise lies at the top level in half of the replies
EVERYTHING = Draw(pick=0, child=0, flags=0b100111, fill=0)


@dataclass(slots=True)
class Builder:
    """Builds turns of one case; counts places so that no two carriers share one."""

    attack: Attack
    declaration: Declaration
    _n: dict[tuple[str, int, int, int], int] = field(default_factory=dict)
    first_input: dict[tuple[int, int], Place] = field(default_factory=dict)

    def turn(
        self,
        index: int,
        draw: Draw,
        *,
        user: int = 0,
        session: str = "s",
        subject: int = -1,
        last: bool = False,
        follow_up: bool = False,
        delegate: bool = True,
        tools: bool = True,
    ) -> TurnPlan:
        """One turn: the user's text, and the root's acts around at most one delegation.

        `tools`: whether the agents use theirs; turns that only lead on go without, for half the cost.
        """
        who = _Who(user, subject, index)
        slot = Slot.USER_CURRENT if last else Slot.USER_EARLIER
        text = self._text(slot, who, draw.pick)
        if draw.fill >= 32:
            text = f"{text} {filler(draw.fill, draw.fill - 24)}"
        acts: list[Act] = []
        if draw.flags & 1:
            acts.append(Say(self._text(Slot.PARENT_TEXT, who, draw.pick)))
        root = self.declaration.agents[self.declaration.root]
        if tools and draw.flags & 2 and root.tools and (last or draw.flags & 1):
            acts.append(self._use(root, 0, who, draw, parent=True))
        if delegate:
            acts.append(self.delegate(who, draw, follow_up=follow_up, tools=tools))
        acts.append(Answer("Done, see above."))
        return TurnPlan(user, text, tuple(acts), session, subject)

    def delegate(
        self,
        who: _Who,
        draw: Draw,
        *,
        follow_up: bool = False,
        task: str = "",
        tools: bool = True,
        path: tuple[str, ...] = (),
    ) -> Delegate:
        """A delegation with the child's script; a follow-up carries the place of the earlier task.

        `path` names the layers above, the root left out: a layer hands a part of its task on, three deep.
        """
        names = tuple(self.declaration.agents[path[-1] if path else self.declaration.root].children)
        number = draw.child % len(names)
        path = (*path, names[number])
        child = self.declaration.agents[names[number]]
        acts: list[Act] = []
        if draw.flags & 4:
            acts.append(Say(self._text(Slot.CHILD_TEXT, who, draw.pick)))
        uses = 1 + draw.child // 48 if tools and child.tools else 0
        acts.extend(self._use(child, use + draw.pick, who, draw, parent=False) for use in range(uses))
        if child.children and len(path) < _LAYERS and set(child.children).isdisjoint(path):
            acts.append(self.delegate(who, draw, task=self._part(who, draw.pick), tools=tools, path=path))
        acts.append(Answer(self._text(Slot.CHILD_ANSWER, who, draw.pick)))
        constants = (
            self._text(Slot.TASK_CONSTANTS, who, draw.pick)
            if draw.flags & 32 and not self.declaration.triggers
            else ""
        )
        return Delegate(
            number, task or self._task(who, draw.pick, follow_up), tuple(acts), constants=constants
        )

    def _task(self, who: _Who, pick: int, follow_up: bool) -> str:
        earlier = self.first_input.get((who.user, who.subject))
        if follow_up and earlier is not None:
            return earlier.placeholder if self.declaration.triggers else f"Again for {earlier.placeholder}"
        place = self.place(Slot.TASK_INPUT, who)
        self.first_input.setdefault((who.user, who.subject), place)
        if self.declaration.triggers:
            return place.placeholder
        return f"{self._text(Slot.TASK_GOAL, who, pick)} {carrier(self.attack, place, pick)}"

    def _part(self, who: _Who, pick: int) -> str:
        """A layer's own task for the next one."""
        return f"{self._text(Slot.TASK_GOAL, who, pick)} {self._text(Slot.TASK_INPUT, who, pick)}"

    def _use(self, agent: Agent, number: int, who: _Who, draw: Draw, *, parent: bool) -> UseTool:
        side = "parent" if parent else "child"
        query = self._text(f"{side}.tool.args", who, draw.pick)
        result = self._text(f"{side}.tool.result", who, draw.pick)
        noise = self._text(f"{side}.tool.noise", who, draw.pick)
        tool = agent.tools[number % len(agent.tools)]
        raw = reply(tool.fields, result, noise, _SHAPES[(draw.flags >> 3 & 3) * 2 + draw.pick % 2])
        if draw.fill >= 60:
            raw = reply(tool.fields, f"{result} {filler(draw.fill, 200)}", noise, 0)
        return UseTool(number % len(agent.tools), query, raw)

    def place(self, slot: str, who: _Who) -> Place:
        """A place of its own in this turn."""
        key = (str(slot), who.user, who.subject, who.turn)
        n = self._n.get(key, 0)
        self._n[key] = n + 1
        return Place(str(slot), who.user, who.subject, who.turn, n)

    def _text(self, slot: str, who: _Who, pick: int) -> str:
        return carrier(self.attack, self.place(slot, who), pick)


class _Who(NamedTuple):
    user: int
    subject: int
    turn: int
