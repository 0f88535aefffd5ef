"""Where a context is born, crosses or dies: one call each, for those who watch. None can change a run."""

from __future__ import annotations

from typing import Literal, Protocol

from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.messages import Message, ModelRequest
from isolation_kit.runtime.result import SubAgentResult
from isolation_kit.runtime.store import StepKey

__all__ = ["Ending", "Hooks", "NoHooks", "Way"]

Way = Literal["down", "up"]
Ending = Literal["ended", "cancelled"]


class Hooks(Protocol):
    """What a watcher implements; every method is called at the moment it names."""

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """A child's initial context was built from its brief."""

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Bytes crossed the bridge to (`down`) or from (`up`) the child."""

    def context_died(self, agent: str, ending: Ending) -> None:
        """A child is gone, and its messages with it."""

    def request_built(self, request: ModelRequest) -> None:
        """A model is about to be called."""

    def tool_called(self, agent: str, tool: str) -> None:
        """A tool is about to be called."""

    def result_up(self, agent: str, result: SubAgentResult) -> None:
        """The parent accepted a child's result, after the bridge."""

    def pollution(self, agent: str, task_id: str, dropped: Dropped, source_tool: str) -> None:
        """POLLUTION_DETECTED: an undeclared field was dropped; `source_tool` is "" at the bridge."""

    def store_written(self, key: StepKey, data: bytes) -> None:
        """A step was written to the session store."""

    def log_line(self, agent: str, line: str) -> None:
        """A line was written to a child's log."""

    def refused(self, agent: str, reason: str) -> None:
        """A child did not start; `reason` names field and rule, never a value."""


class NoHooks:
    """Watches nothing: the default."""

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """Do nothing."""

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Do nothing."""

    def context_died(self, agent: str, ending: Ending) -> None:
        """Do nothing."""

    def request_built(self, request: ModelRequest) -> None:
        """Do nothing."""

    def tool_called(self, agent: str, tool: str) -> None:
        """Do nothing."""

    def result_up(self, agent: str, result: SubAgentResult) -> None:
        """Do nothing."""

    def pollution(self, agent: str, task_id: str, dropped: Dropped, source_tool: str) -> None:
        """Do nothing."""

    def store_written(self, key: StepKey, data: bytes) -> None:
        """Do nothing."""

    def log_line(self, agent: str, line: str) -> None:
        """Do nothing."""

    def refused(self, agent: str, reason: str) -> None:
        """Do nothing."""
