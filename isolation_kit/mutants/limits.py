"""Defects at a limit: how a text is cut, and what is cut that must not be."""

from __future__ import annotations

from dataclasses import replace

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import TASK, case, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import CLEAN, Parts, TaskBrief
from isolation_kit.runtime.brief import checked_brief
from isolation_kit.scenario import Delegate
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]

_NO_WINDOW = 10**9


def _cut_by_weight() -> Parts:
    def weighed(brief: TaskBrief, window: int) -> TaskBrief:
        data = brief.inputs["request"].encode("utf-8", "replace")
        room = int(window * 1.3)  # as if a character were 1.3 bytes
        kept, rest = data[:room].decode("utf-8", "replace"), data[room:].decode("utf-8", "ignore")
        longer = replace(brief, inputs={"request": kept}, global_context=brief.global_context + rest)
        return checked_brief(longer, _NO_WINDOW)

    return replace(CLEAN, checked_brief=weighed)


def _name_cut() -> Parts:
    return replace(CLEAN, user_key=lambda user: user[:64])


m54_cut_by_weight = leaky("task", "m54_cut_by_weight", _cut_by_weight)
m63_name_cut = leaky("task", "m63_name_cut", _name_cut)

MUTANTS = (
    Mutant(
        54,
        "m54_cut_by_weight",
        "a text is cut at 1.3 bytes a character, and the rest spills into the next field",
        "task",
        m54_cut_by_weight,
        oracle="boundary",
        slot="task.input",
        channel=Channel.CHILD_CONTEXT,
        direction=Direction.DOWN,
        link="article 000 section 3.2",
        smallest=case(turn(Delegate(0, ""))),
    ),
    Mutant(
        63,
        "m63_name_cut",
        "a user's name is cut at 64 characters, and the cut one is another user's",
        "task",
        m63_name_cut,
        oracle="boundary",
        slot="parent.memory",
        channel=Channel.PARENT_REQUEST,
        direction=Direction.ACROSS,
        alone=True,
        link="article 000 section 4.7",
        smallest=case(turn(TASK), turn(TASK, user=1)),
    ),
)
