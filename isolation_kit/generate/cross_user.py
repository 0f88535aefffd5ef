"""Cross-user: two people in one conversation, two users over sessions, prefix names, shared objects.

Source: article 000 section 4.7; google/adk-python#2948 (prefix names).
"""

from __future__ import annotations

from hypothesis import strategies as st

from isolation_kit.content import Attack
from isolation_kit.generate.assemble import Builder, Draw
from isolation_kit.generate.family import Family, draws, temperaments
from isolation_kit.scenario import Scenario, Temperament
from isolation_kit.target import Declaration

__all__ = ["FAMILY"]


def _strategy(attacks: tuple[Attack, ...], declaration: Declaration) -> st.SearchStrategy[Scenario]:
    return st.builds(
        lambda attack, temper, keep, one, two, three: _scenario(
            attacks[attack % len(attacks)], declaration, temper, keep, (one, two, three)
        ),
        st.integers(0, 63),
        temperaments(),
        st.integers(0, 63),
        draws(),
        draws(),
        draws(),
    )


def _scenario(
    attack: Attack,
    declaration: Declaration,
    temper: tuple[Temperament, Temperament],
    keep: int,
    numbers: tuple[Draw, ...],
) -> Scenario:
    structure = attack.structure
    size = len(structure.order)
    kept = [i for i in range(size) if i == size - 1 or keep % 8 == 0 or keep >> (i % 6) & 1 or i == 0]
    builder = Builder(attack, declaration)
    turns = []
    for index, i in enumerate(kept):
        user = structure.order[i]
        last = i == size - 1
        draw = numbers[i % len(numbers)]
        turns.append(
            builder.turn(
                index,
                # One child for the whole conversation, so that a later turn can ask the same one again.
                draw._replace(child=numbers[0].child),
                user=user,
                session=structure.sessions[i] if structure.sessions else f"s{user}",
                subject=structure.about[i] if structure.about else -1,
                last=last,
                follow_up=structure.follow_up and last,
            )
        )
    return Scenario(
        FAMILY.name,
        attack.id,
        0,
        tuple(turns),
        users=structure.users,
        subjects=structure.subjects,
        root=temper[0],
        child=temper[1],
        concurrent=structure.concurrent,
    )


FAMILY = Family("cross-user", _strategy)
