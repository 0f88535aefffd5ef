"""The seams of the runtime: every place where isolation is made or lost, as one callable each.

`CLEAN` is how it is done. A leaky twin is `replace(CLEAN, seam=leaky)`. Some seams are offered more than the
clean callable takes (a parent's scope, a child's memory): that is what a leak is made of, and the clean ones
ignore it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isolation_kit.runtime.bridge import decode_result
from isolation_kit.runtime.brief import TaskBrief, checked_brief
from isolation_kit.runtime.chain import ROOT, Chain
from isolation_kit.runtime.child import Child, ChildSpec, tier
from isolation_kit.runtime.context import build_child_context
from isolation_kit.runtime.failures import reported
from isolation_kit.runtime.fields import AllowList, Dropped
from isolation_kit.runtime.log import error_line, request_line
from isolation_kit.runtime.messages import Message, Model, ModelRequest, ToolCall, ToolSpec
from isolation_kit.runtime.planning import Subtask, planning_context
from isolation_kit.runtime.result import SubAgentResult
from isolation_kit.runtime.text import Digest, canonical
from isolation_kit.runtime.tools import ToolText, filter_tool_result, tool_query

__all__ = ["CLEAN", "TASK", "ParentScope", "Parts", "Step", "resolve_subject", "step_of", "write_brief"]

TASK = "task"  # the privileged tool: what delegates is called so unless declared otherwise


@dataclass(slots=True)
class ParentScope:
    """What a parent knows in one turn: who asks, in which session, and all that was said. Never a child's.

    A layer between parent and leaf has one of its own: no user, its namespace as session, its memory as
    history.
    """

    user: str
    session: str
    history: list[Message] = field(default_factory=list)
    metadata: Mapping[str, str] = field(default_factory=dict)
    chain: Chain = ROOT
    done: list[Subtask] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Step:
    """An earlier step of one session, as the store has it."""

    subject: str
    inputs: Mapping[str, str]


def step_of(raw: Any) -> Step | None:
    """The step that a stored value stands for, or None: others may have stored another shape."""
    if not isinstance(raw, Mapping):
        return None
    subject, inputs = raw.get("subject"), raw.get("inputs")
    if not isinstance(subject, str) or not isinstance(inputs, Mapping):
        return None
    return Step(subject, inputs) if all(isinstance(text, str) for text in inputs.values()) else None


def write_brief(scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest) -> TaskBrief:
    """A brief from the child's own contract and the task's inputs.

    The task's id follows from the way to the child and its inputs: the same task is another one on another
    layer.
    """
    asked = canonical([*scope.chain.namespace, spec.name, inputs]).encode("utf-8", "surrogatepass")
    delegates = any(way.tool.name == TASK for way in spec.children)
    return TaskBrief(
        task_id=f"t_{digest(asked)}",
        goal=spec.goal,
        inputs=inputs,
        allowed_tools=tuple(tool.name for tool in tier(spec)),
        forbidden_tools=() if delegates else (TASK,),
        acceptance=spec.acceptance,
        output_schema=spec.outputs,
        constraints=spec.constraints,
        global_context=spec.constants,
    )


def resolve_subject(steps: tuple[Step, ...], subject: str) -> Step | None:
    """The newest earlier step about exactly `subject`."""
    return next((step for step in reversed(steps) if step.subject == subject), None)


def _whole_name(user: str) -> str:
    return user


def _fresh_context(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
    return build_child_context(brief)


def _no_headers(brief: TaskBrief, scope: ParentScope) -> Mapping[str, str]:
    return {}


def _as_it_is(model: Model) -> Model:
    return model


def _declared_only(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
    return result.to_dict()


def _never_cached(scope: ParentScope, rule: str, subject: str, inputs: Mapping[str, str]) -> Hashable | None:
    return None


@dataclass(frozen=True, slots=True)
class Parts:
    """The seams, in the order in which a delegation passes them."""

    user_key: Callable[[str], str] = _whole_name
    resolve_subject: Callable[[tuple[Step, ...], str], Step | None] = resolve_subject
    response_key: Callable[[ParentScope, str, str, Mapping[str, str]], Hashable | None] = _never_cached
    write_brief: Callable[[ParentScope, ChildSpec, Mapping[str, str], Digest], TaskBrief] = write_brief
    checked_brief: Callable[[TaskBrief, int], TaskBrief] = checked_brief
    new_child: Callable[[ChildSpec], Child] = Child
    child_context: Callable[[TaskBrief, ParentScope], tuple[Message, ...]] = _fresh_context
    child_headers: Callable[[TaskBrief, ParentScope], Mapping[str, str]] = _no_headers
    connect: Callable[[Model], Model] = _as_it_is
    request_line: Callable[[ModelRequest, Digest], str] = request_line
    tool_query: Callable[[ToolSpec, ToolCall], object] = tool_query
    filter_tool_result: Callable[[str, ToolSpec, int, Digest], ToolText] = filter_tool_result
    error_line: Callable[[str, str, Exception | None, str], str] = error_line
    pack_result: Callable[[SubAgentResult, list[Message]], Mapping[str, Any]] = _declared_only
    read_result: Callable[[bytes, AllowList, Digest], tuple[SubAgentResult, tuple[Dropped, ...]]] = (
        decode_result
    )
    report: Callable[[SubAgentResult], dict[str, Any]] = reported
    planning_context: Callable[[Sequence[Message], Sequence[Subtask]], tuple[Message, ...]] = planning_context


CLEAN = Parts()
