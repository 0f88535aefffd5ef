"""Several processes on one SQLite store, one killed while it writes: what was acknowledged is there."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from isolation_kit.runtime import StepKey
from isolation_kit.runtime.store_sqlite import SqliteStore

ROOT = Path(__file__).parents[3]

# Says what was acknowledged, step and value, and what was refused.
WRITER = """
import asyncio, sys
from isolation_kit.runtime import StepKey, StepTakenError, StoreError
from isolation_kit.runtime.store_sqlite import SqliteStore

async def main(path, how, first, count):
    with SqliteStore(path, busy_ms=30_000) as store:
        for number in range(int(first), int(first) + int(count)):
            try:
                if how == "append":
                    step = (await store.append("u", "s", number)).step
                else:
                    step = number - int(first)
                    await store.write(StepKey("u", "s", step), number)
                print(step, number, flush=True)
            except StepTakenError:
                print("taken", step, flush=True)
            except StoreError as error:
                print("refused", error.reason, flush=True)
                return

asyncio.run(main(*sys.argv[1:]))
"""


# A disk that is full for this process: no file may grow past 200 kB.
ON_A_FULL_DISK = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n{WRITER}"


def _writer(path: Path, how: str, first: int, count: int, code: str = WRITER) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, str(path), how, str(first), str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def _acknowledged(output: str) -> dict[int, int]:
    lines = (line.split() for line in output.splitlines())
    return {int(step): int(value) for step, value in lines if step.isdecimal()}


def test_processes_that_append_lose_nothing(tmp_path: Path) -> None:
    """Three processes, one session: 60 steps without a gap, each where its writer was told it is."""
    path = tmp_path / "s.db"
    writers = [_writer(path, "append", first, 20) for first in (0, 100, 200)]
    told: dict[int, int] = {}
    for writer in writers:
        told |= _acknowledged(writer.communicate(timeout=60)[0])
    with SqliteStore(path) as store:
        assert dict(enumerate(asyncio.run(store.steps("u", "s")))) == told
    assert sorted(told) == list(range(60))


def test_two_stores_on_one_file_merge_each_others_edits(tmp_path: Path) -> None:
    """Two connections edit one form at the same time, each its own fields: the last version has all of it."""
    form = {str(number): 0 for number in range(20)}

    async def edit(store: SqliteStore, numbers: range) -> None:
        for number in numbers:
            await store.edit(StepKey("u", "s", 0), 1, {**form, str(number): number})

    with SqliteStore(tmp_path / "s.db") as one, SqliteStore(tmp_path / "s.db") as other:
        asyncio.run(one.write(StepKey("u", "s", 0), form))
        with ThreadPoolExecutor(2) as threads:
            work = ((one, range(1, 10)), (other, range(10, 20)))
            list(threads.map(lambda each: asyncio.run(edit(*each)), work))
        history = asyncio.run(one.versions(StepKey("u", "s", 0)))
    assert history[-1] == {str(number): number for number in range(20)}
    assert len(history) == 20


def test_processes_that_write_one_step_agree_on_the_first(tmp_path: Path) -> None:
    """Each of 15 steps has exactly one winner, and its value stands."""
    path = tmp_path / "s.db"
    writers = [_writer(path, "write", first, 15) for first in (0, 100)]
    told = [_acknowledged(writer.communicate(timeout=60)[0]) for writer in writers]
    assert len(told[0]) + len(told[1]) == 15
    with SqliteStore(path) as store:
        assert dict(enumerate(asyncio.run(store.steps("u", "s")))) == told[0] | told[1]


def test_a_killed_writer_loses_no_acknowledged_step(tmp_path: Path) -> None:
    """After SIGKILL in the middle of its work all that it was told is there, and the store works on."""
    path = tmp_path / "s.db"
    writer = _writer(path, "append", 0, 100_000)
    assert writer.stdout is not None
    lines = [writer.stdout.readline() for _ in range(25)]
    writer.kill()
    told = _acknowledged("".join(lines) + writer.stdout.read().rpartition("\n")[0])
    writer.wait()
    writer.stdout.close()
    assert len(told) >= 25
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    with SqliteStore(path) as store:
        for step, value in told.items():
            assert asyncio.run(store.read(StepKey("u", "s", step))) == value
        assert asyncio.run(store.append("u", "s", "on")).step >= len(told)


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no resource limits")
def test_a_full_disk_loses_no_acknowledged_step(tmp_path: Path) -> None:
    """When the system refuses to write on, the writer hears it, and all that it was told before is there."""
    path = tmp_path / "s.db"
    output, _ = _writer(path, "append", 0, 10_000, ON_A_FULL_DISK).communicate(timeout=60)
    told = _acknowledged(output)
    assert output.splitlines()[-1] in ("refused store_full", "refused store_unavailable")
    assert told
    with SqliteStore(path) as store:
        assert dict(enumerate(asyncio.run(store.steps("u", "s")))) == told
        assert asyncio.run(store.append("u", "s", "on")).step == len(told)
