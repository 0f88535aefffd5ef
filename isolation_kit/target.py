"""How a system under test is declared: agents, edges, tools, contracts, and the fixture-like factory.

@target(root="support", agents={
    "support": Agent(children={"billing": Via("transfer_to_billing")}),
    "billing": Agent(tools=("lookup",)),
})
async def support_team(stage):
    team = build_team(model=stage.model_name("support"), base_url=stage.base_url)
    async def say(turn: Turn) -> str:
        return await team.run(turn.text, session=turn.session)
    yield say
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from isolation_kit.errors import UsageError
from isolation_kit.trace import Channel

__all__ = ["Agent", "Declaration", "Tool", "Turn", "Via", "declaration_of", "target"]

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Via:
    """The name of the tool (a `task` tool, an agent as tool, a handoff) by which a child is reached.

    `argument` names the parameter that carries the task; "" stands for a handoff without parameters.
    `selector` names the parameter that says which child is meant where one tool reaches several.
    """

    tool: str
    argument: str = "task"
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool by name; `fields` is the JSON Schema of what its reply may show to the model, if declared."""

    name: str
    fields: Schema | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: its children with the way to them, its tools, and its contracts where they exist.

    `brief` is the JSON Schema of what it is handed, `result` of what it hands back. Absent contracts make
    the oracle that needs them "not applicable".
    """

    children: Mapping[str, Via] = field(default_factory=dict)
    tools: tuple[Tool, ...] = ()
    brief: Schema | None = None
    result: Schema | None = None

    if TYPE_CHECKING:  # a tool that declares nothing may be given by its name alone

        def __init__(
            self,
            children: Mapping[str, Via] = ...,
            tools: Iterable[Tool | str] = (),
            brief: Schema | None = None,
            result: Schema | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        tools = tuple(Tool(tool) if isinstance(tool, str) else tool for tool in self.tools)
        object.__setattr__(self, "tools", tools)

    def tool(self, name: str) -> Tool | None:
        """The declared tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    @property
    def declares_fields(self) -> bool:
        """True if at least one tool says which fields its reply may show."""
        return any(tool.fields is not None for tool in self.tools)


@dataclass(frozen=True, slots=True)
class Turn:
    """One user turn as the system under test gets it."""

    index: int
    user: str
    session: str
    text: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a target says of itself. `triggers` map a child to the user text that leads to it (rule-driven
    parents); placeholders: `{subject}` for a person's name and `{task}` for the task's reference.
    """

    name: str
    root: str
    agents: Mapping[str, Agent]
    triggers: Mapping[str, str] = field(default_factory=dict)
    follow_ups: Mapping[str, str] = field(default_factory=dict)
    taps: frozenset[Channel] = frozenset()
    scope: Literal["case", "campaign"] = "case"
    package: str = ""
    factory: Callable[..., Any] | None = field(default=None, compare=False)

    @property
    def children(self) -> tuple[str, ...]:
        """Every agent below the root, nearest first, each once."""
        return self.below(self.root)

    def below(self, agent: str) -> tuple[str, ...]:
        """Every agent below `agent`, nearest first, each once, without itself."""
        seen: list[str] = []
        front = [agent]
        while front:
            names = [child for name in front if name in self.agents for child in self.agents[name].children]
            front = [name for name in dict.fromkeys(names) if name not in seen and name != agent]
            seen.extend(front)
        return tuple(seen)

    @property
    def direct(self) -> tuple[str, ...]:
        """The root's own children, in declared order: what `Delegate.child` counts."""
        return tuple(self.agents[self.root].children)

    def parent_of(self, child: str) -> str:
        """The first agent that declares `child`; the root has none."""
        return next((name for name, agent in self.agents.items() if child in agent.children), "")

    def edge(self, agent: str) -> str:
        """`parent>child` for a child, the plain name for the root."""
        parent = self.parent_of(agent)
        return f"{parent}>{agent}" if parent and agent != self.root else agent

    def named(self, name: str) -> Declaration:
        """The same declaration under the name that the configuration gives it."""
        return replace(self, name=name)


F = TypeVar("F", bound=Callable[..., Any])


