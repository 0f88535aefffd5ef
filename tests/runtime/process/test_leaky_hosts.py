"""Hosts that isolate badly, on purpose: each kind of leftover is seen there, and none at the clean host."""

from __future__ import annotations

import asyncio
import os
import pkgutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from watched import ENTRIES, gone

from isolation_kit.runtime import ChildSpec, ModelReply, ParentScope, Status, SubAgentResult, delegate
from isolation_kit.runtime.bridge import TaskRequest, encode_result
from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.process import ProcessHost, ProcessLimits

Ask = Callable[[str, str], str]


def entered(name: str, brief: TaskBrief) -> bytes:
    """Run an entry in a worker of the pool."""
    outputs = pkgutil.resolve_name(ENTRIES[name])(brief, None)
    return encode_result(SubAgentResult(brief.task_id, Status.SUCCEEDED, outputs).to_dict())


class Pooled:
    """The leaky host: one process that is reused for every child, and adopts nobody's orphans."""

    def __init__(self) -> None:
        self.pool = ProcessPoolExecutor(1, get_context("spawn"))

    async def launch(self, runtime: Any, scope: ParentScope, spec: ChildSpec, request: TaskRequest) -> bytes:
        """Run the child's entry in the pool."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, entered, spec.name, request.brief)


@pytest.fixture(scope="module")
def pooled() -> Iterator[Pooled]:
    """The leaky host, shut down at the end."""
    host = Pooled()
    yield host
    host.pool.shutdown()


@pytest.fixture
def ask(place: Any, rig: Any, spec: Any) -> Callable[[Any], Ask]:
    """Asks a host's child and returns its answer."""

    def at(launch: Any) -> Ask:
        def answer(name: str, text: str) -> str:
            made = rig({name: [ModelReply("")]})
            runtime = replace(made.runtime, launch=launch)
            result = place.run(delegate(runtime, ParentScope("u", "s"), spec(name), {"request": text}))
            assert result.status == "succeeded", result
            return str(result.key_outputs["answer"])

        return answer

    return at


def test_a_reused_process_remembers_the_child_before(place: Any, pooled: Pooled, ask: Any) -> None:
    """The second child of the pool reads the first one's task; no child of the clean host does."""
    leaky, clean = ask(pooled.launch), ask(place.host.launch)
    assert [leaky("remember", text) for text in ("one", "two")] == ["nothing", "one"]
    assert [clean("remember", text) for text in ("one", "two")] == ["nothing", "nothing"]


def test_an_orphan_survives_where_nobody_adopts_it(place: Any, pooled: Pooled, ask: Any) -> None:
    """The process that fled from the pool lives on; the one that fled from the clean host is gone."""
    orphan = int(ask(pooled.launch)("fork_and_flee", "x"))
    try:
        assert not gone(orphan, seconds=0.2)
    finally:
        os.kill(orphan, signal.SIGKILL)
    assert gone(int(ask(place.host.launch)("fork_and_flee", "x")), seconds=0)


def test_a_file_with_the_task_is_left_where_files_are_allowed(place: Any, ask: Any, tmp_path: Path) -> None:
    """With room for files the task's text stays on disk; without it, which is the default, none does."""
    roomy = ProcessHost(ProcessLimits(file_bytes=1 << 20), ENTRIES)
    sizes = []
    for launch in (roomy.launch, place.host.launch):
        ask(launch)("leave_file", str(tmp_path))
        sizes.append((tmp_path / "left").stat().st_size)
    place.run(roomy.aclose())
    assert sizes == [len(str(tmp_path)), 0]
