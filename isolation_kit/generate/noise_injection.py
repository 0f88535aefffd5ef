"""Noise injection: debug markers in user text, raw tool replies, logs and envelopes, over one to three turns.

In one case of five the last child ends in an error.
Source: article 000 section 4.7.
"""

from __future__ import annotations

from typing import Any

from isolation_kit.content import Attack
from isolation_kit.generate.assemble import Builder
from isolation_kit.generate.endings import ROUNDS, with_refused_answers, with_too_many_steps
from isolation_kit.generate.family import Family, draw_of, numbers, temperament_of
from isolation_kit.scenario import Limits, Scenario
from isolation_kit.target import Declaration

__all__ = ["FAMILY"]


_EARLIER = (0, 0, 0, 0, 0, 1, 1, 2)  # turns before the last: a leak of an earlier turn needs one, most none
_REFUSED, _STOPPED = 7, 6  # of 0..7: in one case of five the last child ends in an error


def _build(attacks: tuple[Attack, ...], declaration: Declaration, drawn: Any) -> Scenario:
    attack_number, temper, size, *rest = drawn
    attack = attacks[attack_number % len(attacks)]
    root, child = temperament_of(temper)
    builder = Builder(attack, declaration)
    earlier = [draw_of(*rest[3:6]), draw_of(*rest[6:9])][: _EARLIER[size % 8]]
    turns = [
        builder.turn(i, draw, delegate=draw.fill % 4 != 3, tools=draw.pick % 2 == 0)
        for i, draw in enumerate(earlier)
    ]
    last = builder.turn(len(turns), draw_of(*rest[:3]), last=True)
    limits = Limits()
    if size // 8 == _REFUSED:
        last = with_refused_answers(last)
    elif size // 8 == _STOPPED and not turns:
        last, limits = with_too_many_steps(last), Limits(rounds=ROUNDS)
    return Scenario("noise-injection", attack.id, 0, (*turns, last), root=root, child=child, limits=limits)


FAMILY = Family("noise-injection", numbers(12), _build)
