"""After a child's end nothing of it is reachable: neither the child nor a message, however it ended."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import pytest

from isolation_kit.runtime import (
    CLEAN,
    Child,
    ChildSpec,
    Message,
    ModelReply,
    ModelRequest,
    ParentScope,
    RunLimits,
    Runtime,
    SubAgentResult,
    ToolCall,
    delegate,
    keyed_digest,
)
from isolation_kit.runtime.nested import ByTask

SECRET = "scratch-4c1f"


@dataclass
class Play:
    """A model and a tool that end the child in one way and keep nothing of it."""

    ending: str
    children: list[weakref.ref[Child]] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)

    def born(self, spec: ChildSpec) -> Child:
        """The clean seam, noted weakly."""
        child = Child(spec)
        self.children.append(weakref.ref(child))
        return child

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Delegate where it can, use the tool, then end as told."""
        layer = any(tool.name == "task" for tool in request.tools)
        if len(request.messages) == 2:
            call = (
                ToolCall("c", "task", {"task": SECRET}) if layer else ToolCall("c", "lookup", {"query": "q"})
            )
            return ModelReply(SECRET, (call,))
        if self.ending == "failure":
            raise ConnectionError(request.messages)
        if self.ending in ("timeout", "cancel"):
            await asyncio.Event().wait()
        return ModelReply("42")

    async def lookup(self, query: str) -> str:
        """A reply that holds the secret."""
        return f'{{"note": "{SECRET}"}}'


async def live(play: Play, spec: ChildSpec, parts: Any = CLEAN) -> SubAgentResult | None:
    """One delegation to its end; None if it was cancelled."""
    runtime = Runtime(
        lambda agent: play,
        lambda name, agent: play.lookup,
        keyed_digest(b"k"),
        parts=replace(parts, new_child=play.born),
        limits=RunLimits(timeout_ms=60 if play.ending == "timeout" else 5000),
    )
    task = asyncio.create_task(delegate(runtime, ParentScope("u", "s"), spec, {"request": SECRET}))
    if play.ending != "cancel":
        return await task
    await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    return None


def remains(play: Play) -> list[str]:
    """What is still reachable of the children: for each such object the way to it."""
    gc.collect()
    found: list[object] = [child for ref in play.children if (child := ref()) is not None]
    found += [item for item in gc.get_objects() if isinstance(item, Message) and SECRET in item.content]
    return [_path(item, found) for item in found]


def _path(item: object, found: list[object]) -> str:
    """The types of the holders of `item`, nearest first."""
    names, seen = [type(item).__name__], {id(found)}
    for _ in range(8):
        seen.add(id(item))
        holders = gc.get_referrers(item)
        seen.add(id(holders))
        item = next((h for h in holders if id(h) not in seen and not isinstance(h, FrameType)), None)
        if item is None:
            break
        names.append(type(item).__qualname__)
    return " <- ".join(names)


ENDINGS = ["success", "failure", "timeout", "cancel"]


@pytest.mark.parametrize("nested", [False, True], ids=["child", "layer"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_of_a_child_outlives_it(worker: ChildSpec, ending: str, nested: bool) -> None:
    """Checked while the parent lives on and holds the result."""
    spec = replace(worker, name="layer", children=(ByTask(worker),)) if nested else worker
    play = Play(ending)

    async def scene() -> tuple[SubAgentResult | None, list[str]]:
        result = await live(play, spec)
        return result, remains(play)

    result, left = asyncio.run(scene())
    assert len(play.children) == 1 + nested
    assert left == [], "\n".join(left)
    assert SECRET not in repr(result)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_pooled_memory_is_found(worker: ChildSpec, ending: str) -> None:
    """The check can fail: a seam that keeps the child is told, with the way to it."""
    pool: list[Child] = []
    play = Play(ending)
    clean = play.born

    def keep(spec: ChildSpec) -> Child:
        pool.append(clean(spec))
        return pool[-1]

    play.born = keep  # type: ignore[method-assign]

    async def scene() -> list[str]:
        await live(play, worker)
        return remains(play)

    left = asyncio.run(scene())
    # The pool is one of several holders that the collector may name first.
    assert any(path.startswith("Child <- ") and "list" in path for path in left), left
    assert any(path.startswith("Message <- ") and "list" in path for path in left), left


def test_a_kept_context_is_found(worker: ChildSpec) -> None:
    """A seam that remembers the messages it built is told, though the child itself is gone."""
    play = Play("success")
    build: Callable[..., tuple[Message, ...]] = CLEAN.child_context

    def kept(brief: Any, scope: Any) -> tuple[Message, ...]:
        play.kept.append(build(brief, scope))
        return tuple(play.kept[-1])

    async def scene() -> list[str]:
        await live(play, worker, replace(CLEAN, child_context=kept))
        return remains(play)

    left = asyncio.run(scene())
    assert left
    assert all(path.startswith("Message <- ") for path in left)
