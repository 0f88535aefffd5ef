"""Cross-user: two people in one conversation, two users over sessions, prefix names, shared objects.

Source: article 000 section 4.7; google/adk-python#2948 (prefix names).
"""

from __future__ import annotations

from typing import Any

from isolation_kit.content import Attack
from isolation_kit.generate.assemble import Builder
from isolation_kit.generate.family import Family, conversation_of, numbers
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration

__all__ = ["FAMILY"]


def _build(attacks: tuple[Attack, ...], declaration: Declaration, drawn: Any) -> Scenario:
    attack, temper, keep, draws = conversation_of(attacks, drawn)
    structure = attack.structure
    size = len(structure.order)
    kept = [i for i in range(size) if i in (0, size - 1) or _kept(i, keep)]
    builder = Builder(attack, declaration)
    turns = []
    for index, i in enumerate(kept):
        user = structure.order[i]
        last = i == size - 1
        draw = draws[i % 2]
        turns.append(
            builder.turn(
                index,
                # One child for the whole conversation, so that a later turn can ask the same one again; in
                # a quarter of the cases another one each turn, for what one leaves may reach the next.
                draw._replace(child=draws[0].child + (index if draws[1].child % 4 == 3 else 0)),
                user=user,
                session=structure.sessions[i] if structure.sessions else f"s{user}",
                subject=structure.about[i] if structure.about else -1,
                last=last,
                follow_up=structure.follow_up and last,
                # Tools in half of them: a call doubles what a turn costs, and users mix without one too.
                tools=(i == 0 or last) and draw.child & 4 == 0,
            )
        )
    return Scenario(
        "cross-user",
        attack.id,
        0,
        tuple(turns),
        users=structure.users,
        subjects=structure.subjects,
        root=temper[0],
        child=temper[1],
        concurrent=structure.concurrent,
    )


def _kept(i: int, keep: int) -> bool:
    """Whether a turn in the middle stays: all in one case of eight, else each in half."""
    return keep % 8 == 0 or keep >> (i % 6) & 1 == 1


FAMILY = Family("cross-user", numbers(9), _build)
