"""Audits openai-agents: a handoff, an agent as tool, and two users at once on shared agent objects.

Needs the extra `openai-agents`. The models are OpenAIChatCompletionsModel on a client that is mounted on the
stage's endpoint in process; tracing is off for every run, so nothing is exported.

By the framework's design a handoff hands the whole conversation to the child. The audit says what reaches it;
whether that is meant is for the policy (`[[allow]]`) to say.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

from isolation_kit.errors import UsageError
from isolation_kit.stage import Stage
from isolation_kit.stage.case import Case
from isolation_kit.target import Agent, Tool, Turn, Via, target

try:
    import agents as framework
    import httpx2
    from agents.tool_context import ToolContext
    from openai import AsyncOpenAI
except ImportError as missing:
    raise UsageError(
        f"the targets openai_agents_* need the package openai-agents ({missing.name} is not installed); "
        "install the extra, for example: pip install 'isolation-kit[openai-agents]'"
    ) from None

__all__ = [
    "connect",
    "handoff_team",
    "openai_agents_as_tool",
    "openai_agents_handoff",
    "openai_agents_shared",
]

_SYSTEM = "You are the support agent. Answer the customer, or let the billing agent do so."
_CHILD = "You are the {name} agent. Look up what is asked for and answer."
_SEARCH = "Search the orders of the customer."

Say = Callable[[Turn], Awaitable[str]]
Instructions = str | Callable[[Any, Any], str]
# One conversation a user and session, in the framework's own input items.
Conversations = dict[tuple[str, str], list[Any]]

_BY_HANDOFF = Via("transfer_to_billing", argument="")
_BILLING = Agent(tools=(Tool("lookup"),))


@target(
    root="support",
    agents={
        "support": Agent(children={"billing": _BY_HANDOFF}, tools=(Tool("search"),)),
        "billing": _BILLING,
    },
    taps=("child.context",),
    package="openai-agents",
)
async def openai_agents_handoff(stage: Stage) -> AsyncIterator[Say]:
    """The parent hands the conversation over: `Agent(handoffs=[billing])`, default settings."""
    async with connect(stage) as client:
        yield handoff_team(stage, client)


@target(
    root="support",
    agents={
        "support": Agent(children={"billing": Via("billing", argument="input")}, tools=(Tool("search"),)),
        "billing": _BILLING,
    },
    taps=("child.context",),
    package="openai-agents",
)
async def openai_agents_as_tool(stage: Stage) -> AsyncIterator[Say]:
    """The parent calls the child: `billing.as_tool(...)`, default settings."""
    async with connect(stage) as client:
        child = _child(stage, client, "billing")
        parent = _parent(
            stage,
            client,
            stage.text("parent.system", _SYSTEM),
            stage.text("parent.tool.description", _SEARCH),
            tools=[_as_tool(child)],
        )
        yield _conversing(stage, parent)


@target(
    root="support",
    agents={
        "support": Agent(
            children={"billing": _BY_HANDOFF, "shipping": Via("shipping", argument="input")},
            tools=(Tool("search"),),
        ),
        "billing": _BILLING,
        "shipping": _BILLING,
    },
    taps=("child.context",),
    scope="campaign",
    package="openai-agents",
)
async def openai_agents_shared(stage: Stage) -> AsyncIterator[Say]:
    """One set of agent objects for all users and cases, with a child of each kind."""
    async with connect(stage) as client:
        parent = _parent(
            stage,
            client,
            _system_per_case(stage),
            _SEARCH,
            tools=[_as_tool(_child(stage, client, "shipping"))],
            handoffs=[_child(stage, client, "billing")],
        )
        yield _conversing(stage, parent)


def connect(stage: Stage, base_url: str = "") -> AsyncOpenAI:
    """A client of the stage's puppets: in process, or over a socket where `base_url` is given."""
    transport = None if base_url else httpx2.ASGITransport(app=stage.app)
    return AsyncOpenAI(
        api_key="puppets-need-none",
        base_url=base_url or f"http://puppets/{stage.run_id}/v1",
        max_retries=0,
        # Plain http: without verify=False the CA bundle is loaded for each client, at 100 ms and more.
        http_client=httpx2.AsyncClient(transport=transport, trust_env=False, verify=False),
    )


