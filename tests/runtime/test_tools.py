"""Tool replies: strict JSON, declared fields, a limit that keeps the document whole, reasons for texts."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import (
    ChildSpec,
    ModelReply,
    ParentScope,
    RunLimits,
    ToolCall,
    ToolSpec,
    delegate,
    task_tool,
)
from isolation_kit.runtime.fields import AllowList
from isolation_kit.runtime.log import CHILD_LOGGER
from isolation_kit.runtime.text import keyed_digest
from isolation_kit.runtime.tools import call_tool, filter_tool_result

DIGEST = keyed_digest(b"k")
TOOL = ToolSpec(
    "lookup",
    "Look it up.",
    fields=AllowList(
        {
            "type": "object",
            "properties": {
                "note": {"type": "string"},
                "lines": {"type": "array", "items": {"type": "string"}},
            },
        }
    ),
)
readable = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)


@given(readable, st.lists(readable, max_size=5), st.integers(100, 400))
def test_a_long_reply_is_cut_and_stays_json(note: str, lines: list[str], limit: int) -> None:
    """Within the limit, readable, and whole if it fits."""
    raw = json.dumps({"note": note, "lines": lines}, ensure_ascii=False)
    seen = filter_tool_result(raw, TOOL, limit, DIGEST)
    assert len(seen.text) <= limit
    assert isinstance(json.loads(seen.text), dict)


@given(st.text(max_size=60))
def test_text_that_is_no_strict_json_gives_a_reason_only(raw: str) -> None:
    """Nothing of a refused reply is seen."""
    seen = filter_tool_result(f"SECRET{raw}", TOOL, 400, DIGEST)
    assert (seen.reason, seen.text) == ("not_strict_json", '{"error":"not_strict_json"}')


@pytest.mark.parametrize(
    "raw",
    [
        '{"note": "a"} // SECRET',
        '{"note": "a" /* SECRET */}',
        '{"note": "a"} {"note": "SECRET"}',
        '{"note": "a", "note": "SECRET"}',
        '{"note": NaN, "SECRET": 1}',
        '{"note": "SECRET \\ud83d"}',
        "[" * 100 + '"SECRET"' + "]" * 100,
        '"SECRET"',
        '["SECRET"]',
    ],
    ids=["comment", "inner", "tail", "duplicate", "nan", "surrogate", "deep", "string", "list"],
)
def test_lenient_readings_are_refused(raw: str) -> None:
    """What two parsers could read in two ways, and what is no object, goes nowhere."""
    seen = filter_tool_result(raw, TOOL, 400, DIGEST)
    assert seen.reason
    assert "SECRET" not in seen.text


def test_a_text_tool_cuts_at_its_own_limit_after_extraction() -> None:
    """A page is reduced to what matters first, and then cut."""
    page = ToolSpec("page", "Read.", text_limit=30, extract=lambda raw: raw.split("<main>")[1])
    seen = filter_tool_result("<nav>noise</nav><main>" + "x" * 90, page, 4000, DIGEST)
    assert seen.text.startswith("xxx")
    assert len(seen.text) == 30
    assert "noise" not in seen.text


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"text_limit": 30},
        {"extract": str.strip},
        {"text_limit": 30, "extract": str.strip, "fields": AllowList({"type": "object"})},
        {"delegates": True, "fields": AllowList({"type": "object"})},
        {"text_limit": 30, "extract": str.strip, "timeout_ms": 0},
    ],
    ids=["nothing", "no extractor", "no limit", "both", "delegating", "no time"],
)
def test_a_tool_declares_fields_or_text_with_limit_and_extractor(declared: dict[str, Any]) -> None:
    """There is no unbounded reply, and no page whose top is taken for what matters."""
    with pytest.raises(ValueError, match="text_limit"):
        ToolSpec("page", "Read.", **declared)


def test_a_tool_that_delegates_has_no_reply_of_its_own() -> None:
    """What a child answers passes the bridge; a text in its place is refused."""
    assert filter_tool_result("SECRET", task_tool("Hand down."), 400, DIGEST).text == '{"error":"not_text"}'


@pytest.mark.parametrize(
    ("extract", "reason"),
    [
        (lambda raw: raw.split("<main>")[1], "extract_failed"),
        (lambda raw: raw.encode(), "extract_failed"),
        (lambda raw: None, "extract_failed"),
        (lambda raw: raw + "\ud83d", "not_utf8"),
    ],
    ids=["raises", "bytes", "none", "surrogate"],
)
def test_an_extractor_that_fails_shows_nothing_of_the_page(extract: Any, reason: str) -> None:
    """A page that nobody foresaw costs its reply, not the isolation."""
    page = ToolSpec("page", "Read.", text_limit=30, extract=extract)
    seen = filter_tool_result("SECRET", page, 400, DIGEST)
    assert (seen.reason, seen.text) == (reason, f'{{"error":"{reason}"}}')


@given(st.lists(readable, min_size=1, max_size=30), st.integers(60, 4000))
def test_no_item_of_a_list_is_left_out(lines: list[str], limit: int) -> None:
    """Free texts are cut with a mark; a list that is shorter would show nowhere."""
    seen = filter_tool_result(json.dumps({"lines": lines}), TOOL, limit, DIGEST)
    assert seen.reason in ("", "too_large")
    assert seen.reason or len(json.loads(seen.text)["lines"]) == len(lines)


@given(readable, st.from_regex(r"[A-Za-z0-9_-]{30,64}", fullmatch=True), st.integers(100, 300))
def test_an_identifier_in_a_reply_is_whole_or_not_there(note: str, identifier: str, limit: int) -> None:
    """A cut identifier could be another user's."""
    string = {"type": "string"}
    names = ("note", "user_id", "order_ids")
    kinds = (string, string, {"type": "array", "items": string})
    tool = ToolSpec(
        "t", "d", fields=AllowList({"type": "object", "properties": dict(zip(names, kinds, strict=True))})
    )
    raw = json.dumps({"note": note, "user_id": identifier, "order_ids": [identifier]})
    seen = filter_tool_result(raw, tool, limit, DIGEST)
    assert seen.reason == "too_large" or json.loads(seen.text)["user_id"] == identifier
    assert seen.reason == "too_large" or json.loads(seen.text)["order_ids"] == [identifier]


