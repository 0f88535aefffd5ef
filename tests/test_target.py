"""Declarations: what `@target` accepts, refuses, and says of the agents below the root."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import UsageError
from isolation_kit.stage import Stage
from isolation_kit.target import Agent, Declaration, Tool, Via, declaration_of, target
from isolation_kit.trace import Channel

AGENTS = {"boss": Agent({"kid": Via("task")}), "kid": Agent()}


async def async_factory(stage: Stage) -> AsyncIterator[Any]:
    """A factory as the design shows it."""
    yield lambda turn: "ok"


def sync_factory(stage: Stage) -> Iterator[Any]:
    """The same without a loop of its own."""
    yield lambda turn: "ok"


@pytest.mark.parametrize("factory", [async_factory, sync_factory], ids=["async", "sync"])
def test_a_generator_function_becomes_a_target(factory: Any) -> None:
    """The function itself is returned, with its declaration on it."""
    declared = target(root="boss", agents=AGENTS, taps=("log", Channel.STORE))(factory)
    assert declared is factory
    declaration = declaration_of(factory)
    assert (declaration.name, declaration.root, declaration.scope) == (factory.__name__, "boss", "case")
    assert declaration.taps == {Channel.LOG, Channel.STORE}
    assert declaration.factory is factory


@pytest.mark.parametrize(
    "arguments",
    [
        {"root": "chief"},
        {"agents": {"boss": Agent({"ghost": Via("task")})}},
        {"triggers": {"ghost": "find {task}"}},
        {"follow_ups": {"ghost": "and {subject}"}},
        {"agents": {}},
    ],
    ids=["root", "child", "trigger", "follow-up", "none"],
)
def test_an_undeclared_agent_is_refused_by_name(arguments: dict[str, Any]) -> None:
    """The message lists what is declared and shows how to add the missing one."""
    with pytest.raises(UsageError, match=r"not declared: \w+; declared: .*Agent\(\)"):
        target(**{"root": "boss", "agents": AGENTS, **arguments})


def test_an_unknown_tap_is_refused() -> None:
    """The message lists the channels."""
    with pytest.raises(UsageError, match=r"unknown channel; allowed: child\.request"):
        target(root="boss", agents=AGENTS, taps=("logs",))


@pytest.mark.parametrize("factory", [lambda stage: None, len, AGENTS], ids=["function", "builtin", "mapping"])
def test_another_kind_of_factory_is_refused(factory: Any) -> None:
    """Only a generator function has a tear-down after its yield."""
    with pytest.raises(UsageError, match="needs a generator function that yields `say`"):
        target(root="boss", agents=AGENTS)(factory)


@pytest.mark.parametrize("factory", [len, None, AGENTS], ids=["builtin", "none", "mapping"])
def test_an_undecorated_factory_is_refused(factory: Any) -> None:
    """The message says how to decorate it."""
    with pytest.raises(UsageError, match="is no target; decorate the factory"):
        declaration_of(factory)


@st.composite
def declarations(draw: st.DrawFn) -> Declaration:
    """Any graph of up to five agents, cycles included."""
    names = "abcde"[: draw(st.integers(1, 5))]
    agents = {
        name: Agent({child: Via(f"to_{child}") for child in draw(st.sets(st.sampled_from(names)))})
        for name in names
    }
    return Declaration("t", "a", agents)


@given(declarations())
def test_children_are_all_that_can_be_reached_once(declaration: Declaration) -> None:
    """Nearest first, each once, the root never, and cycles end."""
    reached: set[str] = set()
    front = {"a"}
    while front:
        front = {child for name in front for child in declaration.agents[name].children} - reached - {"a"}
        reached |= front
    assert sorted(declaration.children) == sorted(reached)
    direct = [child for child in declaration.direct if child != "a"]
    assert list(declaration.children[: len(direct)]) == direct


@given(declarations())
def test_an_edge_names_a_declared_parent(declaration: Declaration) -> None:
    """`parent>child` for a child, the plain name for the root."""
    assert declaration.edge("a") == "a"
    for child in declaration.children:
        parent, _, name = declaration.edge(child).partition(">")
        assert (name, parent) == (child, declaration.parent_of(child))
        assert child in declaration.agents[parent].children


def test_a_declaration_can_be_renamed() -> None:
    """The configuration's name wins; two equal declarations stay equal whatever built them."""
    one = declaration_of(target(root="boss", agents=AGENTS)(sync_factory))
    assert one.named("support").name == "support"
    assert one.named("x") == declaration_of(target(root="boss", agents=AGENTS)(sync_factory)).named("x")


@pytest.mark.parametrize(
    ("tools", "expected"), [((), False), ((Tool("a"),), False), ((Tool("a"), Tool("b", {})), True)], ids=str
)
def test_fields_are_declared_if_one_tool_does(tools: tuple[Tool, ...], expected: bool) -> None:
    """An empty schema is a declaration too: nothing may be shown."""
    agent = Agent(tools=tools)
    assert agent.declares_fields is expected
    assert agent.tool("a") == (tools[0] if tools else None)
    assert agent.tool("zzz") is None
