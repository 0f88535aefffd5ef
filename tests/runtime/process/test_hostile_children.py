"""Children that mean harm: the right status, a reason code, nothing left, and the next child is well."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.runtime import ModelReply, ParentScope, delegate

Live = Callable[..., Any]
SECRET = "secret-5d1c"
DOWN = {"delegation_began", "context_crossed", "context_born"}  # these show the brief, which holds it


@pytest.fixture(autouse=True)
def nothing_left(place: Any, live: Live) -> Iterator[None]:
    """After each test the zygote has no child, and a clean one still works."""
    yield
    assert place.left() == 0
    assert live("clean").outcome == ("succeeded", ())


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("fill_memory", ("killed", ("memory_limit",))),
        ("fill_memory_and_catch", ("killed", ("memory_limit",))),
        ("one_large_block", ("killed", ("memory_limit",))),
        ("fill_memory_in_a_fork", ("killed", ("memory_limit",))),
        ("huge_frame", ("killed", ("output_limit",))),
        ("many_logs", ("killed", ("output_limit",))),
        ("crash", ("killed", ("killed",))),
        ("many_frames", ("failed", ("bad_frame",))),
        ("garbage", ("failed", ("bad_frame",))),
        ("half_a_frame", ("failed", ("pipe_closed",))),
        ("close_pipe", ("failed", ("pipe_closed",))),
        ("raising", ("failed", ("child_crashed",))),
        ("model_for_ever", ("needs_review", ("round_limit",))),
        ("flee_with_memory", ("killed", ("memory_limit",))),
        ("share_memory", ("killed", ("memory_limit",))),
        ("flood", ("killed", ("output_limit",))),
        ("flood_calls", ("killed", ("output_limit",))),
        ("many_drops", ("killed", ("output_limit",))),
        ("own_words", ("failed", ("bad_frame",))),
        ("own_kind", ("failed", ("bad_frame",))),
        ("own_reason", ("succeeded", ())),
        ("large_request", ("needs_review", ("window_full",))),
    ],
)
def test_the_end_of_a_hostile_child_is_told_by_its_cause(live: Live, name: str, outcome: Any) -> None:
    """Killed, failed and stopped are told apart, and nothing that the child said is in result or hooks."""
    ended = live(name, SECRET)
    assert ended.outcome == outcome
    assert ended.result.key_outputs in ({}, {"answer": "ok"})
    seen = [args for call, args in ended.made.watcher.calls if call not in DOWN]
    assert SECRET not in repr((ended.result, seen))
    assert ended.seconds < 15


@pytest.mark.parametrize("name", ["silent", "deaf", "stopped", "fork_tree_and_hang", "flood"])
def test_past_its_time_a_child_is_killed_whatever_it_ignores(live: Live, name: str) -> None:
    """A timeout ends sleeping, deaf and stopped children, and a deaf tree in sessions of its own."""
    ended = live(name, timeout_ms=250 if name == "flood" else 700)
    assert ended.outcome == ("timeout", ("timeout",))
    assert ended.seconds < 5


@pytest.mark.parametrize("name", ["fork_in_group", "fork_and_flee", "program"])
def test_what_a_child_forked_dies_with_it(live: Live, name: str) -> None:
    """The result counts; the process that was left behind, fled or not, is gone when it arrives."""
    assert live(name).outcome == ("succeeded", ())


def test_a_child_writes_no_file(live: Live, tmp_path: Path) -> None:
    """It may make an empty one, as the same user; not a byte of its task gets in."""
    live("leave_file", str(tmp_path))
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [0]


def test_what_a_child_logs_is_written_as_size_and_digest(live: Live) -> None:
    """Its own words do not reach the log."""
    ended = live("tell_log", SECRET)
    (line,) = [args[1] for args in ended.made.watcher.named("log_line")]
    assert line.startswith(f"log agent=tell_log characters={len('saw ' + SECRET)} digest=")


def test_a_tool_that_was_not_offered_is_refused(live: Live) -> None:
    """The parent looks the tool up in the brief, not in what the child says."""
    ended = live("foreign_tool")
    assert ended.result.key_outputs == {"answer": '{"error":"unknown_tool"}'}
    assert ended.made.watcher.named("tool_called") == []


def test_a_flood_leaves_the_others_their_turn(place: Any, live: Live) -> None:
    """While frames pour in, the parent's loop goes on."""
    gaps = [0.0]

    async def beat() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - before)

    beating = place.run(_started(beat()))
    assert live("flood").outcome == ("killed", ("output_limit",))
    beating.cancel()
    assert max(gaps) < 0.5
    assert len(gaps) > 3


async def _started(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(work)


def test_a_log_call_that_does_not_fit_harms_nobody(live: Live) -> None:
    """Its size and digest are written, as of any other."""
    ended = live("slips")
    assert ended.outcome == ("succeeded", ())
    assert len(ended.made.watcher.named("log_line")) == 2


@pytest.mark.skipif(os.getuid() != 0, reason="only root may read how memory is shared")
def test_memory_that_two_processes_share_counts_once(live: Live) -> None:
    """20 MiB in two processes are within 32."""
    assert live("share_with_a_fork").outcome == ("succeeded", ())


def test_a_segment_is_removed_with_its_child(live: Live) -> None:
    """It would outlive the process, and the next child could read it."""
    number = live("segment").result.key_outputs["answer"]
    rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    assert number not in [row.split()[1] for row in rows]


def test_an_end_of_one_child_spares_what_another_forked(place: Any, rig: Any, spec: Any) -> None:
    """The helper of the one lives while others are buried."""
    made = rig({name: [ModelReply("said")] for name in ("helped", "crash")})
    runtime = replace(made.runtime, launch=place.host.launch)

    async def both() -> Any:
        async def ask(name: str) -> Any:
            return await delegate(runtime, ParentScope("u", "s"), spec(name), {"request": "x"})

        helped = asyncio.create_task(ask("helped"))
        while len(made.watcher.named("context_born")) < 1:
            await asyncio.sleep(0.005)
        for _ in range(3):
            await asyncio.sleep(0.1)
            await ask("crash")
        return await helped

    assert place.run(both()).key_outputs == {"answer": "helped"}
