"""The level `process` is the level `inline` in another place: same events, same results, a clean process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from watched import gone

from isolation_kit.errors import UsageError
from isolation_kit.runtime import (
    CLEAN,
    ChildSpec,
    Message,
    ModelReply,
    ParentScope,
    RunLimits,
    ToolCall,
    delegate,
)
from isolation_kit.runtime.artifacts import Artifacts
from isolation_kit.runtime.launch import inline
from isolation_kit.runtime.nested import ByTask
from isolation_kit.runtime.process import ProcessHost
from isolation_kit.runtime.process.linux import children_of

Live = Callable[..., Any]
SECRET = "history-7f3a"

texts = st.text(st.sampled_from(["a", '"', "\\", "{", "\u2028", "张", "\ud800", "\x00"]), max_size=6)
replies = st.one_of(
    texts.map(ModelReply),
    st.builds(
        lambda text: ModelReply(f'{{"answer": "x", "{text}": [1, {{"b": null}}]}}'), st.sampled_from("abc")
    ),
    st.builds(
        lambda text, names: ModelReply(text, tuple(ToolCall(f"c{n}", n, {"query": text}) for n in names)),
        texts,
        st.lists(st.sampled_from(["lookup", "task", "other"]), min_size=1, max_size=3),
    ),
)


def scope() -> ParentScope:
    """A parent that knows a secret."""
    return ParentScope("u", "s", [Message("user", SECRET)], {"x-tenant": SECRET})


def told(made: Any) -> list[Any]:
    """What the hooks were told, but for the memory, which only a process has of its own."""
    return [call for call in made.watcher.calls if call[0] != "memory_peaked"]


def seen(made: Any) -> list[Any]:
    """What the hooks were told of both levels, and the models were asked, in order."""
    requests = [
        [(r.agent, r.messages, r.tools, r.headers) for r in s.requests] for s in made.scripts.values()
    ]
    return [told(made), requests]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    script=st.lists(replies, min_size=1, max_size=5), tool=st.sampled_from(['{"amount": 1, "x": 2}', "no"])
)
def test_both_levels_show_the_same(place: Any, rig: Any, worker: ChildSpec, script: Any, tool: str) -> None:
    """The same script gives the same hook calls, model requests and result, wherever the child lives."""
    results, traces = [], []
    for launch in (None, place.host.launch):
        made = rig({"worker": list(script)}, tool, limits=RunLimits(rounds=6, timeout_ms=20_000))
        runtime = replace(made.runtime, launch=launch) if launch else made.runtime
        results.append(place.run(delegate(runtime, scope(), worker, {"request": "find it"})))
        traces.append(seen(made))
    assert results[0] == results[1]
    assert traces[0] == traces[1]
    assert SECRET not in repr(traces[1][1])


def test_a_model_that_fails_is_told_the_same(place: Any, rig: Any, worker: ChildSpec) -> None:
    """The reason goes up and the log line is the parent's, at both levels."""

    class Failing:
        async def reply(self, request: Any) -> Any:
            raise RuntimeError(SECRET)

    traces = []
    for launch in (None, place.host.launch):
        made = rig({"worker": [ModelReply("")]})
        runtime = replace(made.runtime, model=lambda agent: Failing())
        runtime = replace(runtime, launch=launch) if launch else runtime
        result = place.run(delegate(runtime, scope(), worker, {"request": "find it"}))
        assert result.errors == ("model_failed",)
        traces.append([call for call in told(made) if call[0] != "delegation_began"])
    assert traces[0] == traces[1]
    assert SECRET not in repr(traces)


@pytest.mark.parametrize(
    "reply",
    [
        ModelReply("x", (ToolCall("c", "lookup", {"query": object()}),)),
        ModelReply("x", (ToolCall("c", "lookup", {"query": float("nan")}),)),
        ModelReply(None),  # type: ignore[arg-type]
        None,
    ],
    ids=["object", "nan", "no-text", "none"],
)
def test_what_is_no_reply_is_the_models_failure(place: Any, rig: Any, worker: ChildSpec, reply: Any) -> None:
    """A model client that returns what cannot cross gives the same reason at both levels."""
    traces = []
    for launch in (None, place.host.launch):
        made = rig({"worker": [reply]})
        runtime = replace(made.runtime, launch=launch) if launch else made.runtime
        result = place.run(delegate(runtime, scope(), worker, {"request": "find it"}))
        assert (str(result.status), result.errors) == ("failed", ("model_failed",))
        traces.append(told(made))
    assert traces[0] == traces[1]


def test_an_entry_of_the_users_has_model_tools_and_a_declared_result(live: Live) -> None:
    """It asks over its link; undeclared outputs are dropped and reported."""
    ended = live("clean")
    assert ended.result.key_outputs == {"answer": 'said {"amount":1}'}
    (pollution,) = ended.made.watcher.named("pollution")
    assert pollution[2].path == "key_outputs.scratch"


