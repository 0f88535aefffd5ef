"""The child's whole life in this process: born of its brief, timed, gone, its result packed as bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from isolation_kit.runtime.bridge import TaskRequest, encode_result
from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.child import Child, ChildSpec, run_child
from isolation_kit.runtime.hooks import Ending
from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.parts import ParentScope
from isolation_kit.runtime.result import Reason, Status, SubAgentResult

if TYPE_CHECKING:
    from isolation_kit.runtime.wiring import Runtime

__all__ = ["Launch", "begun", "inline"]

Launch = Callable[["Runtime", ParentScope, ChildSpec, TaskRequest], Awaitable[bytes]]


async def inline(runtime: Runtime, scope: ParentScope, spec: ChildSpec, request: TaskRequest) -> bytes:
    """The bytes of the result. A clean child knows its request, and nothing of `scope`.

    The parent's side takes of `scope` the chain of a layer's delegations, and user and session for the shelf
    of long outputs; a seam that was replaced may take more.
    """
    brief = request.brief
    child, headers = begun(runtime, scope, spec, brief)
    context = runtime.parts.child_context(brief, scope)
    runtime.hooks.context_born(spec.name, brief, context)
    ending: Ending = "cancelled"
    try:
        result = await _timed(runtime, child, request, context, headers)
        ending = "ended"
    finally:
        runtime.hooks.context_died(spec.name, ending)
    return encode_result(runtime.parts.pack_result(result, child.memory))


def begun(
    runtime: Runtime, scope: ParentScope, spec: ChildSpec, brief: TaskBrief
) -> tuple[Child, Mapping[str, str]]:
    """What the parent holds of a child wherever it lives: its chain, its shelf, its requests' headers."""
    child = runtime.parts.new_child(spec)
    if spec.children:
        child.chain = scope.chain.to(spec.name, brief.inputs, brief.task_id, runtime.digest)
    if runtime.artifacts is not None and not scope.chain.links:
        child.shelve = runtime.artifacts.shelf(scope.user, scope.session)
    return child, runtime.parts.child_headers(brief, scope)


async def _timed(
    runtime: Runtime,
    child: Child,
    request: TaskRequest,
    context: tuple[Message, ...],
    headers: Mapping[str, str],
) -> SubAgentResult:
    try:
        async with asyncio.timeout(request.timeout_ms / 1000):
            return await run_child(runtime, child, request.brief, context, headers)
    except TimeoutError:
        return SubAgentResult(request.brief.task_id, Status.TIMEOUT, errors=(Reason.TIMEOUT,))
