"""What a family is, and the draws that all families share.

Structure is drawn as integers of at most 64 values and short choices: larger draws change with the constants
of locally imported modules, and then one seed would not give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from isolation_kit.content import Attack
from isolation_kit.generate.assemble import Draw
from isolation_kit.scenario import Scenario, Temperament
from isolation_kit.target import Declaration

__all__ = ["Family", "draws", "temperaments"]

Strategy = Callable[[tuple[Attack, ...], Declaration], st.SearchStrategy[Scenario]]


@dataclass(frozen=True, slots=True)
class Family:
    """A family of generated cases: its name (also of its folder in attacks/) and its strategy."""

    name: str
    strategy: Strategy


_NUMBER = st.integers(0, 63)
_QUIET = (Temperament.QUIET, Temperament.QUIET)
_TEMPERS = (
    *([_QUIET] * 13),
    (Temperament.PARROT, Temperament.QUIET),
    (Temperament.QUIET, Temperament.PARROT),
    (Temperament.PARROT, Temperament.PARROT),
)


def draws() -> st.SearchStrategy[Draw]:
    """The numbers of one turn."""
    return st.builds(Draw, _NUMBER, _NUMBER, _NUMBER, _NUMBER)


def temperaments() -> st.SearchStrategy[tuple[Temperament, Temperament]]:
    """Temperaments of root and child: quiet in 13 of 16 cases."""
    return st.sampled_from(_TEMPERS)
