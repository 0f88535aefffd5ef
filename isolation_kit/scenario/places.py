"""Where canaries are planted, and the placeholders that stand for them in a stored case."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from isolation_kit.errors import UsageError

__all__ = ["Place", "Slot", "check_slot", "fill", "places_in"]


class Slot(StrEnum):
    """Where a canary may be planted; users add their own names under `x.`."""

    USER_CURRENT = "user.current"
    USER_EARLIER = "user.earlier"
    PARENT_SYSTEM = "parent.system"
    PARENT_DESCRIPTION = "parent.description"
    PARENT_TEXT = "parent.text"
    PARENT_TOOL_ARGS = "parent.tool.args"
    PARENT_TOOL_RESULT = "parent.tool.result"
    PARENT_TOOL_NOISE = "parent.tool.noise"
    PARENT_TOOL_DESCRIPTION = "parent.tool.description"
    PARENT_STATE = "parent.state"
    PARENT_METADATA = "parent.metadata"
    PARENT_SESSION_ID = "parent.session_id"
    PARENT_RETRIEVED = "parent.retrieved"
    PARENT_MEMORY = "parent.memory"
    PARENT_FILE = "parent.file"
    ENVIRONMENT = "environment"
    TASK_GOAL = "task.goal"
    TASK_INPUT = "task.input"
    TASK_CONSTANTS = "task.constants"
    CHILD_ANSWER = "child.answer"
    CHILD_TEXT = "child.text"
    CHILD_TOOL_ARGS = "child.tool.args"
    CHILD_TOOL_RESULT = "child.tool.result"
    CHILD_TOOL_NOISE = "child.tool.noise"


_SLOTS = frozenset(Slot)
_USER_SLOT = re.compile(r"x\.[a-z0-9_]+(?:\.[a-z0-9_]+)*\Z")


def check_slot(name: str) -> str:
    """Return `name` if it is a known slot or lies in the user namespace `x.`.

    Raises:
        UsageError: for any other name.
    """
    if name in _SLOTS or _USER_SLOT.match(name):
        return name
    raise UsageError(
        f"unknown slot {name[:60]!r}; allowed: {', '.join(sorted(_SLOTS))}, or a name of your own such as "
        "'x.session_cache' (lower case letters, digits, '_' and '.')"
    )


class Place(NamedTuple):
    """Where one canary is planted: slot, user index (-1: the system's own), subject index (-1: none), turn
    index (-1: before the first turn), running number."""

    slot: str
    user: int = 0
    subject: int = -1
    turn: int = 0
    n: int = 0

    @property
    def placeholder(self) -> str:
        """The text that stands for this place's token in a carrier."""
        return f"{{{{canary:{self.slot}/{self.user}/{self.subject}/{self.turn}/{self.n}}}}}"

    @property
    def label(self) -> str:
        """`slot/user/turn`: how reports name a canary."""
        user = "system" if self.user < 0 else f"u{self.user}"
        return f"{self.slot}/{user}/t{self.turn}"


_PLACEHOLDER = re.compile(r"\{\{canary:([a-z0-9_.]+)/(-?\d+)/(-?\d+)/(-?\d+)/(\d+)\}\}")


@lru_cache(maxsize=8192)
def _parts(text: str) -> tuple[str | Place, ...]:
    """`text` cut at its placeholders; the same carriers come again in thousands of cases."""
    out: list[str | Place] = []
    end = 0
    for m in _PLACEHOLDER.finditer(text):
        out += [text[end : m.start()], Place(m[1], int(m[2]), int(m[3]), int(m[4]), int(m[5]))]
        end = m.end()
    return (*out, text[end:])


def places_in(text: str) -> tuple[Place, ...]:
    """The places named by the placeholders of `text`, in order of appearance."""
    if "{{canary:" not in text:
        return ()
    return tuple(part for part in _parts(text) if isinstance(part, Place))


def fill(text: str, token: Callable[[Place], str]) -> str:
    """Replace every placeholder of `text` by what `token` returns for its place."""
    if "{{canary:" not in text:
        return text
    return "".join([part if isinstance(part, str) else token(part) for part in _parts(text)])
