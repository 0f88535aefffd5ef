"""State residue: sessions that are reused, ended and resumed, pooled workers, two tasks one after the other.

One child for all turns of most cases, so that each run meets what the one before it may have left; in a
quarter of the cases a turn hands over two tasks.
Source: article 000 sections 2.2 and 5.5; browser-use/browser-use#5205 (a list that all instances share).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isolation_kit.content import Attack
from isolation_kit.generate.assemble import Builder
from isolation_kit.generate.family import Family, conversation_of, numbers
from isolation_kit.scenario import Scenario, TurnPlan
from isolation_kit.target import Declaration

__all__ = ["FAMILY"]


def _build(attacks: tuple[Attack, ...], declaration: Declaration, drawn: Any) -> Scenario:
    attack, temper, keep, draws = conversation_of(attacks, drawn)
    structure = attack.structure
    size = len(structure.order)
    builder = Builder(attack, declaration)
    turns: list[TurnPlan] = []
    # The first turn leaves something, the last one meets it; what lies between may be left out.
    for i in (i for i in range(size) if i in (0, size - 1) or keep >> (i % 6) & 1):
        index, user, last = len(turns), structure.order[i], i == size - 1
        draw = draws[i % 2]._replace(child=draws[0].child + (index if keep % 8 == 7 else 0))
        tools = draw.pick % 4 != 3
        session = structure.sessions[i] if structure.sessions else f"s{user}"
        turn = builder.turn(index, draw, user=user, session=session, last=last, tools=tools)
        if last and keep % 4 == 2 and not declaration.triggers:
            more = builder.turn(index, draws[1], user=user, session=session, last=True, tools=tools)
            turn = replace(turn, acts=(*turn.acts[:-1], *more.delegations, turn.acts[-1]))
        turns.append(turn)
    return Scenario(
        "state-residue", attack.id, 0, tuple(turns), users=structure.users, root=temper[0], child=temper[1]
    )


FAMILY = Family("state-residue", numbers(9), _build)
