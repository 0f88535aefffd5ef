"""openai-agents: what generated cases show per target, and the kit's cost beside a run by hand."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import agents
import httpx2
from openai import AsyncOpenAI

from isolation_kit.audit import FAMILIES, Campaign, Plan, items
from isolation_kit.content import load_attacks
from isolation_kit.finding import Mode
from isolation_kit.scenario import Answer, Delegate, Scenario, TurnPlan, UseTool
from isolation_kit.stage import Ledger, Runner
from isolation_kit.target import declaration_of
from isolation_kit.targets import openai_agents as targets

_TURN = TurnPlan(
    0,
    "Please check {{canary:user.current/0/-1/0/0}}",
    (
        UseTool(0, "q", '{"amount": 1, "trace_id": "{{canary:parent.tool.noise/0/-1/0/0}}"}'),
        Delegate(
            0, "Check {{canary:task.input/0/-1/0/0}}", (UseTool(0, "q", '{"bill": "x"}'), Answer("Bill"))
        ),
        Answer("fine"),
    ),
)


def rows(cases: int) -> None:
    """What reaches whom, structurally, over all families."""
    for target in (
        targets.openai_agents_handoff,
        targets.openai_agents_as_tool,
        targets.openai_agents_shared,
    ):
        declaration = declaration_of(target)
        seen: dict[str, set[str]] = {}
        total, cpu = 0, 0.0
        with Campaign(declaration, Plan(cases=cases, attacks=load_attacks())) as campaign:
            for item in items([declaration.name], FAMILIES):
                outcome = campaign.run(item)
                total, cpu = total + outcome.tally.executions, cpu + outcome.cpu_seconds
                for fingerprint, kind, mode in outcome.tally.hits:
                    if mode is Mode.STRUCTURAL and kind == "LEAK":
                        seen.setdefault(f"{fingerprint.channel} ({fingerprint.direction})", set()).add(
                            fingerprint.what
                        )
        print(
            f"{declaration.name}: {cases} cases a family, {total} executions, {cpu:.1f} CPU s with reductions"
        )
        for place, slots in sorted(seen.items()):
            print(f"  {place}: {', '.join(sorted(slots))}")


def by_kit(target: Any, cases: int) -> float:
    """CPU milliseconds a case with the kit."""
    runner = Runner(declaration_of(target), Ledger(seed=7))
    start = 0.0
    for number in range(cases + 1):
        trace = runner.execute(Scenario("bench", "bench", number, (_TURN,)))
        assert not trace.error, trace.error
        start = start or time.process_time()
    runner.close()
    return (time.process_time() - start) / cases * 1000


def by_hand(mode: str, cases: int) -> float:
    """CPU milliseconds of the same conversation with a mock transport and no kit."""
    queue: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        message = queue.pop(0)
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        head = {"id": "x", "object": "chat.completion", "created": 0, "model": "m"}
        return httpx2.Response(200, json={**head, "choices": [choice], "usage": usage})

    async def case(client: AsyncOpenAI) -> None:
        async def search(query: str) -> str:
            """Search."""
            return '{"amount": 1, "trace_id": "x"}'

        async def lookup(query: str) -> str:
            """Look up."""
            return '{"bill": "x"}'

        def model(name: str) -> Any:
            return agents.OpenAIChatCompletionsModel(name, client)

        child = agents.Agent(
            name="billing", instructions="c", model=model("b"), tools=[agents.function_tool(lookup)]
        )
        as_tool = [] if mode == "handoff" else [child.as_tool("billing", "bills")]
        parent = agents.Agent(
            name="support",
            instructions="p",
            model=model("p"),
            tools=[agents.function_tool(search), *as_tool],
            handoffs=[child] if mode == "handoff" else [],
        )
        queue[:] = _script(mode)
        await agents.Runner.run(parent, "Please check", run_config=agents.RunConfig(tracing_disabled=True))

    async def main() -> float:
        transport = httpx2.AsyncClient(transport=httpx2.MockTransport(answer), trust_env=False, verify=False)
        client = AsyncOpenAI(api_key="none", base_url="http://p/v1", max_retries=0, http_client=transport)
        await case(client)
        start = time.process_time()
        for _ in range(cases):
            await case(client)
        return (time.process_time() - start) / cases * 1000

    return asyncio.run(main())


def _script(mode: str) -> list[dict[str, Any]]:
    def use(name: str, arguments: dict[str, str]) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"role": "assistant", "tool_calls": [{"id": name, "type": "function", "function": function}]}

    way = ("transfer_to_billing", {}) if mode == "handoff" else ("billing", {"input": "Check x"})
    last = [] if mode == "handoff" else [{"role": "assistant", "content": "fine"}]
    return [
        use("search", {"query": "q"}),
        use(*way),
        use("lookup", {"query": "q"}),
        {"role": "assistant", "content": "Bill"},
        *last,
    ]


def main(cases: int = 100, repeats: int = 100) -> None:
    """Print the rows, then the costs in turn: kit, hand, kit, hand."""
    for name, target in (
        ("handoff", targets.openai_agents_handoff),
        ("as_tool", targets.openai_agents_as_tool),
    ):
        kit = [by_kit(target, repeats)]
        hand = [by_hand(name, repeats)]
        kit.append(by_kit(target, repeats))
        hand.append(by_hand(name, repeats))
        ours, theirs = min(kit), min(hand)
        print(f"{name}: kit {ours:.1f} ms, by hand {theirs:.1f} ms CPU a case, ratio {ours / theirs:.2f}")
    rows(cases)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
