"""What a target gets from the global random generators of Python and numpy: other numbers in each execution.

Hypothesis starts both from the same state for each example: a target that leaks at every second throw of the
dice would then throw the same in each case, and shares would be of one throw. They start from the case
instead, so a replay of the case throws as the audit did. What a target seeds itself stays as it seeds it.
"""

from __future__ import annotations

import random
import sys
from typing import Any

__all__ = ["Dice"]


class Dice:
    """The global generators while a runner has them; `give_back` restores what they were."""

    def __init__(self) -> None:
        self._before = random.getstate()
        self._case, self._throws = "", 0

    def throw(self, case: str) -> None:
        """Start them from this case, and from how often it was run in a row: variants see other numbers."""
        self._throws = self._throws + 1 if case == self._case else 0
        self._case = case
        random.seed(f"{case}/{self._throws}")
        other = random.getrandbits(32)  # drawn with and without numpy, which must not move the next ones
        if (numpy := _numpy()) is not None:
            numpy.seed(other)

    def give_back(self) -> None:
        """Python's generator is what it was before; numpy's is left."""
        random.setstate(self._before)


def _numpy() -> Any:
    numpy = sys.modules.get("numpy")
    return getattr(numpy, "random", None)
