"""Isolation level `process`: a child's start beside a bare fork, what it leaves, cases per CPU second."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from isolation_kit.audit import FAMILIES, Campaign, Plan, items
from isolation_kit.content import load_attacks
from isolation_kit.runtime import (
    AllowList,
    ChildSpec,
    ModelReply,
    NoHooks,
    ParentScope,
    Runtime,
    Status,
    ToolCall,
    ToolSpec,
    delegate,
    keyed_digest,
)
from isolation_kit.runtime.contract import Contract, declared_fields
from isolation_kit.runtime.launch import inline
from isolation_kit.runtime.process import ProcessHost
from isolation_kit.runtime.process.memory import tree_of
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference import reference_task
from isolation_kit.targets.reference_process import reference_task_process

_BARE_FORK = """
import os, sys, time
for line in sys.stdin:
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    print(time.perf_counter() - start, flush=True)
"""
_BARE = "bare fork + exit, of an empty interpreter"
_START = "child process: order to first frame"
_MOST_FORKS, _MOST_MS = 3.0, 15.0
# Children have no environment: a preloaded module tells them of the benchmark's own temporary folder.
_TEMPORARY = """
import os, tempfile
tempfile.tempdir = os.path.join(os.path.dirname(__file__), "files")
def leave_file(brief, link):
    os.close(tempfile.mkstemp()[0])
    return {"answer": "left"}
"""
_LOOKUP = ToolSpec(
    "lookup",
    "Look it up.",
    fields=AllowList({"type": "object", "properties": {"amount": {"type": "number"}}}),
)
_WORKER = ChildSpec(
    "worker",
    "Look it up.",
    (_LOOKUP,),
    {"type": "object", "required": ["request"], "properties": {"request": {"type": "string"}}},
    contract=Contract(8000, declared_fields((_LOOKUP,)), 30_000, 128, "ERROR"),
)


class TwoRounds:
    """A model that calls the tool once and then answers."""

    async def reply(self, request: Any) -> ModelReply:
        if len(request.messages) > 2:
            return ModelReply("42")
        return ModelReply("", (ToolCall("c", "lookup", {"query": "q"}),))


class Born(NoHooks):
    """Notes when a child was ordered, and when its first frame came."""

    ordered = at = 0.0

    def context_born(self, *_: Any) -> None:
        self.at = time.perf_counter()


async def _tool(query: str) -> str:
    return '{"amount": 1, "trace_id": "x"}'


def noting(host: ProcessHost, born: Born) -> Any:
    """The host's launch, its time noted."""

    def launch(*args: Any) -> Any:
        born.ordered = time.perf_counter()
        return host.launch(*args)

    return launch


def runtime(launch: Any, hooks: NoHooks) -> Runtime:
    """A runtime of one child with one tool."""
    return Runtime(
        lambda agent: TwoRounds(), lambda name, agent: _tool, keyed_digest(b"bench"), hooks, launch=launch
    )


async def once(wired: Runtime) -> None:
    """One delegation, which must succeed."""
    result = await delegate(wired, ParentScope("u", "s"), _WORKER, {"request": "go"})
    assert result.status is Status.SUCCEEDED, result


def at(seconds: list[float], share: float) -> float:
    """A percentile in milliseconds."""
    return sorted(seconds)[int(len(seconds) * share)] * 1000


