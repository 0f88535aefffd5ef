"""Boundary overflow: a text of limit-1, limit, limit+1 and ten times the limit, in scripts of 0.2 to 4 tokens
a character, replies that are deep, wide, duplicated or not encodable, and the errors at the end of a child:
more steps than it has, an answer that its contract refuses.

Limits are scaled to hundreds of characters: at real sizes one case costs a second.
Source: article 000 sections 3.2 and 4.7.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from isolation_kit.content import Attack, Overflow
from isolation_kit.generate.assemble import Builder
from isolation_kit.generate.endings import ROUNDS, busy, said_twice
from isolation_kit.generate.family import Family, draw_of, numbers, temperament_of
from isolation_kit.generate.texts import is_object
from isolation_kit.scenario import (
    Act,
    Answer,
    Delegate,
    Limits,
    Place,
    Scenario,
    TurnPlan,
    UseTool,
)
from isolation_kit.target import Declaration

__all__ = ["FAMILY"]

_LIMITS = Limits(window=600, tool_output=400)
_TOKEN_LENGTH = 20


def _build(attacks: tuple[Attack, ...], declaration: Declaration, drawn: Any) -> Scenario:
    attack_number, tempers, size, atom, before, *rest = drawn
    attack = attacks[attack_number % len(attacks)]
    temper = temperament_of(tempers)
    overflow = attack.overflow
    assert overflow is not None
    builder = Builder(attack, declaration)
    earlier = overflow.of == "history" or before % 4 == 3
    turns = [builder.turn(0, draw_of(*rest[3:6]))] if earlier else []
    turns.append(builder.turn(len(turns), draw_of(*rest[:3]), last=True))
    blow = _Blow(overflow, size, atom, bool(declaration.triggers))
    turns = [blow.history(turns[0]), *turns[1:]] if overflow.of == "history" else turns
    every = 0 if overflow.of == "rounds" else len(turns) - 1  # the limit of steps holds in each turn
    turns[every:] = [blow.turn(turn) for turn in turns[every:]]
    return Scenario(
        "boundary-overflow",
        attack.id,
        0,
        tuple(turns),
        root=temper[0],
        child=temper[1],
        limits=Limits(rounds=ROUNDS) if overflow.of == "rounds" else _LIMITS,
    )


class _Blow:
    """Blows the attacked text of a turn up to the drawn size."""

    def __init__(self, overflow: Overflow, size: int, atom: int, one_word: bool) -> None:
        self.overflow = overflow
        self.name = overflow.sizes[size % len(overflow.sizes)] if overflow.sizes else "limit"
        self.atom = overflow.atoms[atom % len(overflow.atoms)] if overflow.atoms else "a"
        self.one_word = one_word

    def history(self, turn: TurnPlan) -> TurnPlan:
        return replace(turn, text=self.pad(turn.text, _LIMITS.window))

    def turn(self, turn: TurnPlan) -> TurnPlan:
        acts = tuple(self.delegate(act, turn) if isinstance(act, Delegate) else act for act in turn.acts)
        return replace(turn, acts=acts)

    def delegate(self, act: Delegate, turn: TurnPlan) -> Delegate:
        of = self.overflow.of
        if of == "task":
            act = replace(act, task=self.pad(act.task, _LIMITS.window), constants="")
        elif of == "identifier":
            identifier = "U_" + self.pad(_last_place(act.task), _LIMITS.window, tight=True)
            if self.overflow.twist == "newline":
                identifier = f"U_{_last_place(act.task)}\n"
            act = replace(act, task=identifier, required=False)
        elif of == "rounds":
            sizes = {"limit-1": ROUNDS - 1, "limit": ROUNDS, "limit+1": ROUNDS + 1, "10x": 2 * ROUNDS}
            act = busy(act, sizes[self.name])
        elif of == "answer":
            act = replace(act, required=self.overflow.twist == "")
        if self.overflow.twist == "lone-surrogate" and of == "task":
            act = replace(act, task=act.task + "\ud83d", required=False)
        return replace(act, acts=tuple(self.child_act(item, turn) for item in act.acts))

    def child_act(self, act: Act, turn: TurnPlan) -> Act:
        if isinstance(act, Delegate) and self.overflow.of in ("rounds", "answer"):
            return self.delegate(act, turn)
        if isinstance(act, Answer) and self.overflow.of == "answer":
            # Blown up; with a twist it is JSON that no strict reader takes.
            return Answer(
                said_twice(act.text) if self.overflow.twist else self.pad(act.text, _LIMITS.tool_output)
            )
        if not isinstance(act, UseTool):
            return act
        if self.overflow.of == "tool.args":
            return replace(act, query=self.pad(act.query, _LIMITS.tool_output))
        if self.overflow.of == "tool.result":
            return replace(act, reply=self.reply(act.reply))
        return act

    def pad(self, text: str, limit: int, *, tight: bool = False) -> str:
        """`text` and as many atoms as make it `limit` (or the drawn size) characters long, tokens counted."""
        size = {"limit-1": limit - 1, "limit": limit, "limit+1": limit + 1, "10x": 10 * limit}[self.name]
        atom = "".join(self.atom.split()) or "a" if self.one_word or tight else self.atom
        length = len(_without_placeholders(text))
        missing = max(0, size - length)
        return text + (atom * (missing // len(atom) + 1))[:missing]

    def reply(self, raw: str) -> str:
        """The tool's reply with the twist, or with its longest text blown up."""
        twist = self.overflow.twist
        if not raw.startswith("{") or not raw.endswith("}"):
            return self.pad(raw, _LIMITS.tool_output)
        if twist == "deep-nesting":
            return f'{raw[:-1]}, "deep": {"[" * 80}1{"]" * 80}}}'
        if twist == "many-keys":
            keys = ", ".join(f'"key_{i}": {i}' for i in range(400))
            return f"{raw[:-1]}, {keys}}}"
        if twist == "duplicate-keys":
            if self.name != "limit" and is_object(raw):
                # The later one is of another kind, so that it matters which of them is read.
                first = json.dumps(next(iter(json.loads(raw)), "note"))
                return f'{raw[:-1]}, {first}: {{"debug": {{"level": 2}}}}}}'
            return f"{raw[:-1]}, {raw[1:]}"
        if twist == "lone-surrogate":
            return f'{raw[:-1]}, "odd": "\\ud83d"}}'
        return f'{raw[:-1]}, "page": {json.dumps(self.pad("", _LIMITS.tool_output))}}}'


def _last_place(task: str) -> str:
    """The last placeholder of a task: the one that stands for its identifier."""
    start = task.rfind("{{canary:")
    return task[start : task.index("}}", start) + 2] if start >= 0 else Place("task.input").placeholder


def _without_placeholders(text: str) -> str:
    """`text` with each placeholder as long as the token that will stand there."""
    parts = text.split("{{canary:")
    return parts[0] + "".join("x" * _TOKEN_LENGTH + part.split("}}", 1)[1] for part in parts[1:])


FAMILY = Family("boundary-overflow", numbers(11), _build)