@pytest.mark.parametrize(
    "raw", ['{"note": "' + "x" * 20_000_000 + '"}', "[" * 20_000_000], ids=["text", "deep"]
)
def test_megabytes_cost_bounded_work(raw: str) -> None:
    """Refused by length, before a byte is copied, parsed or handed to an extractor."""
    page = ToolSpec("page", "Read.", text_limit=30, extract=lambda text: pytest.fail("it was read"))
    tracemalloc.start()
    seen = [filter_tool_result(raw, tool, 50_000, DIGEST) for tool in (TOOL, page)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [one.reason for one in seen] == ["too_large", "too_large"]
    assert peak < 100_000


def test_a_thousand_pairs_that_cannot_be_cut_are_refused() -> None:
    """Where no cut makes it fit, there is a reason."""
    many = AllowList({"type": "object", "properties": {f"n{i}": {"type": "number"} for i in range(99)}})
    raw = json.dumps({f"n{i}": 10**9 for i in range(99)})
    seen = filter_tool_result(raw, ToolSpec("t", "d", fields=many), 200, DIGEST)
    assert seen.reason == "too_large"


def _raising(query: str) -> str:
    raise RuntimeError(f"SECRET {query}")


def _exiting(query: str) -> str:
    raise SystemExit("SECRET")


def _cancelling(query: str) -> str:
    raise asyncio.CancelledError("SECRET")


def _late(query: str) -> str:
    raise TimeoutError("SECRET")


class _Odd:
    def __str__(self) -> str:
        return "SECRET"


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        (_raising, {"query": "q"}, "tool_failed"),
        (_exiting, {"query": "q"}, "tool_failed"),
        (_cancelling, {"query": "q"}, "tool_failed"),
        (_late, {"query": "q"}, "tool_failed"),
        (b"SECRET", {"query": "q"}, "not_text"),
        (None, {"query": "q"}, "not_text"),
        (math.nan, {"query": "q"}, "not_text"),
        ({"note": "SECRET"}, {"query": "q"}, "not_text"),
        (_Odd(), {"query": "q"}, "not_text"),
        ('{"note": NaN, "SECRET": 1}', {"query": "q"}, "not_strict_json"),
        ('["SECRET"]', {"query": "q"}, "undeclared_type"),
        ("SECRET" * 200_000, {"query": "q"}, "too_large"),
        ("{}", {"query": 3}, "bad_arguments"),
        ("{}", {"user_id": "SECRET"}, "bad_arguments"),
        ("{}", {"query": "\ud83d"}, "bad_arguments"),
    ],
    ids=[
        "raises",
        "exits",
        "cancels itself",
        "own timeout",
        "bytes",
        "none",
        "nan",
        "dict",
        "object",
        "nan in json",
        "json list",
        "megabytes",
        "number",
        "undeclared",
        "surrogate",
    ],
)
def test_a_failing_call_gives_a_reason(
    rig: Callable[..., Any],
    tool: Any,
    arguments: dict[str, Any],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Neither the model nor the log reads the error's text."""
    made = rig({}, tool)
    seen = asyncio.run(call_tool(made.runtime, "worker", "t_1", TOOL, ToolCall("c", "lookup", arguments)))
    assert json.loads(seen) == {"error": reason}
    assert "SECRET" not in caplog.text


@pytest.mark.parametrize(
    "bad",
    [_raising, _exiting, b"SECRET", math.nan, "[" * 99 + '"SECRET"', '{"SECRET": NaN}', "SECRET" * 200_000],
    ids=["raises", "exits", "bytes", "nan", "deep", "nan in json", "megabytes"],
)
def test_nothing_of_a_bad_tool_is_in_any_context(
    rig: Callable[..., Any],
    worker: ChildSpec,
    calls: Callable[..., ModelReply],
    bad: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Neither the child's model, the parent, the log nor a watcher gets a word; the child goes on."""
    caplog.set_level(logging.DEBUG)
    made = rig({"worker": [calls(), ModelReply("done")]}, bad)
    result = asyncio.run(delegate(made.runtime, ParentScope("u", "s"), worker, {"request": "x"}))
    reply = made.scripts["worker"].requests[1].messages[-1].content
    assert (result.status, result.key_outputs) == ("succeeded", {"answer": "done"})
    assert json.loads(reply).keys() == {"error"}
    assert "SECRET" not in f"{made.scripts}{result}{caplog.text}{made.watcher.calls}"


def test_what_a_tool_prints_is_in_no_context(
    rig: Callable[..., Any],
    worker: ChildSpec,
    calls: Callable[..., ModelReply],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It goes where the process prints, and the reply is what the tool returned."""
    made = rig({"worker": [calls(), ModelReply("done")]}, lambda query: print("SECRET") or '{"amount": 1}')
    result = asyncio.run(delegate(made.runtime, ParentScope("u", "s"), worker, {"request": "x"}))
    assert made.scripts["worker"].requests[1].messages[-1].content == '{"amount":1}'
    assert "SECRET" not in f"{made.scripts}{result}{caplog.text}{made.watcher.calls}"


def test_a_tool_that_hangs_gives_a_reason_and_the_child_goes_on(
    rig: Callable[..., Any], worker: ChildSpec, calls: Callable[..., ModelReply]
) -> None:
    """Its time ends before the child's does: the inner limit is the shorter one."""

    async def hang(query: str) -> str:
        return await asyncio.sleep(60, "SECRET")

    made = rig({"worker": [calls(), ModelReply("done")]}, limits=RunLimits(timeout_ms=250))
    runtime = replace(made.runtime, tool=lambda name, agent: hang)
    result = asyncio.run(delegate(runtime, ParentScope("u", "s"), worker, {"request": "x"}))
    assert made.scripts["worker"].requests[1].messages[-1].content == '{"error":"tool_timeout"}'
    assert (result.status, result.key_outputs) == ("succeeded", {"answer": "done"})


def test_the_inner_limit_runs_from_the_childs_beginning(
    rig: Callable[..., Any], worker: ChildSpec, calls: Callable[..., ModelReply]
) -> None:
    """Two calls share it: what the first one took, the second one has no more."""
    seconds = iter((0.3, 60))

    async def slow(query: str) -> str:
        return await asyncio.sleep(next(seconds), '{"amount": 1}')

    made = rig(
        {"worker": [calls(1, query="a"), calls(2, query="b"), ModelReply("done")]},
        limits=RunLimits(timeout_ms=600),
    )
    runtime = replace(made.runtime, tool=lambda name, agent: slow)
    result = asyncio.run(delegate(runtime, ParentScope("u", "s"), worker, {"request": "x"}))
    first, last = (request.messages[-1].content for request in made.scripts["worker"].requests[1:])
    assert (first, last) == ('{"amount":1}', '{"error":"tool_timeout"}')
    assert result.status == "succeeded"


def test_a_tools_own_time_limit_holds_for_a_parent_too(rig: Callable[..., Any]) -> None:
    """Without a contract there is still an end."""

    async def hang(query: str) -> str:
        return await asyncio.sleep(60, "SECRET")

    runtime = replace(rig({}).runtime, tool=lambda name, agent: hang)
    quick = replace(TOOL, timeout_ms=20)
    seen = asyncio.run(call_tool(runtime, "parent", "", quick, ToolCall("c", "lookup", {"query": "q"})))
    assert seen == '{"error":"tool_timeout"}'


def test_a_cancelled_child_is_not_held_up_by_its_tool(rig: Callable[..., Any]) -> None:
    """Only a cancellation that nobody asked for is a failure of the tool."""

    async def main() -> None:
        runtime = replace(rig({}).runtime, tool=lambda name, agent: lambda query: asyncio.sleep(60, "x"))
        call = ToolCall("c", "lookup", {"query": "q"})
        task = asyncio.create_task(call_tool(runtime, "worker", "t_1", TOOL, call))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("level", "kinds"),
    [("DEBUG", ["request", "failure", "request"]), ("ERROR", ["failure"]), ("CRITICAL", [])],
    ids=["debug", "error", "critical"],
)
def test_the_contracts_log_level_takes_effect(
    rig: Callable[..., Any],
    worker: ChildSpec,
    calls: Callable[..., ModelReply],
    caplog: pytest.LogCaptureFixture,
    level: str,
    kinds: list[str],
) -> None:
    """What is below the child's level is written nowhere, whatever the logging library would let through."""
    caplog.set_level(logging.DEBUG)
    made = rig({"worker": [calls(), ModelReply("done")]}, _raising)
    quiet = replace(worker, contract=replace(worker.contract, log_level=level))
    asyncio.run(delegate(made.runtime, ParentScope("u", "s"), quiet, {"request": "x"}))
    assert [line.split()[0] for _, line in made.watcher.named("log_line")] == kinds
    written = [record.getMessage() for record in caplog.records if record.name == CHILD_LOGGER]
    assert [line.split()[0] for line in written] == kinds


def test_undeclared_fields_are_reported_with_their_tool(rig: Callable[..., Any]) -> None:
    """POLLUTION_DETECTED names the tool that sent the field."""
    made = rig({}, '{"note": "a", "trace_id": "x"}')
    seen = asyncio.run(
        call_tool(made.runtime, "worker", "t_1", TOOL, ToolCall("c", "lookup", {"query": "q"}))
    )
    ((agent, task_id, dropped, tool),) = made.watcher.named("pollution")
    assert (agent, task_id, dropped.path, tool) == ("worker", "t_1", "trace_id", "lookup")
    assert seen == '{"note":"a"}'
