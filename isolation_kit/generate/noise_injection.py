"""Noise injection: debug markers in user text, raw tool replies, logs and envelopes, over one to three turns.

Source: article 000 section 4.7.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from isolation_kit.content import Attack
from isolation_kit.generate.assemble import Builder
from isolation_kit.generate.family import NUMBER, Family, draw_of, temperament_of, turn
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration

__all__ = ["FAMILY"]


def _build(attacks: tuple[Attack, ...], declaration: Declaration, drawn: Any) -> Scenario:
    attack_number, temper, first, second, last = drawn
    attack = attacks[attack_number % len(attacks)]
    root, child = temperament_of(temper)
    builder = Builder(attack, declaration)
    earlier = [draw_of(numbers) for numbers in (first, second) if numbers is not None]
    turns = [
        builder.turn(i, draw, delegate=draw.fill % 4 != 3, tools=draw.pick % 2 == 0)
        for i, draw in enumerate(earlier)
    ]
    turns.append(builder.turn(len(turns), draw_of(last), last=True))
    return Scenario("noise-injection", attack.id, 0, tuple(turns), root=root, child=child)


FAMILY = Family(
    "noise-injection",
    st.tuples(NUMBER, NUMBER, st.one_of(st.none(), turn()), st.one_of(st.none(), turn()), turn()),
    _build,
)
