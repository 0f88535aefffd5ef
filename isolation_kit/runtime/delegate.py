"""One delegation from brief to result: down over the bridge, a child's whole life, up over the bridge.

Where the child lives (in this process, or in one of its own) is the launcher's business. Whatever goes wrong
is told to the parent as a code of `Reason`; what a child was doing when it went wrong is told to nobody.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime.bridge import (
    BridgeError,
    TaskRequest,
    decode_request,
    encode_request,
)
from isolation_kit.runtime.brief import BriefError
from isolation_kit.runtime.child import ChildSpec, tier
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.log import refused_line, write
from isolation_kit.runtime.parts import ParentScope
from isolation_kit.runtime.result import SUMMARY_LIMIT, Reason, Status, SubAgentResult, missing, oversize
from isolation_kit.runtime.text import canonical
from isolation_kit.runtime.window import fitted_brief
from isolation_kit.runtime.wiring import Runtime

__all__ = ["delegate"]


async def delegate(
    runtime: Runtime, scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str]
) -> SubAgentResult:
    """Hand a task to a fresh child and return its result. Whatever fails in it comes back as a reason."""
    result = await _handed_over(runtime, scope, spec, inputs)
    runtime.hooks.delegation_ended(spec.name, result)
    return result


async def _handed_over(
    runtime: Runtime, scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str]
) -> SubAgentResult:
    if problem := spec.contract.problem_with(spec.tools):
        return _refused(runtime, spec, Reason.CONTRACT_REFUSED, problem)
    try:
        written = runtime.parts.write_brief(scope, spec, inputs, runtime.digest)
        brief = fitted_brief(
            runtime.parts.checked_brief(written, runtime.limits.window),
            tier(spec),
            spec.contract.context_window_size,
            runtime.count,
        )
    except BriefError as error:
        return _refused(runtime, spec, Reason.BRIEF_REFUSED, str(error))
    if problem := scope.chain.problem(spec.name, brief.inputs, runtime.digest):
        runtime.hooks.alarm(spec.name, problem, scope.chain.trace_id or brief.task_id)
        return SubAgentResult(brief.task_id, Status.REFUSED, errors=(problem,))
    runtime.hooks.delegation_began(spec.name, brief.task_id, scope.history)
    down = encode_request(TaskRequest(spec.name, brief, runtime.limits.timeout_of(spec.contract)))
    runtime.hooks.context_crossed(spec.name, "down", down)
    try:
        request, dropped = decode_request(down, spec.request_fields, spec.outputs, runtime.digest)
    except (StrictJSONError, BridgeError) as error:
        return _refused(runtime, spec, Reason.REQUEST_REFUSED, str(error), brief.task_id)
    _report(runtime, spec.name, brief.task_id, dropped)
    up = await runtime.launch(runtime, scope, spec, request)
    runtime.hooks.context_crossed(spec.name, "up", up)
    return _accepted(runtime, scope, spec, brief.task_id, up)


def _refused(
    runtime: Runtime, spec: ChildSpec, reason: Reason, problem: str, task_id: str = ""
) -> SubAgentResult:
    """The result of a child that does not start. Who watches and who reads the log learn why."""
    runtime.hooks.refused(spec.name, problem)
    write(runtime.hooks, spec.name, logging.ERROR, refused_line(spec.name, reason, problem))
    return SubAgentResult(task_id, Status.REFUSED, errors=(reason,))


def _accepted(
    runtime: Runtime, scope: ParentScope, spec: ChildSpec, task_id: str, up: bytes
) -> SubAgentResult:
    """The parent's side: only the declared part of what came up."""
    try:
        result, dropped = runtime.parts.read_result(up, spec.result_fields, runtime.digest)
        if result.artifacts:
            result, forged = _given(runtime, scope, result)
            dropped = (*dropped, *forged)
        if result.task_id != task_id:
            raise BridgeError("the result names another task; a child answers the task that it was handed")
        if missing(result, spec.outputs):
            raise BridgeError("a success without its required outputs; answer needs_review, or what is asked")
        limit = max(runtime.limits.tool_output, SUMMARY_LIMIT)
        if len(up) > limit and oversize(result.key_outputs, limit):
            raise BridgeError("the key outputs are longer than tool_output allows; shelve them, or say less")
    except (StrictJSONError, BridgeError) as error:
        line = runtime.parts.error_line(spec.name, Reason.RESULT_REFUSED, error, "")
        write(runtime.hooks, spec.name, logging.ERROR, line)
        return SubAgentResult(task_id, Status.FAILED, errors=(Reason.RESULT_REFUSED,))
    _report(runtime, spec.name, task_id, dropped)
    runtime.hooks.result_up(spec.name, result)
    return result


def _given(
    runtime: Runtime, scope: ParentScope, result: SubAgentResult
) -> tuple[SubAgentResult, tuple[Dropped, ...]]:
    """`result` with the references that this session's shelf gave: others could be words."""
    shelf = None if scope.chain.links else runtime.artifacts
    given, forged = [], []
    for reference in result.artifacts:
        if shelf is not None and shelf.holds(scope.user, scope.session, reference):
            given.append(reference)
        else:
            digest = runtime.digest(canonical(reference).encode())
            forged.append(Dropped("artifacts[]", "string", len(canonical(reference)), digest))
    return replace(result, artifacts=tuple(given)), tuple(forged)


def _report(runtime: Runtime, agent: str, task_id: str, dropped: tuple[Dropped, ...]) -> None:
    for item in dropped:
        if item.skew:
            runtime.hooks.skewed(agent, task_id, item)
        else:
            runtime.hooks.pollution(agent, task_id, item, "")