def handoff_team(stage: Stage, client: AsyncOpenAI) -> Say:
    """A support agent that may hand over to a billing agent, and how to talk to it."""
    parent = _parent(
        stage,
        client,
        stage.text("parent.system", _SYSTEM),
        stage.text("parent.tool.description", _SEARCH),
        handoffs=[_child(stage, client, "billing")],
    )
    return _conversing(stage, parent)


# -- agents ----------------------------------------------------------------------------------------------


def _model(stage: Stage, client: AsyncOpenAI, agent: str) -> framework.OpenAIChatCompletionsModel:
    return framework.OpenAIChatCompletionsModel(model=stage.model_name(agent), openai_client=client)


def _parent(
    stage: Stage,
    client: AsyncOpenAI,
    instructions: Instructions,
    search: str,
    *,
    tools: list[Any] | None = None,
    handoffs: list[Any] | None = None,
) -> framework.Agent[Any]:
    own = framework.function_tool(stage.tool("search", "support"), description_override=search)
    return framework.Agent(
        name="support",
        instructions=instructions,
        model=_model(stage, client, "support"),
        tools=[own, *(tools or [])],
        handoffs=handoffs or [],
    )


def _child(stage: Stage, client: AsyncOpenAI, name: str) -> framework.Agent[Any]:
    scripted = stage.tool("lookup", name)

    async def lookup(context: ToolContext[Any], query: str) -> str:
        """Look something up."""
        stage.record("child.context", name, _readable(context), tool="lookup")
        return await scripted(query)

    return framework.Agent(
        name=name,
        instructions=_CHILD.format(name=name),
        model=_model(stage, client, name),
        tools=[framework.function_tool(lookup)],
    )


def _as_tool(child: framework.Agent[Any]) -> framework.FunctionTool:
    return child.as_tool(tool_name=child.name, tool_description=f"Ask the {child.name} agent.")


def _readable(context: ToolContext[Any]) -> str:
    """What the framework puts into the hands of a child's tool: the run's context object and metadata.

    `turn_input` is left out: it repeats what the child's own request shows.
    """
    config = context.run_config
    return json.dumps({"context": context.context, "metadata": config.trace_metadata if config else None})


def _system_per_case(stage: Stage) -> Instructions:
    """Instructions for agents that outlive a case: each case plants its own canary in them."""
    planted: WeakKeyDictionary[Case, str] = WeakKeyDictionary()

    def instructions(_context: Any, _agent: Any) -> str:
        case = stage.case
        if case not in planted:
            planted[case] = stage.text("parent.system", _SYSTEM)
        return planted[case]

    return instructions


# -- conversations ---------------------------------------------------------------------------------------


def _conversing(stage: Stage, parent: framework.Agent[Any]) -> Say:
    """`say` for one team; each (user, session) of a case has its own conversation."""
    cases: WeakKeyDictionary[Case, Conversations] = WeakKeyDictionary()

    async def say(turn: Turn) -> str:
        history = cases.setdefault(stage.case, {}).setdefault((turn.user, turn.session), [])
        state = {"account": stage.text("parent.state", "open account", turn=turn)}
        config = framework.RunConfig(
            tracing_disabled=True,
            trace_metadata={"team": stage.text("parent.metadata", "support", turn=turn)},
        )
        spoken: Any = {"role": "user", "content": turn.text}
        result = await framework.Runner.run(
            parent, [*history, spoken], context=state, run_config=config, max_turns=stage.limits.rounds
        )
        history[:] = result.to_input_list()
        return str(result.final_output)

    return say
