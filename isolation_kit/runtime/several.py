"""Several watchers at once, of whom none can break a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isolation_kit.errors import KitError
from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.hooks import Decision, Ending, Hooks, NoHooks, Way
from isolation_kit.runtime.messages import Message, ModelReply, ModelRequest
from isolation_kit.runtime.result import SubAgentResult
from isolation_kit.runtime.store import StepKey

__all__ = ["Several"]


class Several:
    """Tells each of several watchers, in their order.

    A watcher that raises does not break the run, and the others are told all the same: `failed` counts it.
    Only a fault that the kit itself reports goes through.
    """

    def __init__(self, *watchers: Hooks) -> None:
        # Who does nothing at a moment is not asked: some twenty calls a delegation for each watcher add up.
        self._listeners = {
            moment: tuple(tell for watcher in watchers if _listens(tell := getattr(watcher, moment), moment))
            for moment in vars(NoHooks)
            if not moment.startswith("_")
        }
        self.failed = 0

    def _tell(self, moment: str, *what: object) -> None:
        for tell in self._listeners[moment]:
            try:
                tell(*what)
            except KitError:
                raise
            except Exception:  # a watcher is foreign code, and none can change a run
                self.failed += 1

    def delegation_began(self, agent: str, task_id: str, held: Sequence[Message]) -> None:
        """Tell all."""
        self._tell("delegation_began", agent, task_id, held)

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """Tell all."""
        self._tell("context_born", agent, brief, messages)

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Tell all."""
        self._tell("context_crossed", agent, way, data)

    def context_died(self, agent: str, ending: Ending) -> None:
        """Tell all."""
        self._tell("context_died", agent, ending)

    def delegation_ended(self, agent: str, result: SubAgentResult) -> None:
        """Tell all."""
        self._tell("delegation_ended", agent, result)

    def request_built(self, request: ModelRequest) -> None:
        """Tell all."""
        self._tell("request_built", request)

    def model_replied(self, agent: str, reply: ModelReply | None) -> None:
        """Tell all."""
        self._tell("model_replied", agent, reply)

    def tool_called(self, agent: str, tool: str) -> None:
        """Tell all."""
        self._tell("tool_called", agent, tool)

    def tool_replied(self, agent: str, tool: str, reason: str) -> None:
        """Tell all."""
        self._tell("tool_replied", agent, tool, reason)

    def result_up(self, agent: str, result: SubAgentResult) -> None:
        """Tell all."""
        self._tell("result_up", agent, result)

    def pollution(self, agent: str, task_id: str, dropped: Dropped, source_tool: str) -> None:
        """Tell all."""
        self._tell("pollution", agent, task_id, dropped, source_tool)

    def skewed(self, agent: str, task_id: str, dropped: Dropped) -> None:
        """Tell all."""
        self._tell("skewed", agent, task_id, dropped)

    def alarm(self, agent: str, reason: str, trace_id: str) -> None:
        """Tell all."""
        self._tell("alarm", agent, reason, trace_id)

    def decided(self, agent: str, decision: Decision) -> None:
        """Tell all."""
        self._tell("decided", agent, decision)

    def state_entered(self, agent: str, state: str) -> None:
        """Tell all."""
        self._tell("state_entered", agent, state)

    def memory_peaked(self, agent: str, peak: int) -> None:
        """Tell all."""
        self._tell("memory_peaked", agent, peak)

    def store_written(self, key: StepKey, data: bytes) -> None:
        """Tell all."""
        self._tell("store_written", key, data)

    def log_line(self, agent: str, line: str) -> None:
        """Tell all."""
        self._tell("log_line", agent, line)

    def refused(self, agent: str, reason: str) -> None:
        """Tell all."""
        self._tell("refused", agent, reason)


def _listens(tell: Callable[..., None], moment: str) -> bool:
    return getattr(tell, "__func__", None) is not vars(NoHooks)[moment]