async def starts(host: ProcessHost, rounds: int) -> None:
    """Time all things in turn, so that a busy machine is as busy for each of them."""
    born = Born()
    process, inside = runtime(noting(host, born), born), runtime(inline, NoHooks())
    times: dict[str, list[float]] = {}

    def note(name: str, start: float, end: float | None = None) -> None:
        times.setdefault(name, []).append((end or time.perf_counter()) - start)

    print(f"load at the start {load()}")
    bare = subprocess.Popen([sys.executable, "-I", "-S", "-c", _BARE_FORK], stdin=-1, stdout=-1, text=True)
    assert bare.stdin is not None
    assert bare.stdout is not None
    for _ in range(rounds):
        print(file=bare.stdin, flush=True)
        note(_BARE, 0.0, float(bare.stdout.readline()))
        start = time.perf_counter()
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        note("bare fork + exit, of this process", start)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
        note("python -I -S -c pass", start)
        start = time.perf_counter()
        await once(process)
        note(_START, born.ordered, born.at)
        note("child process: whole delegation, 2 rounds", start)
        await once(process)
        note("child process: the same, right after another", born.ordered, born.at)
        start = time.perf_counter()
        await once(inside)
        note("inline: whole delegation, 2 rounds", start)
    bare.communicate()
    base = at(times[_BARE], 0.5)
    print(f"{'milliseconds':46} {'p50':>7} {'p95':>7}  p50 in bare forks   ({rounds} rounds, in turn)")
    for name, seconds in times.items():
        print(f"{name:46} {at(seconds, 0.5):7.2f} {at(seconds, 0.95):7.2f}  {at(seconds, 0.5) / base:5.1f}")
    forks, most = at(times[_START], 0.5) / base, at(times[_START], 0.95)
    print(
        f"load at the end {load()}; {_START}: p50 {forks:.2f} bare forks ({word(forks <= _MOST_FORKS)}: "
        f"at most {_MOST_FORKS:g}), p95 {most:.1f} ms ({word(most < _MOST_MS)}: under {_MOST_MS:g})"
    )


def word(kept: bool) -> str:
    """What a limit is."""
    return "kept" if kept else "BROKEN"


def load() -> str:
    """Processes that want a processor, over one minute, and the processors."""
    return f"{os.getloadavg()[0]:.2f} on {os.cpu_count()} processors"


def held() -> tuple[int, int, int, int]:
    """Processes below this one, its descriptors, files in its temporary folder, and its resident KiB."""
    below = tree_of(os.getpid())[1:]
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files = len(os.listdir(tempfile.gettempdir()))
    return len(below), len(os.listdir("/proc/self/fd")), files, pages * os.sysconf("SC_PAGE_SIZE") // 1024


async def leftovers(host: ProcessHost) -> None:
    """What 1,000 delegations in a row, and 200 eight at a time, leave behind; and one that leaves a file."""
    wired = runtime(host.launch, NoHooks())
    for _ in range(100):
        await once(wired)
    before = held()
    for _ in range(1000):
        await once(wired)
    between = held()
    gate = asyncio.Semaphore(8)

    async def gated() -> None:
        async with gate:
            await once(wired)

    await asyncio.gather(*(gated() for _ in range(200)))
    after = held()
    host.entries = {_WORKER.name: "temporary:leave_file"}
    await once(wired)
    print("                                          processes  descriptors  temporary files  resident KiB")
    for name, row in (
        ("after 100 to warm up (3 are the zygote's)", before),
        ("after 1,000 more, one after another", between),
        ("after 200 more, 8 at a time", after),
        ("after one whose child leaves a file", held()),
    ):
        print(f"{name:42} {row[0]:8} {row[1]:12} {row[2]:16} {row[3]:13}")


def census(target: Any, cases: int) -> None:
    """Cases per CPU second, the children's and the zygote's included."""
    declaration = declaration_of(target)

    def cpu() -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)

    start, total = cpu(), 0
    with Campaign(declaration, Plan(cases=cases, attacks=load_attacks())) as campaign:
        for item in items([declaration.name], FAMILIES):
            tally = campaign.run(item).tally
            assert set(map(str, tally.verdicts)) <= {"PASS"}, tally.verdicts
            total += tally.n
    # The campaign has closed its worker thread, and with it went the zygote: it counts once it is reaped.
    print(f"{declaration.name:24} {total:5} cases  {total / (cpu() - start):6.1f} cases per CPU second")


async def in_hosts(rounds: int) -> None:
    """The measurements that need a host."""
    async with ProcessHost() as host:
        await once(runtime(host.launch, NoHooks()))
        await starts(host, rounds)
    print()
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "files")
        files.mkdir()
        Path(folder, "temporary.py").write_text(_TEMPORARY)
        sys.path.append(folder)  # the zygote gets this path
        tempfile.tempdir = str(files)
        try:
            async with ProcessHost(preload=("temporary",)) as host:
                await leftovers(host)
        finally:
            tempfile.tempdir = None
            sys.path.remove(folder)


def main(rounds: int = 200, cases: int = 100) -> None:
    """Print the tables."""
    asyncio.run(in_hosts(rounds))
    print()
    for target in (reference_task, reference_task_process):
        census(target, cases)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
