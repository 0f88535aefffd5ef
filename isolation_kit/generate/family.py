"""What a family is, and the draws that all families share.

Structure is drawn as numbers of at most 64 values, written as one text in an alphabet of 64 braille patterns.
One text costs half of what a dozen integers do; and no constant of a locally imported module can stand in
it, as it could in a larger or plainer draw, so that one seed gives the same bytes everywhere. The Scenario is
built from the numbers outside of Hypothesis, which would else guard every call of ours at a cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from isolation_kit.content import Attack
from isolation_kit.generate.assemble import Draw
from isolation_kit.scenario import Scenario, Temperament
from isolation_kit.target import Declaration

__all__ = ["Family", "conversation_of", "draw_of", "numbers", "temperament_of"]

Build = Callable[[tuple[Attack, ...], Declaration, Any], Scenario]


@dataclass(frozen=True, slots=True)
class Family:
    """A family of generated cases.

    Attributes:
        name: also the name of its folder in attacks/.
        draws: a strategy of plain numbers.
        build: makes the case of one draw: pure, so the same draw gives the same case.
    """

    name: str
    draws: st.SearchStrategy[Any]
    build: Build

    def scenarios(self, attacks: tuple[Attack, ...], declaration: Declaration) -> st.SearchStrategy[Scenario]:
        """The cases as a strategy, for hand-written tests."""
        return self.draws.map(lambda drawn: self.build(attacks, declaration, drawn))


_ZERO = 0x2800  # the first of the braille patterns
_DIGITS = st.characters(min_codepoint=_ZERO, max_codepoint=_ZERO + 63)
_QUIET = (Temperament.QUIET, Temperament.QUIET)
_TEMPERS = (
    *([_QUIET] * 56),
    *([(Temperament.PARROT, Temperament.QUIET)] * 3),
    *([(Temperament.QUIET, Temperament.PARROT)] * 3),
    *([(Temperament.PARROT, Temperament.PARROT)] * 2),
)


def numbers(count: int) -> st.SearchStrategy[tuple[int, ...]]:
    """`count` numbers of 0..63."""
    return st.text(_DIGITS, min_size=count, max_size=count).map(_numbers_of)


def _numbers_of(text: str) -> tuple[int, ...]:
    return tuple([ord(digit) - _ZERO for digit in text])


def draw_of(pick: int, child: int, flags: int) -> Draw:
    """The numbers of one turn by name; filler goes by the others, for it says nothing."""
    return Draw(pick, child, flags, fill=(pick * 7 + child * 5 + flags * 3) % 64)


def conversation_of(
    attacks: tuple[Attack, ...], drawn: tuple[int, ...]
) -> tuple[Attack, tuple[Temperament, Temperament], int, tuple[Draw, Draw]]:
    """What the nine numbers of a conversation stand for.

    The attack, the temperaments, a number by which turns are kept, and the draws of every other turn.
    """
    attack, tempers, keep, *rest = drawn
    draws = (draw_of(*rest[:3]), draw_of(*rest[3:6]))
    return attacks[attack % len(attacks)], temperament_of(tempers), keep, draws


def temperament_of(number: int) -> tuple[Temperament, Temperament]:
    """Temperaments of root and child: quiet in seven of eight cases, for quiet decides the verdict."""
    return _TEMPERS[number % 64]
