"""A tree of depth 4: each layer sees its brief, its own work and its children's results, and nothing else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaky_layers import grandparents_history, raw_tool_output

from isolation_kit.runtime import (
    CLEAN,
    AllowList,
    ChildSpec,
    Message,
    ModelReply,
    ModelRequest,
    ParentScope,
    Parts,
    Runtime,
    TaskBrief,
    TaskParent,
    ToolCall,
    ToolSpec,
    build_child_context,
    keyed_digest,
    task_tool,
    task_turn,
)
from isolation_kit.runtime.contract import Contract, declared_fields
from isolation_kit.runtime.nested import ByTask

LOOKUP = ToolSpec(
    "lookup", "Look it up.", fields=AllowList({"type": "object", "properties": {"note": {"type": "string"}}})
)
INPUTS = {"type": "object", "required": ["request"], "properties": {"request": {"type": "string"}}}
CONTRACT = Contract(100_000, declared_fields((LOOKUP,)), 30_000, 128, "INFO")
READER = ChildSpec("reader", "Read.", (LOOKUP,), INPUTS, contract=CONTRACT)
RESEARCHER = replace(READER, name="researcher", goal="Research.", children=(ByTask(READER),))
PLANNER = replace(READER, name="planner", goal="Plan.", children=(ByTask(RESEARCHER),))
_TOKEN = re.compile(r"\[(history|brief|text|args|tool|answer) ([r.\d]+)\]")
Shape = dict[str, tuple[int, int]]


@dataclass
class Tree:
    """Plays every agent. What it says carries a token that names its kind and the instance that said it.

    An instance is named by its way from the root: `r` is the root, `r.0.1` the second child of its first.
    """

    shape: Shape
    seen: list[tuple[str, ModelRequest]] = field(default_factory=list)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Use the tool, then delegate, as often as the shape says, then answer."""
        own = "r" if request.agent == "root" else _own(request)
        self.seen.append((own, request))
        step = sum(message.role == "assistant" for message in request.messages)
        uses, tasks = self.shape[request.agent]
        if step < uses:
            call = ToolCall(f"call_{step}", "lookup", {"query": f"[args {own}]"})
        elif step < uses + tasks:
            call = ToolCall(f"call_{step}", "task", {"task": f"[brief {own}.{step - uses}]"})
        else:
            return ModelReply(f"[answer {own}]")
        return ModelReply(f"[text {own}]", (call,))

    def leaks(self) -> Iterator[tuple[str, str, str]]:
        """(who, kind, whose) of every token at an instance that may not see it."""
        for own, request in self.seen:
            for kind, owner in _TOKEN.findall(repr(request)):
                child = owner.rpartition(".")[0]
                if owner != own and not (child == own and kind in ("brief", "answer")):
                    yield own, kind, owner


def _own(request: ModelRequest) -> str:
    """The instance that a request is of: its brief names it, and comes last where a leak came before it."""
    briefs = [message.content for message in request.messages if message.content.startswith('{"request"')]
    return re.findall(r"\[brief ([r.\d]+)\]", briefs[-1])[0]


def play(shape: Shape, parts: Parts = CLEAN) -> Tree:
    """One turn of a root that knows a secret, over the whole tree."""
    tree = Tree(shape)

    async def lookup(query: str) -> str:
        return f'{{"note": "{query.replace("args", "tool")}", "debug": "{query}"}}'

    runtime = Runtime(lambda agent: tree, lambda name, agent: lookup, keyed_digest(b"t"), parts=parts)
    root = TaskParent("root", "Plan.", (LOOKUP,), {"task": (task_tool("Hand it down."), PLANNER)})
    scope = ParentScope("u", "[history r]", [Message("system", "[history r]")], {"x-tenant": "[history r]"})
    asyncio.run(task_turn(runtime, root, scope, "[history r]"))
    return tree


FULL: Shape = {"root": (1, 1), "planner": (1, 1), "researcher": (1, 1), "reader": (1, 0)}
few = st.tuples(st.integers(0, 2), st.integers(0, 2))
shapes = st.fixed_dictionaries(
    {"root": few, "planner": few, "researcher": few, "reader": st.tuples(st.integers(0, 2), st.just(0))}
)


@settings(max_examples=40, deadline=None)
@given(shapes)
def test_no_layer_sees_more_than_its_neighbours_briefs_and_results(shape: Shape) -> None:
    """However often each layer works and delegates, no token is out of its place."""
    assert list(play(shape).leaks()) == []


def test_the_whole_tree_is_walked() -> None:
    """The silence above means something: all four layers are reached, and answers come all the way up."""
    tree = play(FULL)
    assert {own for own, _ in tree.seen} == {"r", "r.0", "r.0.0", "r.0.0.0"}
    assert "[answer r.0]" in repr(tree.seen[-1])


@pytest.mark.parametrize(
    ("parts", "leak"),
    [
        (grandparents_history(), ("r.0.0", "history", "r")),
        (raw_tool_output(), ("r.0", "tool", "r.0.0.0")),
    ],
    ids=["grandparent's history", "grandchild's tool output"],
)
def test_a_leaky_layer_is_caught(parts: Parts, leak: tuple[str, str, str]) -> None:
    """The same check finds the leak, over two layers, where it is."""
    assert leak in set(play(FULL, parts).leaks())


def test_a_layer_has_a_namespace_and_no_session() -> None:
    """Towards its child a layer is a scope without user, session and metadata; the ids are its own."""
    scopes: list[ParentScope] = []
    ids: list[str] = []

    def context(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        scopes.append(scope)
        ids.append(brief.task_id)
        return build_child_context(brief)

    play(FULL, replace(CLEAN, child_context=context))
    told = [(scope.user, scope.session, dict(scope.metadata)) for scope in scopes[1:]]
    assert told == [("", "planner", {}), ("", "planner>researcher", {})]
    assert len(set(ids)) == 3


def test_only_a_declared_layer_is_offered_the_task_tool() -> None:
    """The tier follows from the spec: two layers can delegate, the leaf cannot."""
    offered = {request.agent: [tool.name for tool in request.tools] for _, request in play(FULL).seen}
    assert offered["planner"] == offered["researcher"] == ["lookup", "task"]
    assert offered["reader"] == ["lookup"]
