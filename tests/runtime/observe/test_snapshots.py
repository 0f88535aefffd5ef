"""The snapshot log: lengths and keyed digests that tell a leak from a clean context without any text."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import (
    CLEAN,
    ChildSpec,
    Message,
    ModelReply,
    ParentScope,
    Runtime,
    Status,
    SubAgentResult,
    TaskBrief,
    delegate,
)
from isolation_kit.runtime.observe import (
    Measure,
    Names,
    Part,
    Snapshot,
    SnapshotLog,
    Where,
    names_of,
    overlap,
    read_snapshots,
)
from isolation_kit.runtime.observe.terms import terms
from isolation_kit.runtime.text import canonical, keyed_digest
from isolation_kit.strictjson import loads

HISTORY = (Message("user", "the quarterly review went badly"), Message("assistant", "查张伟的账单, plan B"))
LEAKY = replace(CLEAN, child_context=lambda brief, scope: (*scope.history, Message("user", "do it")))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
DIGEST = keyed_digest(b"test")


def moments(folder: Path, name: str) -> list[Snapshot]:
    """The snapshots of one moment."""
    return [shot for shot in read_snapshots(folder / "snapshots.jsonl") if shot.moment == name]


def test_a_life_is_four_lines(watched: Any) -> None:
    """Down, born, died, up; one trace and one task throughout."""
    made = watched({"worker": [ModelReply("42")]})
    result = made.run(history=HISTORY)
    shots = read_snapshots(made.folder / "snapshots.jsonl")
    assert [shot.moment + shot.way for shot in shots] == ["crosseddown", "born", "died", "crossedup"]
    assert {shot.task_id for shot in shots} == {result.task_id}
    assert len({shot.trace_id for shot in shots}) == 1


def test_birth_tells_the_length_of_each_message_and_field(watched: Any) -> None:
    """Characters and tokens by role and by field of the brief."""
    made = watched({"worker": [ModelReply("42")]}, count=len)
    made.run("find 张伟")
    (born,) = moments(made.folder, "born")
    assert Part("brief.inputs.request", 7, 7) in born.parts
    assert Part("brief.goal", 6, 6) in born.parts
    assert [part.name for part in born.parts[:2]] == ["message.system", "message.user"]


def test_a_leaky_twin_carries_terms_of_the_history(watched: Any) -> None:
    """At birth and in a later comparison of two lines; the terms are keyed digests."""
    made = watched({"worker": [ModelReply("42")]}, parts=LEAKY)
    made.run(history=HISTORY)
    (born,), (held,) = moments(made.folder, "born"), moments(made.folder, "held")
    shared = overlap(held, born)
    assert born.carried == len(shared.terms) >= 8
    assert {DIGEST(b"quarterly"), DIGEST("张伟".encode())} <= set(shared.terms)


def test_a_clean_child_carries_none(watched: Any) -> None:
    """A term that was handed down as an input is given, though the history has it too."""
    made = watched({"worker": [ModelReply("42")]})
    made.run("a review of 张伟", HISTORY)
    (born,) = moments(made.folder, "born")
    assert (born.carried, born.terms, moments(made.folder, "held")) == (0, (), [])


def test_another_wording_around_the_inputs_is_compared(watched: Any) -> None:
    """Inputs in another order than the clean builder's: their terms are logged as given, none as carried."""
    reworded = replace(CLEAN, child_context=lambda brief, scope: (Message("user", brief.inputs["request"]),))
    made = watched({"worker": [ModelReply("42")]}, parts=reworded)
    made.run("a review of 张伟", HISTORY)
    (born,) = moments(made.folder, "born")
    assert (born.carried, born.terms) == (0, ())
    assert set(born.inputs) >= {DIGEST(b"review"), DIGEST("张伟".encode())}


def test_birth_has_the_digest_of_the_childs_first_request(watched: Any, caplog: Any) -> None:
    """The child's own log says the same of the first request, so the two can be joined."""
    made = watched({"worker": [ModelReply("42")]})
    with caplog.at_level("DEBUG"):
        made.run()
    (born,) = moments(made.folder, "born")
    (line,) = [text for text in caplog.messages if text.startswith("request ")]
    assert line.endswith(f"digest={born.digest}")


def test_a_leak_into_the_clean_messages_is_seen(watched: Any) -> None:
    """History appended to the system message, or to the inputs: neither is what was stated or given."""
    for place in (0, 1):

        def leaky(brief: TaskBrief, scope: ParentScope, place: int = place) -> tuple[Message, ...]:
            messages = list(CLEAN.child_context(brief, scope))
            text = f"{messages[place].content} {scope.history[0].content}"
            messages[place] = replace(messages[place], content=text)
            return tuple(messages)

        made = watched({"worker": [ModelReply("42")]}, parts=replace(CLEAN, child_context=leaky))
        made.run(history=HISTORY)
        assert moments(made.folder, "born")[-1].carried >= 4


