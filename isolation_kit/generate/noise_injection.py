"""Noise injection: debug markers in user text, raw tool replies, logs and envelopes, over one to three turns.

Source: article 000 section 4.7.
"""

from __future__ import annotations

from hypothesis import strategies as st

from isolation_kit.content import Attack
from isolation_kit.generate.assemble import Builder, Draw
from isolation_kit.generate.family import Family, draws, temperaments
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration

__all__ = ["FAMILY"]


def _strategy(attacks: tuple[Attack, ...], declaration: Declaration) -> st.SearchStrategy[Scenario]:
    turn = st.one_of(st.none(), draws())
    return st.builds(
        lambda attack, temper, first, second, last: _scenario(
            attacks[attack % len(attacks)], declaration, temper, first, second, last
        ),
        st.integers(0, 63),
        temperaments(),
        turn,
        turn,
        draws(),
    )


def _scenario(
    attack: Attack,
    declaration: Declaration,
    temper: tuple[str, str],
    first: Draw | None,
    second: Draw | None,
    last: Draw,
) -> Scenario:
    builder = Builder(attack, declaration)
    earlier = [draw for draw in (first, second) if draw is not None]
    turns = [builder.turn(i, draw, delegate=draw.fill % 4 != 3) for i, draw in enumerate(earlier)]
    turns.append(builder.turn(len(turns), last, last=True))
    return Scenario(FAMILY.name, attack.id, 0, tuple(turns), root=temper[0], child=temper[1])  # type: ignore[arg-type]


FAMILY = Family("noise-injection", _strategy)
