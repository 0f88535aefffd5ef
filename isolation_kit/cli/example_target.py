"""The system under test, as isolation-kit sees it: a support agent that hands bills to a billing agent.

Replace what is between the lines by your own system. Run it: isolation-kit run, or pytest --isolation.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from isolation_kit import Agent, ModelCall, Stage, Tool, Turn, Via, target

Message = dict[str, Any]

HAND_OVER = {
    "name": "billing",
    "parameters": {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]},
}
LOOKUP = {
    "name": "lookup",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}


@target(
    root="support",
    agents={
        "support": Agent(children={"billing": Via("billing")}),
        "billing": Agent(tools=(Tool("lookup"),)),
    },
)
async def support_team(stage: Stage) -> AsyncIterator[Callable[[Turn], Awaitable[str]]]:
    """Build the system, yield how to talk to it, tear it down after the yield."""
    # ---- your system: its models are the stage's puppets, its tools answer from the stage's scripts ----
    system = stage.text("parent.system", around="Help the customer. Hand bills to billing.")
    lookup = stage.tool("lookup", "billing")
    histories: dict[tuple[str, str], list[Message]] = {}

    async def billing(task: str) -> str:
        # Isolation: the child starts from its task alone. Pass it the support agent's history to see a leak.
        messages: list[Message] = [{"role": "user", "content": task}]
        return await loop("billing", messages, LOOKUP, lookup)

    async def loop(
        agent: str, messages: list[Message], tool: dict[str, Any], call: Callable[[str], Awaitable[str]]
    ) -> str:
        for _ in range(stage.limits.rounds):
            reply = await stage.model(agent).reply(ModelCall(agent, tuple(messages), ({"function": tool},)))
            messages.append({"role": "assistant", "content": reply.text})
            if not reply.calls:
                return reply.text
            for use in reply.calls:
                text = await call(next(iter(use.arguments.values()), ""))
                messages.append({"role": "tool", "name": use.name, "content": json.dumps({"reply": text})})
        return "I could not finish this."

    async def say(turn: Turn) -> str:
        history = histories.setdefault((turn.user, turn.session), [{"role": "system", "content": system}])
        history.append({"role": "user", "content": turn.text})
        return await loop("support", history, HAND_OVER, billing)

    # -----------------------------------------------------------------------------------------------------
    yield say
