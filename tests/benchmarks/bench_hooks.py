"""The same delegations with nobody watching, with each observer alone and with all, in turn: what it costs.

Three settings: a child in this process whose model and tool answer at once, the hardest one, for nothing else
takes time; the same with a model that takes 20 ms, a tenth of a fast real one; and a child in a process of
its own. The two last are judged by the wall clock.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from isolation_kit.runtime import (
    Hooks,
    Message,
    ModelReply,
    ModelRequest,
    NoHooks,
    ParentScope,
    Runtime,
    ToolCall,
    delegate,
    inline,
    keyed_digest,
)
from isolation_kit.runtime.launch import Launch
from isolation_kit.runtime.observe import (
    LineFile,
    Measure,
    Metrics,
    SnapshotLog,
    TraceLog,
    Tracer,
    names_of,
    watch,
)
from isolation_kit.runtime.process import ProcessHost
from isolation_kit.runtime.several import Several
from isolation_kit.runtime.tokens import utf8_ceiling
from isolation_kit.targets.reference import WORKER

BLOCK = 20
CLOCKS = {0: "CPU", 1: "wall"}
DIGEST = keyed_digest(b"bench")
TOOL_REPLY = '{"amount": 129.5, "date": "2024-05-01", "description": "May", "trace_id": "abc123"}'


class Model:
    """Two tool calls and an answer, each after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The next step, told by the number of messages."""
        if self._seconds:
            await asyncio.sleep(self._seconds)
        step = len(request.messages)
        if step < 6:
            return ModelReply("looking", (ToolCall(f"c{step}", "lookup", {"query": f"bill {step}"}),))
        return ModelReply(f"The bill of {step} is 129.5.")


async def lookup(query: str) -> str:
    """A bill."""
    return TOOL_REPLY


def runtime_with(hooks: Hooks, launch: Launch = inline, seconds: float = 0) -> Runtime:
    """The reference child with scripted models."""
    model = Model(seconds)
    return Runtime(
        model=lambda agent: model,
        tool=lambda name, agent: lookup,
        digest=DIGEST,
        hooks=hooks,
        launch=launch,
    )


async def block(runtime: Runtime, number: int) -> tuple[float, float]:
    """CPU and wall seconds of one delegation, in a conversation that grows by two messages with each."""
    scope = ParentScope("u", "s", [Message("system", "Plan, delegate and answer. " * 20)])
    cpu, wall = time.process_time(), time.perf_counter()
    for turn in range(BLOCK):
        task = f"look bill {number:04d}-{turn:02d} up"
        scope.history.append(
            Message("user", f"please {task}, and tell me whether it is paid " + "well " * 20)
        )
        result = await delegate(runtime, scope, WORKER, {"request": task})
        scope.history.append(Message("assistant", f"{task}: {result.summary} " + "and so on " * 20))
    return (time.process_time() - cpu) / BLOCK, (time.perf_counter() - wall) / BLOCK


Watchers = dict[str, Hooks]


@contextmanager
def each_alone(folder: Path) -> Iterator[tuple[Watchers, Callable[[], int]]]:
    """Who watches by name, from nobody to all observers as `watch` wires them, and what is missing."""
    known = names_of((WORKER,), DIGEST, parents=("parent",))
    files = [LineFile(folder / name) for name in ("snapshots alone", "traces alone")]
    measure = Measure(utf8_ceiling, DIGEST)
    log = SnapshotLog(files[0], known, measure, (WORKER,))
    tracer = Tracer(known, measure, traces=(TraceLog(files[1]).trace_ended,))
    with watch(folder, (WORKER,), DIGEST, parents=("parent",)) as watching:
        yield (
            {
                "off": NoHooks(),
                "snapshots": Several(log),
                "metrics": Several(Metrics(known)),
                "traces": Several(tracer),
                "all": watching.hooks,
            },
            lambda: watching.lost + sum(file.lost for file in files),
        )
    for file in files:
        file.close()


async def in_turn(title: str, delegations: int, make: Callable[[Hooks], Runtime]) -> None:
    """Print what a delegation costs without, and what each watcher adds: medians over rounds of blocks."""
    rounds: list[dict[str, tuple[float, float]]] = []
    with tempfile.TemporaryDirectory() as folder:
        with each_alone(Path(folder)) as (watchers, lost):
            runtimes = [(name, make(hooks)) for name, hooks in watchers.items()]
            for number in range(delegations // BLOCK + 1):
                first = number % len(runtimes)
                order = runtimes[first:] + runtimes[:first]
                rounds.append({name: await block(runtime, number) for name, runtime in order})
        sizes = {path.name: path.stat().st_size / (len(rounds) * BLOCK) for path in Path(folder).iterdir()}
    del rounds[0]  # the first round warms up
    off = [1e3 * median(each["off"][clock] for each in rounds) for clock in CLOCKS]
    print(f"{title}, {len(rounds) * BLOCK} delegations each: off CPU {off[0]:.3f} ms, wall {off[1]:.3f} ms")
    for name in list(watchers)[1:]:
        print(
            f"  {name:10}"
            + ";".join(f" {shown} {added(rounds, name, clock)}" for clock, shown in CLOCKS.items())
        )
    written = ", ".join(f"{name} {size:.0f}" for name, size in sorted(sizes.items()))
    print(f"  bytes each: {written}; lost {lost()}")


def added(rounds: list[dict[str, tuple[float, float]]], name: str, clock: int) -> str:
    """What a watcher adds to the blocks of the same round without one: median, and its quartiles."""
    share = [100 * (each[name][clock] / each["off"][clock] - 1) for each in rounds]
    extra = median(each[name][clock] - each["off"][clock] for each in rounds)
    low, middle, high = quantiles(share, n=4)
    return f"{1e6 * extra:+.0f} us, {middle:+.1f} % ({low:+.1f} to {high:+.1f})"


async def all_settings(delegations: int) -> None:
    """The three settings, one after the other."""
    await in_turn("inline, instant model", delegations, runtime_with)
    slow = max(delegations // 40, BLOCK)
    await in_turn("inline, model of 20 ms", slow, lambda hooks: runtime_with(hooks, seconds=0.02))
    async with ProcessHost() as host:
        apart = max(delegations // 10, BLOCK)
        await in_turn("process, instant model", apart, lambda hooks: runtime_with(hooks, host.launch))


def main(delegations: int = 2000) -> None:
    """Run."""
    asyncio.run(all_settings(delegations))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
