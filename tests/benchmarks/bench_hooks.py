"""The same delegations with all observers writing and with none, in turn: what watching costs.

Three settings: a child in this process whose model and tool answer at once, the hardest one, for nothing else
takes time; the same with a model that takes 20 ms, a tenth of a fast real one; and a child in a process of
its own. The two last are judged by the wall clock.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

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
from isolation_kit.runtime.observe import watch
from isolation_kit.runtime.process import ProcessHost
from isolation_kit.targets.reference import WORKER

BLOCK = 20
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


async def in_turn(title: str, delegations: int, make: Callable[[Hooks], Runtime]) -> None:
    """Print what a delegation costs without, and what watching adds: medians over pairs of blocks."""
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        with watch(Path(folder), (WORKER,), DIGEST, parents=("parent",)) as watching:
            watched, plain = make(watching.hooks), make(NoHooks())
            for number in range(delegations // BLOCK + 1):
                order = (watched, plain) if number % 2 else (plain, watched)
                took = {id(runtime): await block(runtime, number) for runtime in order}
                pairs.append((took[id(watched)], took[id(plain)]))
        written = sum(path.stat().st_size for path in Path(folder).iterdir())
    del pairs[0]  # the first block warms up
    shown = []
    for place, clock in enumerate(("CPU", "wall")):
        on, off = ([pair[side][place] for pair in pairs] for side in (0, 1))
        overhead = median(a / b for a, b in zip(on, off, strict=True)) - 1
        extra = median(a - b for a, b in zip(on, off, strict=True))
        shown.append(
            f"{clock} off {1e3 * median(off):.2f} ms, {1e6 * extra:+.0f} us, {100 * overhead:+.1f} %"
        )
    each = written / ((len(pairs) + 1) * BLOCK)
    print(f"{title}: {'; '.join(shown)}; {each:.0f} bytes each, lost {watching.lost}")


async def all_settings(delegations: int) -> None:
    """The three settings, one after the other."""
    await in_turn("inline, instant model", delegations, runtime_with)
    await in_turn(
        "inline, model of 20 ms", delegations // 20, lambda hooks: runtime_with(hooks, seconds=0.02)
    )
    async with ProcessHost() as host:
        await in_turn("process, instant model", delegations, lambda hooks: runtime_with(hooks, host.launch))


def main(delegations: int = 2000) -> None:
    """Run."""
    asyncio.run(all_settings(delegations))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
