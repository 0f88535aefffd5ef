"""The same delegations with all observers writing and with none, in turn: what watching costs."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
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
    keyed_digest,
)
from isolation_kit.runtime.observe import watch
from isolation_kit.targets.reference import WORKER

BLOCK = 50
DIGEST = keyed_digest(b"bench")
TOOL_REPLY = '{"amount": 129.5, "date": "2024-05-01", "description": "May", "trace_id": "abc123"}'


class Model:
    """Two tool calls and an answer."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The next step, told by the number of messages."""
        step = len(request.messages)
        if step < 6:
            return ModelReply("looking", (ToolCall(f"c{step}", "lookup", {"query": f"bill {step}"}),))
        return ModelReply(f"The bill of {step} is 129.5.")


async def lookup(query: str) -> str:
    """A bill."""
    return TOOL_REPLY


def runtime_with(hooks: Hooks) -> Runtime:
    """The reference child with scripted models."""
    model = Model()
    return Runtime(model=lambda agent: model, tool=lambda name, agent: lookup, digest=DIGEST, hooks=hooks)


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


def main(delegations: int = 2000) -> None:
    """Print milliseconds of a delegation with and without, and the ratio of each pair of blocks."""
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        with watch(Path(folder), (WORKER,), DIGEST, parents=("parent",)) as watching:
            watched, plain = runtime_with(watching.hooks), runtime_with(NoHooks())
            asyncio.run(block(watched, 0))
            asyncio.run(block(plain, 0))
            for number in range(delegations // BLOCK):
                order = (watched, plain) if number % 2 else (plain, watched)
                took = {id(runtime): asyncio.run(block(runtime, number)) for runtime in order}
                pairs.append((took[id(watched)], took[id(plain)]))
        written = sum(path.stat().st_size for path in Path(folder).iterdir())
    for place, clock in enumerate(("CPU", "wall")):
        on = [pair[0][place] for pair in pairs]
        off = [pair[1][place] for pair in pairs]
        overhead = median(a / b for a, b in zip(on, off, strict=True)) - 1
        print(
            f"{clock:4} {len(pairs) * BLOCK} delegations each: on {1e3 * median(on):.3f} ms, off "
            f"{1e3 * median(off):.3f} ms, overhead {100 * overhead:.1f} % (median of {len(pairs)} pairs)"
        )
    print(f"written: {written / ((len(pairs) + 1) * BLOCK):.0f} bytes a delegation, lost {watching.lost}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
