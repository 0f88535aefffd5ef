"""One delegation from brief to result: down over the bridge, a child's whole life, up over the bridge."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime.bridge import (
    BridgeError,
    TaskRequest,
    decode_request,
    encode_request,
    encode_result,
)
from isolation_kit.runtime.brief import BriefError, checked_brief
from isolation_kit.runtime.child import Child, ChildSpec, run_child
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.hooks import Ending
from isolation_kit.runtime.log import write
from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.parts import ParentScope
from isolation_kit.runtime.result import Status, SubAgentResult
from isolation_kit.runtime.wiring import Runtime

__all__ = ["delegate"]


async def delegate(
    runtime: Runtime, scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str]
) -> SubAgentResult:
    """Hand a task to a fresh child and return its result. Whatever fails in it comes back as a reason."""
    try:
        brief = checked_brief(
            runtime.parts.write_brief(scope, spec, inputs, runtime.digest), runtime.limits.window
        )
    except BriefError as error:
        runtime.hooks.refused(spec.name, str(error))
        return SubAgentResult("", Status.REFUSED, errors=("brief_refused",))
    down = encode_request(TaskRequest(spec.name, brief, runtime.limits.timeout_ms))
    runtime.hooks.context_crossed(spec.name, "down", down)
    try:
        request, dropped = decode_request(down, spec.request_fields, spec.outputs, runtime.digest)
    except (StrictJSONError, BridgeError) as error:
        runtime.hooks.refused(spec.name, str(error))
        return SubAgentResult(brief.task_id, Status.REFUSED, errors=("request_refused",))
    _report(runtime, spec.name, brief.task_id, dropped)
    up = await _live(runtime, scope, spec, request)
    runtime.hooks.context_crossed(spec.name, "up", up)
    return _accepted(runtime, spec, brief.task_id, up)


async def _live(runtime: Runtime, scope: ParentScope, spec: ChildSpec, request: TaskRequest) -> bytes:
    """The child's side: it knows what came down. (`scope` is only passed on to the seams.)"""
    brief = request.brief
    child = runtime.parts.new_child(spec)
    context = runtime.parts.child_context(brief, scope)
    headers = runtime.parts.child_headers(brief, scope)
    runtime.hooks.context_born(spec.name, brief, context)
    ending: Ending = "cancelled"
    try:
        result = await _timed(runtime, child, request, context, headers)
        ending = "ended"
    finally:
        runtime.hooks.context_died(spec.name, ending)
    return encode_result(runtime.parts.pack_result(result, child.memory))


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
        return SubAgentResult(request.brief.task_id, Status.TIMEOUT, errors=("timeout",))


def _accepted(runtime: Runtime, spec: ChildSpec, task_id: str, up: bytes) -> SubAgentResult:
    """The parent's side: only the declared part of what came up."""
    try:
        result, dropped = runtime.parts.read_result(up, spec.result_fields, runtime.digest)
    except (StrictJSONError, BridgeError) as error:
        line = runtime.parts.error_line(spec.name, "result_refused", error, "")
        write(runtime.hooks, spec.name, logging.ERROR, line)
        return SubAgentResult(task_id, Status.FAILED, errors=("result_refused",))
    _report(runtime, spec.name, task_id, dropped)
    runtime.hooks.result_up(spec.name, result)
    return result


def _report(runtime: Runtime, agent: str, task_id: str, dropped: tuple[Dropped, ...]) -> None:
    for item in dropped:
        runtime.hooks.pollution(agent, task_id, item, "")