def target(
    *,
    root: str,
    agents: Mapping[str, Agent],
    triggers: Mapping[str, str] | None = None,
    follow_ups: Mapping[str, str] | None = None,
    taps: tuple[Channel | str, ...] = (),
    scope: Literal["case", "campaign"] = "case",
    package: str = "",
) -> Callable[[F], F]:
    """Declare a generator function (sync or async) that gets a Stage, builds the system and yields `say`.

    Args:
        root: the agent that the user talks to.
        agents: every agent by name.
        triggers: for rule-driven parents, the user text that leads to each child.
        follow_ups: like `triggers`, for a later question that does not repeat the reference.
        taps: channels that the target records itself, beside those that the stage taps.
        scope: "case" builds the system anew for every case, "campaign" keeps one for the whole run.
        package: the distribution whose version the report names.

    Raises:
        UsageError: for a root, child or trigger that names no declared agent, or a factory of another kind.
    """
    _check(root, agents, {**(triggers or {}), **(follow_ups or {})})
    try:
        channels = frozenset(Channel(tap) for tap in taps)
    except ValueError:
        raise UsageError(
            f"taps={taps!r} names an unknown channel; allowed: {', '.join(Channel)}, "
            "for example taps=('log',)"
        ) from None

    def declare(factory: F) -> F:
        if not (inspect.isasyncgenfunction(factory) or inspect.isgeneratorfunction(factory)):
            raise UsageError(
                f"@target needs a generator function that yields `say`, got {type(factory).__name__}; write "
                "`async def my_system(stage): ...; yield say` with the tear-down after the yield"
            )
        declaration = Declaration(
            name=factory.__name__,
            root=root,
            agents=dict(agents),
            triggers=dict(triggers or {}),
            follow_ups=dict(follow_ups or {}),
            taps=channels,
            scope=scope,
            package=package,
            factory=factory,
        )
        factory.__isolation_target__ = declaration  # type: ignore[attr-defined]
        return factory

    return declare


def _check(root: str, agents: Mapping[str, Agent], triggers: Mapping[str, str]) -> None:
    if not isinstance(agents, Mapping) or not all(isinstance(agent, Agent) for agent in agents.values()):
        raise UsageError(
            "@target needs agents={name: Agent(...)}; example: agents={'support': "
            "Agent(children={'billing': Via('billing')}), 'billing': Agent(tools=('lookup',))}"
        )
    for name, agent in agents.items():
        _check_agent(name, agent)
    named = {root, *triggers, *(child for agent in agents.values() for child in agent.children)}
    unknown = sorted(str(name) for name in named if name not in agents)
    if unknown:
        raise UsageError(
            f"@target names agents that are not declared: {', '.join(unknown)}; declared: "
            f"{', '.join(sorted(agents)) or 'none'}; add them, for example agents={{'{unknown[0]}': Agent()}}"
        )
    if not agents[root].children:
        raise UsageError(
            f"@target: the root {root!r} declares no child, so there is nothing to isolate; declare the way "
            "to one, for example Agent(children={'billing': Via('transfer_to_billing')})"
        )


def _check_agent(name: object, agent: Agent) -> None:
    if not isinstance(name, str) or not name or not name.isprintable():
        raise UsageError("@target: an agent's name is a text of printable characters, for example 'billing'")
    if not isinstance(agent.children, Mapping) or not all(
        isinstance(via, Via) for via in agent.children.values()
    ):
        raise UsageError(
            f"@target: the children of {name!r} are given as {{name: Via(tool)}}, for example "
            "children={'billing': Via('transfer_to_billing')}"
        )
    if not all(isinstance(tool, Tool) and isinstance(tool.name, str) and tool.name for tool in agent.tools):
        raise UsageError(
            f"@target: the tools of {name!r} are names or Tool(name, fields=...), for example "
            "tools=('lookup', Tool('search', fields={'properties': {'title': {'type': 'string'}}}))"
        )
    for schema in (agent.brief, agent.result, *(tool.fields for tool in agent.tools)):
        if schema is not None and not _is_schema(schema, 20):
            raise UsageError(
                f"@target: a brief, result or fields of {name!r} is no JSON Schema (a mapping, at most 20 "
                "levels deep); example: {'type': 'object', 'properties': {'amount': {'type': 'number'}}}"
            )


def _is_schema(schema: object, depth: int) -> bool:
    if not isinstance(schema, Mapping) or depth == 0:
        return False
    properties = schema.get("properties", {})
    inner = [*properties.values()] if isinstance(properties, Mapping) else [None]
    items = schema.get("items")
    if isinstance(items, Mapping):
        inner.append(items)
    return all(_is_schema(item, depth - 1) for item in inner)


def declaration_of(factory: Any) -> Declaration:
    """The declaration that `@target` left on a factory.

    Raises:
        UsageError: if it carries none.
    """
    declaration = getattr(factory, "__isolation_target__", None)
    if isinstance(declaration, Declaration):
        return declaration
    raise UsageError(
        f"{getattr(factory, '__name__', type(factory).__name__)} is no target; decorate the factory with "
        "@isolation_kit.target(root=..., agents={...})"
    )
