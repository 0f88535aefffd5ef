"""Input tokens of children that inherit their parent's context beside those that get a brief (002, 3.1).

The article: 5 children, 3 rounds each, 8k inherited or 2k of brief: 120k or 30k input tokens. Here the same
through the runtime, where each round also repeats what the child's tools said; then with a real conversation
as the parent's history; then over 200 delegations of a growing conversation.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from isolation_kit.runtime import (
    CLEAN,
    ChildSpec,
    Contract,
    Message,
    ModelReply,
    ModelRequest,
    ParentScope,
    Parts,
    RunLimits,
    Runtime,
    ToolCall,
    ToolSpec,
    build_child_context,
    declared_fields,
    delegate,
    keyed_digest,
)
from isolation_kit.runtime.observe import Measure, Point, TokenCurve, Tracer, flatness, names_of

ROOT = Path(__file__).parents[2]
CORPORA = Path(os.environ.get("ISOLATION_KIT_CORPORA", ROOT / "../shared/corpora"))
DIGEST = keyed_digest(b"bench")
CHILDREN, ROUNDS = 5, 3
INHERITED = replace(CLEAN, child_context=lambda brief, scope: (*scope.history, *build_child_context(brief)))
WAYS = {"inherited": INHERITED, "briefs": CLEAN}
Count = Callable[[str], int]


def words(text: str) -> int:
    """A counter for texts made of one-token words."""
    return len(text.split())


def real_counter() -> tuple[str, Count]:
    """o200k where its library is there, else a fourth of the bytes."""
    try:
        import bpe_openai
    except ImportError:
        return "bytes / 4", lambda text: len(text.encode()) // 4
    encoding = bpe_openai.get_encoding("o200k_base")
    return "o200k", lambda text: len(encoding.encode_ordinary(text))


class Model:
    """Calls its tool until its last round, then answers."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The next step."""
        # What comes after the child's own task is its work; an inherited history has tool messages too.
        start = max(n for n, message in enumerate(request.messages) if message.role == "system")
        done = sum(message.role == "tool" for message in request.messages[start:])
        if done < ROUNDS - 1:
            return ModelReply("", (ToolCall(f"c{done}", "lookup", {"query": f"step {done}"}),))
        return ModelReply("done")


def child(constants: str) -> ChildSpec:
    """A child with one text tool and a window that refuses nothing."""
    tools = (ToolSpec("lookup", "Look it up.", text_limit=50_000, extract=str),)
    contract = Contract(10_000_000, declared_fields(tools), 60_000, 128, "ERROR")
    inputs = {"type": "object", "required": ["request"], "properties": {"request": {"type": "string"}}}
    return ChildSpec("worker", "Do it.", tools, inputs, constants=constants, contract=contract)


async def measured(
    spec: ChildSpec, count: Count, parts: Parts, steps: Iterator[tuple[list[Message], str]], tool_text: str
) -> tuple[Point, ...]:
    """The points of one delegation for each step, a history and a task."""

    async def lookup(query: str) -> str:
        return tool_text

    curve, model = TokenCurve(), Model()
    tracer = Tracer(names_of((spec,), DIGEST), Measure(count, DIGEST), spans=(curve.span_ended,))
    runtime = Runtime(
        model=lambda agent: model,
        tool=lambda name, agent: lookup,
        digest=DIGEST,
        hooks=tracer,
        parts=parts,
        limits=RunLimits(window=10_000_000, timeout_ms=60_000),
    )
    for history, task in steps:
        await delegate(runtime, ParentScope("u", "s", history), spec, {"request": task})
    return curve.points


def compare(
    title: str, spec: ChildSpec, count: Count, history: list[Message], tasks: list[str], tool: str
) -> None:
    """Print the tokens of both ways, all in and the first request of each round only."""
    totals = {}
    for way, parts in WAYS.items():
        points = asyncio.run(measured(spec, count, parts, ((history, task) for task in tasks), tool))
        base = sum(point.first for point in points) * ROUNDS
        totals[way] = base, sum(point.total for point in points)
    for place, what in enumerate(("initial contexts alone", "with tool replies")):
        inherited, briefs = totals["inherited"][place], totals["briefs"][place]
        print(
            f"{title}, {what}: inherited {inherited:,}, briefs {briefs:,}, "
            f"share {briefs / inherited:.3f}, ratio {inherited / briefs:.1f}"
        )


def article() -> None:
    """The article's sizes in words of one token: 8,000 inherited, 2,000 of them a brief."""
    history = [Message("user", "w " * 6000)]
    spec = child("c " * 350)
    compare("article's sizes", spec, words, history, ["t " * 1600] * CHILDREN, "r " * 200)


def conversations() -> list[list[Message]]:
    """The conversations of tau-bench's airline runs."""
    path = next(iter(sorted((CORPORA / "tau-bench").glob("*airline*.json"))), None)
    if path is None:
        return []
    runs = json.loads(path.read_text(encoding="utf-8"))
    return [
        [
            Message(
                m["role"],
                f"{m.get('content') or ''}{json.dumps(m['tool_calls']) if m.get('tool_calls') else ''}",
            )
            for m in run["traj"]
        ]
        for run in runs
    ]


def real() -> None:
    """The median conversation by length, its last user turns as tasks, one of its tool replies."""
    found = sorted(conversations(), key=lambda messages: sum(len(message.content) for message in messages))
    found = [
        m for m in found if sum(x.role == "user" for x in m) >= CHILDREN and any(x.role == "tool" for x in m)
    ]
    if not found:
        print("tau-bench: not there; set ISOLATION_KIT_CORPORA to the folder that holds it")
        return
    name, count = real_counter()
    for which, history in (("median", found[len(found) // 2]), ("longest", found[-1])):
        tasks = [message.content for message in history if message.role == "user"][-CHILDREN:]
        tools = sorted((message.content for message in history if message.role == "tool"), key=len)
        title = f"tau-bench, {which} conversation ({len(history)} messages, {name})"
        constants = "Amounts are in USD; dates are ISO 8601; ask before you book."
        compare(title, child(constants), count, history, tasks, tools[len(tools) // 2])


def curve(delegations: int = 200) -> None:
    """Input tokens of the first request while the conversation grows by two messages a delegation."""
    name, count = real_counter()

    def steps() -> Iterator[tuple[list[Message], str]]:
        history: list[Message] = []
        for number in range(delegations):
            history += [Message("user", f"look order R{number:06d} up"), Message("assistant", "It is paid.")]
            yield history, f"look order R{number:06d} up"

    for way, parts in WAYS.items():
        points = asyncio.run(measured(child("USD."), count, parts, steps(), "paid"))
        flat = flatness(points)
        shown = ", ".join(f"{point.first}" for point in islice(points, 0, None, delegations // 5))
        print(
            f"{delegations} delegations ({name}), {way}: {flat.verdict}, growth {100 * flat.growth:.1f} %, "
            f"first request {shown} ... {points[-1].first}"
        )


if __name__ == "__main__":
    article()
    real()
    curve()