def test_what_was_dropped_is_told_the_same_in_batches(place: Any, rig: Any, worker: ChildSpec) -> None:
    """More undeclared fields than are told singly: as at the level inline, their rest as a number."""
    text = json.dumps({"answer": "x", **{f"k{n}": n for n in range(1500)}})
    spec = replace(worker, contract=replace(worker.contract, context_window_size=50_000))
    traces = []
    for launch in (inline, place.host.launch):
        made = rig({"worker": [ModelReply(text)]}, limits=RunLimits(timeout_ms=20_000))
        place.run(delegate(replace(made.runtime, launch=launch), scope(), spec, {"request": "x"}))
        traces.append(made.watcher.named("pollution"))
    assert traces[0] == traces[1]
    assert len(traces[0]) > 200


def test_a_child_process_is_given_nothing_but_its_pipe(live: Live) -> None:
    """Environment, arguments, folder and descriptors say nothing of parent or task."""
    os.environ["ISOLATION_KIT_TEST_SECRET"] = SECRET
    try:
        answer = live("surroundings").result.key_outputs["answer"]
    finally:
        del os.environ["ISOLATION_KIT_TEST_SECRET"]
    environment, arguments, argv, folder, open_ = eval(answer)
    assert set(environment) <= {"PATH", "LC_ALL"}
    assert SECRET not in answer
    assert "hello" not in arguments
    assert (argv, folder) == (["-c"], "/")
    assert [name for name, _ in open_] == ["0", "1", "2", "3"]
    assert {path for name, path in open_ if name != "3"} == {"/dev/null"}


def test_each_child_is_a_new_process_in_a_session_of_its_own(place: Any, live: Live) -> None:
    """Two delegations never share one."""
    first, second = ([int(n) for n in live("ids").result.key_outputs["answer"].split()] for _ in range(2))
    assert first[0] != second[0]
    assert first[1] == second[1] == place.zygote
    assert first[0] == first[2]


def test_cancelling_the_delegation_kills_the_child(place: Any, rig: Any, spec: Any) -> None:
    """The awaiting task ends cancelled, with the child gone and its death told."""
    made = rig({"silent": [ModelReply("")]})
    runtime = replace(made.runtime, launch=place.host.launch)

    async def cancelled() -> None:
        task = asyncio.create_task(delegate(runtime, scope(), spec("silent"), {"request": "x"}))
        while not made.watcher.named("context_born"):
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    place.run(cancelled())
    assert place.left() == 0
    assert made.watcher.named("context_died") == [("silent", "cancelled")]


def test_many_at_once_do_not_meet(place: Any, rig: Any, spec: Any) -> None:
    """Eight concurrent children answer each its own task."""

    class Echo:
        async def reply(self, request: Any) -> ModelReply:
            await asyncio.sleep(0.01)
            return ModelReply(request.messages[0].content)

    made = rig({"clean": [ModelReply("")]}, limits=RunLimits(timeout_ms=20_000))
    runtime = replace(made.runtime, model=lambda agent: Echo(), launch=place.host.launch)
    tasks = [delegate(runtime, scope(), spec("clean"), {"request": f"task {n}"}) for n in range(8)]

    async def all_of_them() -> Any:
        return await asyncio.gather(*tasks)

    answers = [result.key_outputs["answer"] for result in place.run(all_of_them())]
    assert answers == [f'task {n} {{"amount":1}}' for n in range(8)]


def test_a_dead_zygote_takes_its_children_along_and_is_replaced(
    place: Any, rig: Any, spec: Any, live: Live
) -> None:
    """The running delegation is told `killed`; the next one gets a new zygote."""
    live("clean")
    old = place.zygote
    made = rig(
        {"fork_in_group": [ModelReply("")], "silent": [ModelReply("")]}, limits=RunLimits(timeout_ms=20_000)
    )
    runtime = replace(made.runtime, launch=place.host.launch)

    async def killed() -> Any:
        task = asyncio.create_task(delegate(runtime, scope(), spec("silent"), {"request": "x"}))
        while not made.watcher.named("context_born"):
            await asyncio.sleep(0.005)
        children = children_of(old)
        os.kill(old, signal.SIGKILL)
        return children, await task

    children, result = place.run(killed())
    assert (result.status, result.errors) == ("killed", ("killed",))
    assert len(children) >= 1
    assert all(gone(child) for child in children)
    assert live("clean").outcome == ("succeeded", ())
    assert place.zygote != old


def test_a_closed_host_leaves_no_process(rig: Any, worker: ChildSpec) -> None:
    """After `async with` the zygote is gone and reaped."""
    made = rig({"worker": [ModelReply("42")]})

    async def once() -> int:
        async with ProcessHost() as host:
            runtime = replace(made.runtime, launch=host.launch)
            await delegate(runtime, scope(), worker, {"request": "x"})
            assert host._zygote is not None
            return host._zygote.pid

    assert gone(asyncio.run(once()))


