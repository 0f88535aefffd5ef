"""Destroy: what a child leaves behind is seen wherever it lies; what the parent rightly keeps is not."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from tiny_target import at, full_case, full_turn, tiny, two_users

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.policy import Allow, Policy
from isolation_kit.scenario import Temperament
from isolation_kit.stage import Stage
from isolation_kit.trace import Remnant, Trace

Judge = Callable[..., Judgement]
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


class Warm:
    """What outlives a child: a worker's globals."""

    jobs: list[Any] = []  # noqa: RUF012  the seeded defect


KEPT: list[Any] = []
SPENT: dict[str, str] = {}


@pytest.fixture(autouse=True)
def _clean_up() -> Iterator[None]:
    """Nothing of one test stays for the next."""
    yield
    for item in KEPT:
        if isinstance(item, subprocess.Popen):
            item.communicate()
        elif isinstance(item, threading.Event):
            item.set()
        elif isinstance(item, int):
            os.close(item)
        elif isinstance(item, Path):
            item.unlink()
    KEPT.clear()
    SPENT.clear()
    Warm.jobs.clear()
    os.environ.pop("CHILD_LAST", None)


def found(judgement: Judgement) -> set[tuple[str, str]]:
    """Slot and channel of each finding; all of them go out."""
    assert {finding.fingerprint.direction for finding in judgement.findings} <= {"out"}
    return {(finding.fingerprint.what, finding.fingerprint.channel) for finding in judgement.findings}


def leaving(leave: Callable[[str, list[Any]], object]) -> Any:
    """The tiny system whose child does `leave(answer, messages)` at its end."""

    def result(answer: str, work: list[Any]) -> dict[str, Any]:
        leave(answer, work)
        return {"answer": answer}

    return tiny(result=result)


def in_a_file(answer: str, work: list[Any]) -> None:
    """A temporary file with the task."""
    descriptor, path = tempfile.mkstemp(suffix="-wal")
    KEPT.append(Path(path))
    os.write(descriptor, work[0]["content"].encode())
    os.close(descriptor)


def in_the_environment(answer: str, work: list[Any]) -> None:
    """A variable with the last answer."""
    os.environ["CHILD_LAST"] = answer


def in_a_global(answer: str, work: list[Any]) -> None:
    """The messages, in a list of a class."""
    Warm.jobs.append(work)


def in_an_old_dict(answer: str, work: list[Any]) -> None:
    """A text straight in a dict that is older than the case: no new object holds it."""
    SPENT["last"] = answer


def in_a_worker(answer: str, work: list[Any]) -> None:
    """What a tool said, in the memory of a process that lives on."""
    worker = subprocess.Popen(["/bin/sh", "-c", "read -r job; echo; read _"], stdin=-1, stdout=-1)
    KEPT.append(worker)
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(work[-1]["content"].encode() + b"\n")
    worker.stdin.flush()
    worker.stdout.readline()


@pytest.mark.parametrize(
    ("leave", "what"),
    [
        pytest.param(in_a_worker, ("child.tool.result", "process.memory"), marks=linux),
        (in_a_file, ("task.input", "artifact")),
        (in_the_environment, ("child.answer", "environment")),
        (in_a_global, ("child.tool.result", "process.memory")),
        (in_an_old_dict, ("child.answer", "process.memory")),
    ],
)
def test_what_holds_a_canary_is_a_leak_at_once(
    leave: Callable[..., None], what: tuple[str, str], judge: Judge
) -> None:
    """With the slot, the place where it lies, and no text of it."""
    judgement = judge("destroy", leaving(leave), full_case())
    assert judgement.verdict is Verdict.LEAK
    assert what in found(judgement)
    assert judge("destroy", tiny(), full_case(seed=2)).findings == ()


def test_what_a_canary_wears_is_known_too(judge: Judge) -> None:
    """A canary in the shape of a card number or a sentence is found in an object as well."""
    worn = full_case().with_skins({"child.tool.result": "digits"})
    assert ("child.tool.result", "process.memory") in found(judge("destroy", leaving(in_a_global), worn))


def test_a_path_tells_what_keeps_an_object(judge: Judge) -> None:
    """From the root, with the name of the variable, to the holder, by type names."""
    judgement = judge("destroy", leaving(in_a_global), full_case())
    paths = {finding.path for finding in judgement.findings if finding.form == "left as object"}
    assert f"{__name__}.Warm.jobs > list > list" in paths
    old = judge("destroy", leaving(in_an_old_dict), full_case()).findings
    assert f"{__name__}.SPENT > dict" in {finding.path for finding in old}


def a_thread(answer: str, work: list[Any]) -> None:
    """One that waits for ever."""
    KEPT.append(threading.Event())
    threading.Thread(target=KEPT[-1].wait, daemon=True).start()


def a_task(answer: str, work: list[Any]) -> None:
    """One that nobody awaits."""
    task = asyncio.get_running_loop().create_task(asyncio.sleep(3600))
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # the loop is closed with it pending
    KEPT.append(task)


def a_descriptor(answer: str, work: list[Any]) -> None:
    """An open file."""
    KEPT.append(os.open(os.devnull, os.O_RDONLY))


def a_process(answer: str, work: list[Any]) -> None:
    """A helper that nobody ends."""
    KEPT.append(subprocess.Popen(["/bin/sh", "-c", "read _"], stdin=subprocess.PIPE))


