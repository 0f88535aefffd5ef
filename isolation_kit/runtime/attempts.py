"""A task, tried as often as the parent decides (article 003, 4.4).

Each attempt is a delegation of its own: the same inputs, cut at the same limits, to a fresh child. Nothing of
a failed attempt is handed to the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from isolation_kit.errors import KitError
from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.delegate import delegate
from isolation_kit.runtime.failures import UNCLASSIFIED, failure_of
from isolation_kit.runtime.log import write
from isolation_kit.runtime.parts import ParentScope
from isolation_kit.runtime.result import Status, SubAgentResult
from isolation_kit.runtime.retry import RETRY, decide
from isolation_kit.runtime.wiring import Runtime

__all__ = ["attempted"]


async def attempted(
    runtime: Runtime, agent: str, scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str]
) -> SubAgentResult:
    """The result of the last attempt. The hooks are told what the parent, `agent`, decides."""
    attempt = 1
    while True:
        result = await _once(runtime, scope, spec, inputs)
        failure = failure_of(result)
        if failure is None:
            return result
        decision = decide(runtime.retries, failure, attempt)
        runtime.hooks.decided(agent, decision)
        if decision.chosen != RETRY:
            return result
        await runtime.clock.sleep(decision.wait)
        attempt += 1


async def _once(
    runtime: Runtime, scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str]
) -> SubAgentResult:
    try:
        return await delegate(runtime, scope, spec, inputs)
    except KitError:
        raise
    except Exception as error:  # a launcher or a child's entry is foreign code: its text goes nowhere
        line = runtime.parts.error_line(spec.name, UNCLASSIFIED, error, "")
        write(runtime.hooks, spec.name, logging.ERROR, line)
        result = SubAgentResult("", Status.FAILED)
        runtime.hooks.delegation_ended(spec.name, result)
        return result