def test_a_host_of_another_loop_is_refused(place: Any, rig: Any, worker: ChildSpec, live: Live) -> None:
    """The error says what to do instead."""
    live("clean")
    made = rig({"worker": [ModelReply("42")]})
    runtime = replace(made.runtime, launch=place.host.launch)
    with pytest.raises(UsageError, match="each loop its own host"):
        asyncio.run(delegate(runtime, scope(), worker, {"request": "x"}))


def test_seams_within_the_child_cannot_be_replaced(place: Any, rig: Any, worker: ChildSpec) -> None:
    """A leaky twin would be silently clean: it is refused instead."""
    made = rig({"worker": [ModelReply("42")]}, parts=replace(CLEAN, child_context=lambda brief, parent: ()))
    runtime = replace(made.runtime, launch=place.host.launch)
    with pytest.raises(UsageError, match="child_context"):
        place.run(delegate(runtime, scope(), worker, {"request": "x"}))


def test_a_leaky_seam_of_the_parents_is_seen_at_this_level_too(
    place: Any, rig: Any, worker: ChildSpec
) -> None:
    """The checks above can fail: headers made of the parent's metadata reach the model."""
    made = rig(
        {"worker": [ModelReply("42")]},
        parts=replace(CLEAN, child_headers=lambda brief, parent: parent.metadata),
    )
    runtime = replace(made.runtime, launch=place.host.launch)
    place.run(delegate(runtime, scope(), worker, {"request": "x"}))
    assert SECRET in repr(made.scripts["worker"].requests)


def test_a_module_that_cannot_be_preloaded_is_told(rig: Any, worker: ChildSpec) -> None:
    """The zygote does not start, and the error names the parameter."""
    made = rig({"worker": [ModelReply("42")]})

    async def once() -> None:
        async with ProcessHost(preload=("no_such_module",)) as host:
            await delegate(replace(made.runtime, launch=host.launch), scope(), worker, {"request": "x"})

    with pytest.raises(UsageError, match="preload"):
        asyncio.run(once())


def test_a_dead_parent_leaves_no_process() -> None:
    """Killed without a chance to clean up: its zygote, the child, and what fled from the child are gone."""
    here = Path(__file__).parent
    parent = subprocess.Popen(
        [sys.executable, here / "dying_parent.py"],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": os.pathsep.join([str(here.parents[2]), str(here)])},
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) >= 3
    assert not any(gone(pid, seconds=0) for pid in pids)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert all(gone(pid) for pid in pids)


def test_another_platform_is_told_what_to_use_everywhere(
    rig: Any, worker: ChildSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is started there, and the error names the level that works."""
    monkeypatch.setattr(sys, "platform", "darwin")
    made = rig({"worker": [ModelReply("42")]})
    runtime = replace(made.runtime, launch=ProcessHost().launch)
    with pytest.raises(UsageError, match="launch=inline"):
        asyncio.run(delegate(runtime, scope(), worker, {"request": "x"}))


@pytest.mark.parametrize("long", [False, True], ids=["short", "shelved"])
def test_a_layer_hands_down_from_its_own_process(
    place: Any, rig: Any, worker: ChildSpec, tmp_path: Path, long: bool
) -> None:
    """A layer, its leaf and a shelved output give the same events at both levels."""
    layer = replace(worker, name="layer", children=(ByTask(worker),))
    answer = ModelReply("word. " * 300 if long else "done")
    traces = []
    for launch in (inline, place.host.launch):
        scripts = {"layer": [ModelReply("", (ToolCall("c", "task", {"task": "sub"}),)), answer]}
        made = rig(
            {**scripts, "worker": [ModelReply("leaf")]}, limits=RunLimits(tool_output=500, timeout_ms=20_000)
        )
        artifacts = Artifacts(tmp_path, made.runtime.digest)
        runtime = replace(made.runtime, launch=launch, artifacts=artifacts)
        result = place.run(delegate(runtime, scope(), layer, {"request": "find it"}))
        assert (result.status, bool(result.artifacts)) == ("succeeded", long)
        assert "leaf" in made.scripts["layer"].requests[-1].messages[-1].content
        traces.append(seen(made))
    assert traces[0][1] == traces[1][1]
    assert [name for name, _ in traces[0][0]] == [name for name, _ in traces[1][0]]


def test_a_looping_child_raises_the_same_alarm(place: Any, rig: Any, worker: ChildSpec, calls: Any) -> None:
    """The child sees the loop; the parent, which knows the chain, raises the alarm."""
    traces = []
    for launch in (inline, place.host.launch):
        made = rig({"worker": [calls()]}, limits=RunLimits(timeout_ms=20_000))
        result = place.run(delegate(replace(made.runtime, launch=launch), scope(), worker, {"request": "x"}))
        assert result.errors == ("loop_detected",)
        traces.append(told(made))
    assert traces[0] == traces[1]
    assert [name for name, _ in traces[0] if name == "alarm"] == ["alarm"]