@pytest.mark.parametrize(
    "leave",
    [a_thread, a_task, pytest.param(a_descriptor, marks=linux), pytest.param(a_process, marks=linux)],
    ids=["thread", "task", "descriptor", "process"],
)
def test_a_thing_without_a_canary_counts_if_each_execution_leaves_one(
    leave: Callable[..., None], request: pytest.FixtureRequest, judge: Judge
) -> None:
    """A pool that the first case starts and all use does not."""
    kind = request.node.callspec.id
    assert (f"field.left_{kind}", "process.memory") in found(judge("destroy", leaving(leave), full_case()))

    def only_once(answer: str, work: list[Any]) -> None:
        if not Warm.jobs:
            Warm.jobs.append(True)
            leave(answer, [])

    assert judge("destroy", leaving(only_once), full_case(seed=3)).findings == ()


def test_what_the_parent_rightly_holds_does_not_count(judge: Judge) -> None:
    """Its own history, the task and the answer, while it lives; several users and turns."""
    judgement = judge("destroy", tiny(), two_users())
    assert (judgement.verdict, judgement.findings) == (Verdict.PASS, ())


def test_a_reply_that_woke_the_last_step_of_a_turn_is_not_left(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that runs in a thread hands its reply over in a future, which the loop holds for a moment."""
    plain = Stage.tool

    def threaded(stage: Stage, name: str, agent: str) -> Callable[[str], Awaitable[str]]:
        find = plain(stage, name, agent)

        async def call(query: str) -> str:
            return await asyncio.to_thread(str, await find(query))

        return call

    monkeypatch.setattr(Stage, "tool", threaded)
    assert judge("destroy", tiny(), full_case()).findings == ()
    assert found(judge("destroy", leaving(in_a_global), full_case()))


def test_a_leak_that_another_channel_shows_is_not_told_twice(judge: Judge) -> None:
    """What went up in the result is the parent's by now: the canary oracle tells of it."""
    chatty = tiny(result=lambda answer, work: {"answer": f"{answer} {work[-1]['content']}"})
    assert judge("destroy", chatty, full_case()).findings == ()
    assert judge("canary", chatty, full_case()).verdict is Verdict.LEAK


def test_a_kept_target_is_judged_by_its_childrens_work(judge: Judge) -> None:
    """It stays up with its sessions, and yet nobody may keep what a child's tool said."""
    assert judge("destroy", tiny(scope="campaign"), full_case()).findings == ()

    def keep(answer: str, work: list[Any]) -> dict[str, Any]:
        Warm.jobs.append(work)
        return {"answer": answer}

    kept = judge("destroy", tiny(scope="campaign", result=keep), full_case(seed=4))
    assert ("child.tool.result", "process.memory") in found(kept)


@pytest.mark.parametrize(
    ("factory", "scenario"),
    [
        (tiny(), full_case(child=Temperament.PARROT)),
        (tiny(), full_case(concurrent=True)),
        (tiny(delegates=False), full_case()),
        (tiny(headers=lambda history: {}[history[0]]), full_case()),
    ],
    ids=["parrot", "at-once", "no-child", "failing"],
)
def test_where_it_cannot_judge_it_says_why(factory: Any, scenario: Any, judge: Judge) -> None:
    """Not applicable, with a reason."""
    judgement = judge("destroy", factory, scenario)
    assert (judgement.applicable, judgement.findings) == (False, ())
    assert judgement.reason


def test_an_allowed_remnant_stays_a_finding_without_weight(judge: Judge) -> None:
    """`[[allow]]` opens it by slot and channel."""
    policy = Policy((Allow("task.input", "artifact", "kid", reason="debugging", owner="platform"),))
    judgement = judge("destroy", leaving(in_a_file), full_case(), policy)
    allowed = [item for item in judgement.findings if item.fingerprint.what == "task.input"]
    assert [item.counts for item in allowed] == [False]


def test_a_look_changes_nothing_and_its_trace_is_plain_data(execute: Callable[..., Trace]) -> None:
    """Same events with and without; what was left goes to JSON and back, and holds no token."""
    factory = leaving(in_a_file)
    plain, looked = execute(factory, full_case()), execute(factory, full_case(), inspect=True)
    assert plain.events == looked.events
    assert plain.aftermath == ()
    assert Trace.from_json(looked.to_json()).aftermath == looked.aftermath
    assert all(isinstance(item, Remnant) for item in looked.aftermath)
    assert not any(item.token in repr(looked.aftermath) for item in looked.planted)
    assert gc.get_freeze_count() == 0


def test_a_follow_up_turn_shows_in_which_turn_it_was_left(execute: Callable[..., Trace]) -> None:
    """The file of the second turn only."""

    def second(answer: str, work: list[Any]) -> None:
        if "t1" not in SPENT:
            SPENT["t1"] = ""
            return
        in_a_file(answer, work)

    case = full_case(turns=(full_turn(0, 0), full_turn(0, 1)))
    left = execute(leaving(second), case, inspect=True).aftermath
    assert {item.turn for item in left if item.kind == "side file"} == {1}
    assert at("task.input", 0, 1) in {place.placeholder for item in left for place in item.places}


def test_a_cache_of_the_kit_that_a_module_imports_is_not_the_modules(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the kit remembers of texts stays its own under any name; a cache of the module's own counts."""
    remembered = lru_cache(lambda text: text)
    monkeypatch.setitem(globals(), "remembered", remembered)

    def keep(answer: str, work: list[Any]) -> None:
        remembered(answer)

    assert found(judge("destroy", leaving(keep), full_case()))
    remembered.cache_clear()
    monkeypatch.setattr(remembered, "__module__", "isolation_kit.stage.names")
    assert judge("destroy", leaving(keep), full_case(seed=3)).findings == ()
