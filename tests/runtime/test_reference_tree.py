"""The reference tree on a stage: puppets on four layers, a canary in every place, and each in its place.

First scenarios written by hand, judged by a table of the tests' own; then the audit's.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaky_layers import grandparents_history, raw_tool_output

from isolation_kit import stage
from isolation_kit.audit import Campaign, Plan
from isolation_kit.config import load
from isolation_kit.content import load_attacks
from isolation_kit.finding import Mode, Verdict
from isolation_kit.generate import SWEEP
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.runtime import (
    Message,
    ModelRequest,
    Parts,
)
from isolation_kit.scenario import Act, Answer, Delegate, Place, Say, Scenario, TurnPlan, UseTool
from isolation_kit.stage import Ledger, Runner
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference_stage import StageHooks, StageModel
from isolation_kit.targets.reference_tree import make_reference_tree, reference_tree
from isolation_kit.trace import Channel, Trace

LAYERS = ("parent", "planner", "researcher", "reader")
Run = Callable[[Any, Scenario], Trace]


def layer(user: int, turn: int, number: int, deepest: int) -> tuple[Act, ...]:
    """The script of one layer: it speaks, uses a tool, delegates if it is not the deepest, answers."""

    def at(slot: str, n: int = number) -> str:
        return Place(slot, user, -1, turn, n).placeholder

    raw = (
        f'{{"amount": 5, "description": "{at("child.tool.result")}", "trace_id": "{at("child.tool.noise")}"}}'
    )
    down: tuple[Act, ...] = ()
    if number < deepest:
        down = (Delegate(0, f"find {at('task.input', number + 1)}", layer(user, turn, number + 1, deepest)),)
    own = (Say(f"think {at('child.text')}"), UseTool(0, f"q {at('child.tool.args')}", raw)) if number else ()
    return (*own, *down, Answer(f"It is {at('child.answer')}" if number else "ok"))


def case(*turns: tuple[int, int]) -> Scenario:
    """One turn for each (user, deepest layer)."""
    plans = []
    for index, (user, deepest) in enumerate(turns):
        words = Place("user.current", user, -1, index).placeholder
        said = Say(f"plan {Place('parent.text', user, -1, index).placeholder}")
        plans.append(TurnPlan(user, f"hello {words}", (said, *layer(user, index, 0, deepest)), "s", -1))
    return Scenario("unit", "unit", 1, tuple(plans), users=("agent_1", "agent_10"))


def misplaced(trace: Trace) -> set[tuple[str, str, int]]:
    """(agent, slot, layer whose it is) of every canary that is seen where it does not belong."""
    events = {event.seq: event for event in trace.events}
    found = set()
    for sighting in trace.sightings:
        event, place = events[sighting.seq], sighting.place
        here = LAYERS.index(event.agent)
        if not _belongs(event.channel, place, here, event.turn):
            found.add((event.agent, place.slot, place.n))
    return found


def _belongs(channel: Channel, place: Place, here: int, turn: int) -> bool:
    if channel is Channel.STORE:
        return place.slot == "parent.state"
    if place.slot.startswith(("user.", "parent.")):
        return here == 0
    if channel is Channel.RESULT and place.slot != "child.answer":
        return False
    if place.slot == "child.tool.noise":
        return channel is Channel.CHILD_TOOL_RESULT and place.n == here
    own, below = place.n == here, place.n == here + 1
    return (place.turn == turn or here == 0) and (
        own or (below and place.slot in ("task.input", "child.answer"))
    )


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs a case on a target."""
    runners: dict[str, Runner] = {}

    def execute(target: Any, scenario: Scenario) -> Trace:
        declaration = declaration_of(target)
        runner = runners.setdefault(declaration.name, Runner(declaration, Ledger(5)))
        return runner.execute(scenario)

    yield execute
    for runner in runners.values():
        runner.close()


@pytest.fixture(scope="module")
def sweep_of() -> Callable[[Any], ItemOutcome]:
    """The audit's sweep of a target, each once, without the reduction of what it finds."""

    @cache
    def sweep(factory: Any) -> ItemOutcome:
        declaration = declaration_of(factory)
        with Campaign(declaration, Plan(cases=1, attacks=load_attacks(), deadline=0.0)) as campaign:
            return campaign.run(Item(0, declaration.name, SWEEP))

    return sweep


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 3)), min_size=1, max_size=4))
def test_every_canary_stays_in_its_place(run: Run, turns: list[tuple[int, int]]) -> None:
    """Two users, turns of any depth: no layer sees what is not its own or its direct child's."""
    trace = run(reference_tree, case(*turns))
    assert not trace.error
    assert not trace.problems
    assert misplaced(trace) == set()
    assert trace.task_responses == sum(deepest for _, deepest in turns)


