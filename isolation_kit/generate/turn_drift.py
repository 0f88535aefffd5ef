"""Turn drift: what a later turn means depends on earlier ones, and neither too much nor too little may cross.

A follow-up must carry its items (LOSS if they are dropped); a correction replaces the old value, which no
child may meet again; a topic that is left and taken up again keeps its own items.
Source: article 000 section 2.2 (drift of meaning over turns); google/adk-python#3612 (over-isolation).
"""

from __future__ import annotations

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
    for i in (i for i in range(size) if _kept(i, size, keep, structure.about)):
        subject = structure.about[i] if structure.about else -1
        user, last = structure.order[i], i == size - 1
        follows = structure.follow_up and last
        if not follows:
            # A newer value of the same matter: from now on it is the one that a follow-up must carry.
            builder.first_input.pop((user, subject), None)
        turns.append(
            builder.turn(
                len(turns),
                draws[i % 2]._replace(child=draws[0].child),
                user=user,
                session=structure.sessions[i] if structure.sessions else "s",
                subject=subject,
                last=last,
                follow_up=follows,
                tools=(not turns or last) and keep % 2 == 0,
            )
        )
    return Scenario(
        "turn-drift",
        attack.id,
        0,
        tuple(turns),
        users=structure.users,
        subjects=structure.subjects,
        root=temper[0],
        child=temper[1],
    )


def _kept(i: int, size: int, keep: int, about: tuple[int, ...]) -> bool:
    """Whether a turn stays: the last one, the newest about the same matter, and each other in half."""
    if i == size - 1 or not about:
        return i == size - 1 or keep >> (i % 6) & 1 == 0
    newest = max((n for n in range(size - 1) if about[n] == about[-1]), default=0)
    return i == newest or keep >> (i % 6) & 1 == 0


FAMILY = Family("turn-drift", numbers(9), _build)