def test_a_log_without_a_tracer_follows_nested_and_broken_delegations(measure: Measure, names: Names) -> None:
    """One trace id for a chain, the layer's task again after its child's end, a new trace after a break."""
    lines: list[str] = []
    log = SnapshotLog(lines.append, names, measure, ())
    outer, inner = "t_0123456789abcdef", "t_fedcba9876543210"
    log.delegation_began("worker", outer, ())
    log.delegation_began("worker", inner, ())
    log.context_crossed("worker", "up", b"1")
    log.delegation_ended("worker", SubAgentResult(inner, Status.SUCCEEDED))
    log.delegation_ended("worker", SubAgentResult("", Status.REFUSED))
    log.context_crossed("worker", "up", b"2")
    log.context_died("worker", "cancelled")
    log.delegation_began("worker", outer, ())
    log.delegation_ended("worker", SubAgentResult("", Status.FAILED))
    log.delegation_began("worker", inner, ())
    log.context_died("worker", "ended")
    shots = [Snapshot.from_dict(loads(line)) for line in lines]
    assert [shot.task_id for shot in shots] == [inner, outer, outer, inner]
    assert len({shot.trace_id for shot in shots[:3]}) == 1
    assert len({shot.trace_id for shot in shots}) == 2


def test_unexplained_terms_that_no_history_has_are_no_leak(measure: Measure, names: Names) -> None:
    """Another builder's own wording is logged with what the parent held: nothing of it was carried."""
    lines: list[str] = []
    log = SnapshotLog(lines.append, names, measure, (), Where)
    log.delegation_began("worker", "", HISTORY)
    log.context_born("worker", TaskBrief("", "Do it."), (Message("system", "another wording"),))
    held, born = (Snapshot.from_dict(loads(line)) for line in lines)
    shared = overlap(held, born)
    assert (born.carried, len(born.terms), shared.terms) == (0, 2, ())
    assert shared.compared > 4


@given(st.lists(TEXTS, max_size=4), TEXTS.filter(bool))
def test_no_text_makes_a_clean_child_look_leaky(history: list[str], request: str) -> None:
    """Whatever the history holds and the task says: escapes, quotes, scripts without spaces."""
    spec = ChildSpec(
        "worker", "Do it.", (), {"type": "object", "properties": {"request": {"type": "string"}}}
    )
    lines: list[str] = []
    measure = Measure(len, DIGEST)
    log = SnapshotLog(lines.append, names_of((spec,), DIGEST), measure, (spec,), Where)
    brief = CLEAN.write_brief(ParentScope("u", "s"), spec, {"request": request}, DIGEST)
    log.delegation_began("worker", brief.task_id, [Message("user", text) for text in history])
    log.context_born("worker", brief, CLEAN.child_context(brief, ParentScope("u", "s")))
    assert Snapshot.from_dict(loads(lines[-1])).carried == 0


@given(st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=4))
def test_the_clean_user_message_is_recognised(inputs: dict[str, str]) -> None:
    """Whatever inputs are called and say: built by hand, their text is what the encoder makes."""
    lines: list[str] = []
    log = SnapshotLog(lines.append, names_of((), DIGEST), Measure(len, DIGEST), ())
    log.context_born("worker", TaskBrief("", "Do it.", inputs), (Message("user", canonical(inputs)),))
    assert '"inputs":[' not in lines[-1]


def test_a_large_history_is_sampled_and_says_so(measure: Measure, names: Names, worker: ChildSpec) -> None:
    """Of 1,000 terms the 256 lowest are logged; birth is compared with all of them."""
    lines: list[str] = []
    log = SnapshotLog(lines.append, names, measure, (worker,), Where)
    words = [f"word{number}" for number in range(1000)]
    history = [Message("user", " ".join(words))]
    log.delegation_began("worker", "", history)
    log.context_born("worker", TaskBrief("", "Do it."), (Message("user", " ".join(words[500:])),))
    held, born = (Snapshot.from_dict(loads(line)) for line in lines)
    shared = overlap(held, born)
    assert (len(held.terms), held.sampled, shared.sampled) == (256, True, True)
    assert born.carried == 500
    assert len(shared.terms) > 50


def test_another_key_shares_no_digest(measure: Measure) -> None:
    """Who has not the key can compare nothing."""
    other = Measure(len, keyed_digest(b"other"))
    assert not set(measure.digests(["quarterly"])) & set(other.digests(["quarterly"]))


def test_terms_are_words_and_neighbours() -> None:
    """Words fold case; Chinese gives pairs; an escaped newline is no letter; two letters are no term."""
    assert terms('Review "a\\nplan" 查张伟 of AB-1234') == {"review", "plan", "查张", "张伟", "1234"}


def test_concurrent_children_are_compared_with_their_own_parent(
    rig: Any, worker: ChildSpec, measure: Measure, names: Names
) -> None:
    """Two delegations at once: a child that leaks its own parent's history is seen for both."""
    lines: list[str] = []
    made = rig({"worker": [ModelReply("42")]}, parts=LEAKY)
    log = SnapshotLog(lines.append, names, measure, (worker,), Where)
    runtime: Runtime = replace(made.runtime, hooks=log)

    async def both() -> None:
        histories = (["alpha beta"], ["gamma delta epsilon"])
        scopes = [ParentScope("u", "s", [Message("user", text) for text in texts]) for texts in histories]
        await asyncio.gather(*(delegate(runtime, scope, worker, {"request": "x"}) for scope in scopes))

    asyncio.run(both())
    born = [Snapshot.from_dict(loads(line)) for line in lines if '"born"' in line]
    assert sorted(shot.carried for shot in born) == [2, 3]