def test_the_deepest_answer_comes_up_one_layer(run: Run) -> None:
    """All layers are reached, and each answer is seen by the layer above it: the silence means something."""
    trace = run(reference_tree, case((0, 3)))
    seen = {event.seq: event.agent for event in trace.seen(Channel.CHILD_REQUEST)}
    answers = {
        (seen[sighting.seq], sighting.place.n)
        for sighting in trace.sightings
        if sighting.seq in seen and sighting.place.slot == "child.answer"
    }
    assert set(seen.values()) == set(LAYERS[1:])
    assert answers == {("planner", 2), ("researcher", 3)}


@pytest.mark.parametrize(
    ("new_parts", "leak"),
    [
        (grandparents_history, ("researcher", "user.current", 0)),
        (grandparents_history, ("reader", "task.input", 1)),
        (raw_tool_output, ("planner", "child.tool.result", 3)),
        (raw_tool_output, ("parent", "child.tool.result", 3)),
    ],
    ids=["history, down 2", "brief, down 2", "tool result, up 2", "tool result, up 3"],
)
def test_a_leaky_tree_is_caught(run: Run, new_parts: Callable[[], Parts], leak: tuple[str, str, int]) -> None:
    """The same check on the twin finds the leak at the layer that it reached."""
    twin = make_reference_tree(new_parts, f"leaky_tree_{new_parts.__name__}")
    assert leak in misplaced(run(twin, case((0, 3))))


@cache
def _twin(new_parts: Callable[[], Parts]) -> Any:
    return make_reference_tree(new_parts, f"leaky_tree_{new_parts.__name__}")


def test_the_audit_nests_its_scripts(sweep_of: Callable[[Any], ItemOutcome]) -> None:
    """The clean tree passes, each layer reached and none declared untested."""
    outcome = sweep_of(reference_tree)
    assert outcome.tally.verdicts == {Verdict.PASS: 4}
    assert outcome.unreached == ()
    assert not load(Path(__file__).parents[1] / "data" / "reference_tree.toml").untested_of("reference_tree")


@pytest.mark.parametrize(
    ("new_parts", "leak"),
    [
        (grandparents_history, ("planner>researcher", "user.current", "child.request", "down")),
        (grandparents_history, ("researcher>reader", "task.input", "child.request", "down")),
        (raw_tool_output, ("parent>planner", "child.tool.result", "child.request", "up")),
        (raw_tool_output, ("planner>researcher", "child.answer", "result", "up")),
        (raw_tool_output, ("planner>researcher", "child.answer", "parent.request", "up")),
    ],
    ids=["history, down 2", "brief, down 2", "tool result, up 2", "answer, up 2", "answer, to the root"],
)
def test_the_audit_finds_a_leaky_tree(
    sweep_of: Callable[[Any], ItemOutcome], new_parts: Callable[[], Parts], leak: tuple[str, str, str, str]
) -> None:
    """What reaches a layer beyond the next one is a leak, named by edge and direction."""
    twin = _twin(new_parts)
    keys = {key for key, _, mode in sweep_of(twin).tally.hits if mode is Mode.STRUCTURAL}
    assert leak in {(key.edge, key.what, key.channel, key.direction) for key in keys}, keys


class _Puppets:
    """A stage of which only the models are asked."""

    def model(self, agent: str) -> _Puppets:
        return self

    def ended(self, agent: str) -> None:
        self.last = agent

    async def reply(self, call: Any) -> Any:
        return stage.ModelReply("42")


@pytest.mark.parametrize(("ended", "left"), [("reader", 0), ("planner", 1)], ids=["its child", "another"])
def test_a_puppets_model_forgets_an_ended_child(ended: str, left: int) -> None:
    """The chat form of a message is kept for the next request, and no longer than the child."""
    puppets: Any = _Puppets()
    model = StageModel(puppets, "reader")
    hooks = StageHooks(puppets, "parent", {"reader": model})
    asyncio.run(model.reply(ModelRequest("reader", (Message("user", "scratch-77e1"),))))
    hooks.context_died(ended, "ended")
    gc.collect()
    kept = [item for item in gc.get_objects() if isinstance(item, Message) and "scratch-77e1" in item.content]
    assert len(kept) == left
