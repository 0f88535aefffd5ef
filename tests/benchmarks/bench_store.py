"""Steps per second of the session stores, memory and SQLite in turn in one run, beside a bare fsync."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from isolation_kit.runtime import MemoryStore, StepKey, Store
from isolation_kit.runtime.store_sqlite import SqliteStore

VALUE = {
    "rule": "bill",
    "subject": "张伟",
    "inputs": {"person": "张伟", "bill_id": "B-2024-05"},
    "outputs": {"amount": 129.5, "date": "2024-05-01"},
}
ROUNDS = 5

Work = Callable[[Store, str, int], Awaitable[Any]]


async def _append(store: Store, session: str, steps: int) -> None:
    for _ in range(steps):
        await store.append("u", session, VALUE)


async def _append_at_once(store: Store, session: str, steps: int) -> None:
    await asyncio.gather(*(store.append("u", f"{session} at once", VALUE) for _ in range(steps)))


async def _read(store: Store, session: str, steps: int) -> None:
    for step in range(steps):
        await store.read(StepKey("u", session, step))


async def _edit(store: Store, session: str, steps: int) -> None:
    for step in range(steps):
        await store.edit(StepKey("u", session, step), 1, {**VALUE, "subject": "李娜"})


WORK: dict[str, Work] = {"append": _append, "append at once": _append_at_once, "read": _read, "edit": _edit}


async def _timed(work: Work, store: Store, session: str, steps: int) -> float:
    start = time.perf_counter()
    await work(store, session, steps)
    return (time.perf_counter() - start) / steps


def _synced(folder: Path, steps: int) -> float:
    """Seconds of one written and synced page: what the disk costs any store that keeps its word."""
    with (folder / "bare").open("wb", buffering=0) as file:
        start = time.perf_counter()
        for _ in range(steps):
            file.write(bytes(4096))
            os.fsync(file.fileno())
        return (time.perf_counter() - start) / steps


async def _measured(stores: dict[str, Store], folder: Path, steps: int) -> dict[tuple[str, str], list[float]]:
    times: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS):
        for what, work in WORK.items():
            for name, store in stores.items():
                took = await _timed(work, store, f"session {number}", steps)
                times.setdefault((what, name), []).append(took)
        times.setdefault(("fsync", "bare"), []).append(_synced(folder, steps))
    return times


def main(steps: int = 100) -> None:
    """Print the medians over five rounds."""
    with TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        with SqliteStore(folder / "s.db") as file:
            stores: dict[str, Store] = {"memory": MemoryStore(), "sqlite": file}
            times = asyncio.run(_measured(stores, folder, steps))
    median = {key: statistics.median(values) for key, values in times.items()}
    bare = median.pop(("fsync", "bare"))
    print(f"4 KiB written and synced, bare: {bare * 1e6:.0f} us")
    for what in WORK:
        memory, sqlite = median[what, "memory"], median[what, "sqlite"]
        print(
            f"{what:15} memory {1 / memory:8.0f}/s ({memory * 1e6:.0f} us)   "
            f"SQLite {1 / sqlite:7.0f}/s ({sqlite * 1e6:.0f} us, {sqlite / bare:.1f} syncs)   "
            f"ratio {sqlite / memory:.0f}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
