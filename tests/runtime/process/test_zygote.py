"""The zygote: what its death, or a start that fails, leaves behind, and what the parent is told."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from watched import gone

from isolation_kit.errors import KitError, UsageError
from isolation_kit.runtime import ChildSpec, ModelReply, ParentScope, delegate
from isolation_kit.runtime.process import ProcessHost, control

Live = Callable[..., Any]


def once(made: Any, worker: ChildSpec, preload: tuple[str, ...] = ()) -> None:
    """One delegation at a host of its own; an error that nobody fetched fails it."""
    lost: list[Any] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: lost.append(context["message"])
        )
        async with ProcessHost(preload=preload) as host:
            runtime = replace(made.runtime, launch=host.launch)
            await delegate(runtime, ParentScope("u", "s"), worker, {"request": "x"})

    try:
        asyncio.run(run())
    finally:
        gc.collect()
        assert lost == []


def test_nothing_counts_that_an_orphan_says(live: Live) -> None:
    """A child's fled process kills the zygote and answers for it: `killed` at once, no orphan is left."""
    ended = live("orphan_answers")
    assert ended.outcome == ("killed", ("killed",))
    assert ended.seconds < 5
    assert gone(int(ended.made.scripts["orphan_answers"].requests[0].messages[0].content), seconds=0)


def test_a_killed_keeper_takes_all_along(place: Any, rig: Any, spec: Any) -> None:
    """The zygote sees it, and buries its children; what fled from one is dead too."""
    made = rig({"flee_and_hang": [ModelReply("")]})
    runtime = replace(made.runtime, launch=place.host.launch)

    async def killed() -> Any:
        task = asyncio.create_task(
            delegate(runtime, ParentScope("u", "s"), spec("flee_and_hang"), {"request": "x"})
        )
        while not made.scripts["flee_and_hang"].requests:
            await asyncio.sleep(0.005)
        os.kill(place.host._zygote.process.pid, signal.SIGKILL)
        return await task

    assert place.run(killed()).errors == ("killed",)
    assert gone(int(made.scripts["flee_and_hang"].requests[0].messages[0].content), seconds=0)


def test_two_cancellations_in_a_row_lose_no_death(place: Any, rig: Any, spec: Any) -> None:
    """The burial is not cut short, so the watcher is told of it."""
    made = rig({"silent": [ModelReply("")]})
    runtime = replace(made.runtime, launch=place.host.launch)

    async def cancelled() -> None:
        task = asyncio.create_task(delegate(runtime, ParentScope("u", "s"), spec("silent"), {"request": "x"}))
        while not made.watcher.named("context_born") and not task.done():
            await asyncio.sleep(0.005)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    place.run(cancelled())
    assert made.watcher.named("context_died") == [("silent", "cancelled")]


def test_a_system_without_descriptors_is_told(
    rig: Any, worker: ChildSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kit's error names the code and the limit to raise."""

    def refuse(*command: Any, **more: Any) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(control.subprocess, "Popen", refuse)
    with pytest.raises(KitError, match=r"EMFILE.*ulimit"):
        once(rig({"worker": [ModelReply("42")]}), worker)


def test_a_zygote_that_dies_at_its_start_is_told(
    rig: Any, worker: ChildSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it has read a word."""
    start = subprocess.Popen

    def dying(*command: Any, **more: Any) -> Any:
        process = start(*command, **more)
        process.kill()
        process.wait()
        return process

    monkeypatch.setattr(control.subprocess, "Popen", dying)
    with pytest.raises(UsageError, match="ended before it was ready"):
        once(rig({"worker": [ModelReply("42")]}), worker)


def test_a_module_that_hangs_while_it_is_loaded_is_told(
    rig: Any, worker: ChildSpec, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """The wait has an end, and the error names the parameter."""
    (tmp_path / "hangs_at_import.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(control, "_START_SECONDS", 0.5)
    monkeypatch.setattr(control, "_END_SECONDS", 0.2)
    with pytest.raises(UsageError, match="preload that waits"):
        once(rig({"worker": [ModelReply("42")]}), worker, ("hangs_at_import",))
