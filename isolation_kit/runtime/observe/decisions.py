"""The decision log: what a parent chose, among which candidates, and why (article 003, section 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isolation_kit.runtime.hooks import Decision, NoHooks
from isolation_kit.runtime.observe.lines import Write, read_lines
from isolation_kit.runtime.observe.names import Names
from isolation_kit.runtime.observe.spans import Where
from isolation_kit.runtime.text import canonical

__all__ = ["Decided", "DecisionLog", "read_decisions"]


@dataclass(frozen=True, slots=True)
class Decided:
    """A line of the log: who decided what, in which trace."""

    agent: str
    trace_id: str
    decision: Decision


class DecisionLog(NoHooks):
    """Writes a line for each decision, and for each child that was refused.

    Names that no deployment declared are shown as digests. The reason of a refusal is a sentence of the kit,
    which names field and rule and holds no value, so it is shown whole.
    """

    def __init__(self, write: Write, names: Names, where: Callable[[], Where]) -> None:
        self._write = write
        self._names = names
        self._where = where

    def decided(self, agent: str, decision: Decision) -> None:
        """Write the decision."""
        self._tell(agent, decision, self._names.shown(decision.reason))

    def refused(self, agent: str, reason: str) -> None:
        """Write that the runtime did not let `agent` start, and why."""
        self._tell(agent, Decision("refuse", "", (agent,), reason), reason)

    def _tell(self, agent: str, decision: Decision, reason: str) -> None:
        shown = self._names.shown
        line = {
            "agent": shown(agent),
            "trace_id": self._where().trace_id,
            "kind": shown(decision.kind),
            "chosen": shown(decision.chosen),
            "candidates": [shown(name) for name in decision.candidates],
            "reason": reason,
            "attempt": decision.attempt,
            "error_class": shown(decision.error_class),
            "wait": decision.wait,
        }
        self._write(canonical(line))


def read_decisions(path: Path) -> tuple[Decided, ...]:
    """The decisions of a log."""
    return read_lines(path, _read)


def _read(raw: dict[str, Any]) -> Decided:
    candidates = tuple(raw.pop("candidates"))
    return Decided(raw.pop("agent"), raw.pop("trace_id"), Decision(candidates=candidates, **raw))
