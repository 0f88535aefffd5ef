"""Where a context is born, crosses or dies: one call each, for those who watch.

None can change a run: a runtime guards its watcher (`several`), so what one raises is counted and logged by
its type, and the run goes on. Only a `KitError` or `UsageError` goes through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.messages import Message, ModelReply, ModelRequest
from isolation_kit.runtime.result import SubAgentResult
from isolation_kit.runtime.store import StepKey

__all__ = ["Decision", "DecisionKind", "Ending", "Hooks", "NoHooks", "Way"]

Way = Literal["down", "up"]
Ending = Literal["ended", "cancelled"]
DecisionKind = Literal["route", "retry", "give_up", "fallback", "refuse"]


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice of a parent (article 003, 5.4): names of rules, children and codes, never the user's text.

    The kind `refuse` is only in the decision log: the runtime did not let the child in `candidates` start.

    Args:
        chosen: the candidate taken, "" if none fitted.
        candidates: all that could have been taken, in their order of precedence.
        reason: a code or the name of the rule that decided, for example `cue` or `model_failed`; of a refusal
            the sentence that names field and rule.
        attempt: 1 for the first try of a task.
        error_class: the class of the error that was decided on, for example `transient`.
        wait: seconds until the next attempt.
    """

    kind: DecisionKind
    chosen: str
    candidates: tuple[str, ...]
    reason: str
    attempt: int = 1
    error_class: str = ""
    wait: float = 0


class Hooks(Protocol):
    """What a watcher implements; every method is called at the moment it names.

    One whose own failure must break the run, for its record would lack what nobody could see, has an
    attribute `unguarded` that is true.
    """

    def delegation_began(self, agent: str, task_id: str, held: Sequence[Message]) -> None:
        """A checked brief is about to be handed to a child; `held` is the history of who hands it down."""

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """A child's initial context was built from its brief."""

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Bytes crossed the bridge to (`down`) or from (`up`) the child."""

    def context_died(self, agent: str, ending: Ending) -> None:
        """A child is gone, and its messages with it."""

    def delegation_ended(self, agent: str, result: SubAgentResult) -> None:
        """The parent has a child's result, whatever its status; also after `refused`, without a beginning."""

    def request_built(self, request: ModelRequest) -> None:
        """A model is about to be called."""

    def model_replied(self, agent: str, reply: ModelReply | None) -> None:
        """A model answered; None if it failed."""

    def tool_called(self, agent: str, tool: str) -> None:
        """A tool is about to be called."""

    def tool_replied(self, agent: str, tool: str, reason: str) -> None:
        """A tool answered; `reason` is "" or the code of what its model got instead of the reply."""

    def result_up(self, agent: str, result: SubAgentResult) -> None:
        """The parent accepted a child's result, after the bridge."""

    def pollution(self, agent: str, task_id: str, dropped: Dropped, source_tool: str) -> None:
        """POLLUTION_DETECTED: an undeclared field was dropped; `source_tool` is "" at the bridge."""

    def skewed(self, agent: str, task_id: str, dropped: Dropped) -> None:
        """The bridge dropped a field that only the other side's newer contract declares: no pollution."""

    def alarm(self, agent: str, reason: str, trace_id: str) -> None:
        """A child was stopped, or reached for what it may not: a loop, a repeated call, a forbidden tool."""

    def decided(self, agent: str, decision: Decision) -> None:
        """A parent chose among candidates."""

    def state_entered(self, agent: str, state: str) -> None:
        """A parent's turn entered a state; `idle` opens the turn, `done`, `error` and `timeout` close it."""

    def memory_peaked(self, agent: str, peak: int) -> None:
        """A child's process ended; the most resident memory that it had, in bytes."""

    def store_written(self, key: StepKey, data: bytes) -> None:
        """A step was written to the session store."""

    def log_line(self, agent: str, line: str) -> None:
        """A line was written to a child's log."""

    def refused(self, agent: str, reason: str) -> None:
        """A child did not start; `reason`, which is logged too, names field and rule, never a value."""


class NoHooks:
    """Watches nothing: the default, and the base of those who watch a few moments only."""

    def delegation_began(self, agent: str, task_id: str, held: Sequence[Message]) -> None:
        """Do nothing."""

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """Do nothing."""

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Do nothing."""

    def context_died(self, agent: str, ending: Ending) -> None:
        """Do nothing."""

    def delegation_ended(self, agent: str, result: SubAgentResult) -> None:
        """Do nothing."""

    def request_built(self, request: ModelRequest) -> None:
        """Do nothing."""

    def model_replied(self, agent: str, reply: ModelReply | None) -> None:
        """Do nothing."""

    def tool_called(self, agent: str, tool: str) -> None:
        """Do nothing."""

    def tool_replied(self, agent: str, tool: str, reason: str) -> None:
        """Do nothing."""

    def result_up(self, agent: str, result: SubAgentResult) -> None:
        """Do nothing."""

    def pollution(self, agent: str, task_id: str, dropped: Dropped, source_tool: str) -> None:
        """Do nothing."""

    def skewed(self, agent: str, task_id: str, dropped: Dropped) -> None:
        """Do nothing."""

    def alarm(self, agent: str, reason: str, trace_id: str) -> None:
        """Do nothing."""

    def decided(self, agent: str, decision: Decision) -> None:
        """Do nothing."""

    def state_entered(self, agent: str, state: str) -> None:
        """Do nothing."""

    def memory_peaked(self, agent: str, peak: int) -> None:
        """Do nothing."""

    def store_written(self, key: StepKey, data: bytes) -> None:
        """Do nothing."""

    def log_line(self, agent: str, line: str) -> None:
        """Do nothing."""

    def refused(self, agent: str, reason: str) -> None:
        """Do nothing."""
