"""The sweep: every plantable slot at once, each declared child once per temperament. No chance in it.

First results come in seconds, and coverage is complete where random cases would leave cells empty.
"""

from __future__ import annotations

from collections.abc import Iterator

from isolation_kit.content import Attack
from isolation_kit.generate.assemble import EVERYTHING, Builder
from isolation_kit.scenario import Scenario, Temperament
from isolation_kit.target import Declaration

__all__ = ["SWEEP", "sweep"]

SWEEP = "sweep"
_PLAIN = Attack(SWEEP, SWEEP, "every slot at once", "", "", "", (), ())
_TEMPERS = (
    (Temperament.QUIET, Temperament.QUIET),
    (Temperament.PARROT, Temperament.QUIET),
    (Temperament.QUIET, Temperament.PARROT),
    (Temperament.PARROT, Temperament.PARROT),
)


def sweep(declaration: Declaration) -> Iterator[Scenario]:
    """Per direct child and temperament one conversation: a user about two people, then another user."""
    for number in range(len(declaration.direct)):
        for root, child in _TEMPERS:
            builder = Builder(_PLAIN, declaration)
            draw = EVERYTHING._replace(child=number)
            turns = (
                builder.turn(0, draw, user=0, session="s", subject=0),
                builder.turn(1, draw._replace(pick=1), user=0, session="s", subject=1),
                builder.turn(2, draw, user=0, session="s", subject=0, last=True, follow_up=True),
                builder.turn(3, draw, user=1, session="s"),
                builder.turn(4, draw._replace(child=number + 1), user=1, session="s", last=True),
            )
            yield Scenario(
                SWEEP,
                SWEEP,
                0,
                turns,
                users=("agent_1", "agent_10"),
                subjects=("张伟", "李娜"),
                root=root,
                child=child,
            )
