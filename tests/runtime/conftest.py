"""A runtime with scripted models and tools, and a watcher that keeps what the hooks tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from isolation_kit.runtime import (
    CLEAN,
    AllowList,
    ChildSpec,
    ModelReply,
    ModelRequest,
    NoHooks,
    Parts,
    RunLimits,
    Runtime,
    ToolCall,
    ToolSpec,
    keyed_digest,
)
from isolation_kit.runtime.contract import Contract, declared_fields

FIELDS = AllowList(
    {
        "type": "object",
        "properties": {
            "amount": {"type": "number"},
            "note": {"type": "string"},
            "items": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
        },
    }
)


@dataclass
class Watcher(NoHooks):
    """Keeps every hook call as (name, arguments)."""

    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)

    def __getattribute__(self, name: str) -> Any:
        if name in NoHooks.__dict__ and not name.startswith("_"):
            return lambda *args: self.calls.append((name, args))
        return object.__getattribute__(self, name)

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of the calls of one hook."""
        return [args for called, args in self.calls if called == name]


@dataclass
class Script:
    """A model that answers from a list and keeps the requests that it got."""

    replies: list[ModelReply]
    requests: list[ModelRequest] = field(default_factory=list)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The next reply; the last one again when they run out."""
        self.requests.append(request)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@dataclass
class Rig:
    """A runtime, its scripts by agent, and its watcher."""

    runtime: Runtime
    scripts: dict[str, Script]
    watcher: Watcher


MakeRig = Callable[..., Rig]


@pytest.fixture
def rig() -> MakeRig:
    """Builds a runtime from scripts by agent and the raw reply of every tool (or a tool function)."""

    def make(
        scripts: dict[str, list[ModelReply]],
        tool: Any = '{"amount": 1}',
        parts: Parts = CLEAN,
        limits: RunLimits | None = None,
    ) -> Rig:
        models = {agent: Script(replies) for agent, replies in scripts.items()}
        watcher = Watcher()

        async def scripted(query: str) -> Any:
            return tool(query) if callable(tool) else tool

        runtime = Runtime(
            model=models.__getitem__,
            tool=lambda name, agent: scripted,
            digest=keyed_digest(b"test"),
            hooks=watcher,
            parts=parts,
            limits=limits or RunLimits(),
        )
        return Rig(runtime, models, watcher)

    return make


@pytest.fixture
def lookup() -> ToolSpec:
    """A tool that declares its fields."""
    return ToolSpec("lookup", "Look it up.", fields=FIELDS)


@pytest.fixture
def worker(lookup: ToolSpec) -> ChildSpec:
    """A child with one tool and one free-text input."""
    inputs = {"type": "object", "required": ["request"], "properties": {"request": {"type": "string"}}}
    contract = Contract(8000, declared_fields((lookup,)), 3000, 128, "INFO")
    return ChildSpec("worker", "Do it.", (lookup,), inputs, constants="In CNY.", contract=contract)


def use(number: int = 1, tool: str = "lookup", **arguments: Any) -> ModelReply:
    """A reply that calls one tool."""
    return ModelReply("thinking", (ToolCall(f"call_{number}", tool, arguments or {"query": "q"}),))


@pytest.fixture
def calls() -> Callable[..., ModelReply]:
    """Makes replies that call a tool."""
    return use
