"""A runtime, wired: where models and tools come from, who watches, the limits, and the seams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isolation_kit.runtime.clock import Clock, SystemClock
from isolation_kit.runtime.contract import Contract
from isolation_kit.runtime.hooks import Hooks, NoHooks
from isolation_kit.runtime.launch import Launch, inline
from isolation_kit.runtime.messages import Model, ToolFunction
from isolation_kit.runtime.parts import CLEAN, Parts
from isolation_kit.runtime.retry import Retries
from isolation_kit.runtime.several import guarded
from isolation_kit.runtime.text import Digest
from isolation_kit.runtime.tokens import TokenCounter, utf8_ceiling

if TYPE_CHECKING:
    from isolation_kit.runtime.artifacts import Artifacts

__all__ = ["RunLimits", "Runtime"]


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits that hold for all children of a runtime (article 001, section 2), beside each child's contract.

    Args:
        window: characters of each free text of a brief. The contract's `context_window_size` counts
            tokens, of the whole context.
        tool_output: characters of a tool's reply.
        rounds: model calls of one child, and of a parent in one turn.
        timeout_ms: overrides the contracts' `timeout_ms`, for tests with scaled limits.
    """

    window: int = 4000
    tool_output: int = 50_000
    rounds: int = 30
    timeout_ms: int | None = None

    def timeout_of(self, contract: Contract) -> int:
        """Milliseconds of a child under `contract`."""
        return contract.timeout_ms if self.timeout_ms is None else self.timeout_ms


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything that a parent and its children need from outside. Holds no state of any conversation.

    Args:
        model: the model of an agent, by the agent's name.
        tool: a tool's function, by the tool's and the agent's name.
        digest: keyed; makes task ids and what logs and reports show instead of a value.
        launch: where a child lives, in this process or in one of its own.
        count: tokens of a text; the default never says too few for a byte-level BPE.
        hooks: who watches; guarded here, so that none who raises can change a run (`hooks`).
        artifacts: where outputs that are too long for a context go. Without it a long text is cut, with a
            mark, and a long JSON object stays below: its child ends in `needs_review` with `too_large`.
        clock: times a parent's states and its waits; a child's time limit is the event loop's.
        retries: which errors of children a parent tries again.
    """

    model: Callable[[str], Model]
    tool: Callable[[str, str], ToolFunction]
    digest: Digest
    hooks: Hooks = field(default_factory=NoHooks)
    parts: Parts = CLEAN
    limits: RunLimits = field(default_factory=RunLimits)
    launch: Launch = inline
    count: TokenCounter = utf8_ceiling
    artifacts: Artifacts | None = None
    clock: Clock = field(default_factory=SystemClock)
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hooks", guarded(self.hooks))
