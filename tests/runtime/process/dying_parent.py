"""A parent that prints the pids of its zygote, a hanging child and a process that fled from it, and waits."""

from __future__ import annotations

import asyncio

from hostile_children import HOUR

from isolation_kit.runtime import (
    ChildSpec,
    ModelReply,
    ModelRequest,
    ParentScope,
    RunLimits,
    Runtime,
    delegate,
    keyed_digest,
)
from isolation_kit.runtime.contract import Contract
from isolation_kit.runtime.process import ProcessHost
from isolation_kit.runtime.process.linux import children_of

HANGING = ChildSpec(
    "flee_and_hang",
    "Hang.",
    (),
    {"type": "object", "properties": {"request": {"type": "string"}}},
    contract=Contract(8000, {}, HOUR * 1000, 128, "ERROR"),
)


async def main() -> None:
    """Start, tell, wait to be killed."""
    host = ProcessHost(entries={HANGING.name: f"hostile_children:{HANGING.name}"})

    class Telling:
        async def reply(self, request: ModelRequest) -> ModelReply:
            assert host._zygote is not None
            zygote = host._zygote.pid
            print(zygote, *children_of(zygote), request.messages[0].content, flush=True)
            return ModelReply("")

    runtime = Runtime(
        model=lambda agent: Telling(),
        tool=lambda name, agent: NotImplemented,
        digest=keyed_digest(b"test"),
        launch=host.launch,
        limits=RunLimits(),
    )
    await delegate(runtime, ParentScope("u", "s"), HANGING, {"request": "x"})


if __name__ == "__main__":
    asyncio.run(main())
