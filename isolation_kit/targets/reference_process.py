"""The reference targets at isolation level `process`: the same systems, each child a process of its own."""

from __future__ import annotations

import asyncio
import threading

from isolation_kit.runtime import ChildSpec, ParentScope, Runtime
from isolation_kit.runtime.bridge import TaskRequest
from isolation_kit.runtime.process import ProcessHost
from isolation_kit.targets.reference import clean_parts, make_reference_rules, make_reference_task

__all__ = ["HostOfThread", "reference_rules_process", "reference_task_process"]


class HostOfThread(threading.local):
    """One host for all cases that a worker thread runs: a zygote costs more than a case.

    It goes with its thread. A target that owns its process would write `async with ProcessHost()` instead.
    """

    def __init__(self) -> None:
        self._host = ProcessHost()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def launch(
        self, runtime: Runtime, scope: ParentScope, spec: ChildSpec, request: TaskRequest
    ) -> bytes:
        """Launch on this thread's host; a new event loop gets a new one."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._host, self._loop = ProcessHost(), loop
        return await self._host.launch(runtime, scope, spec, request)


reference_task_process = make_reference_task(clean_parts, "reference_task_process", HostOfThread().launch)
reference_rules_process = make_reference_rules(clean_parts, "reference_rules_process", HostOfThread().launch)
