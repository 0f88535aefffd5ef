"""Tool replies: strict JSON, declared fields, a limit that keeps the document whole, reasons for texts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import ToolCall, ToolSpec
from isolation_kit.runtime.fields import AllowList
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


def test_a_tool_without_fields_or_limit_cannot_be_declared() -> None:
    """There is no unbounded reply."""
    with pytest.raises(ValueError, match="text_limit"):
        ToolSpec("page", "Read.")


def test_a_thousand_pairs_that_cannot_be_cut_are_refused() -> None:
    """Where no cut makes it fit, there is a reason."""
    many = AllowList({"type": "object", "properties": {f"n{i}": {"type": "number"} for i in range(99)}})
    raw = json.dumps({f"n{i}": 10**9 for i in range(99)})
    seen = filter_tool_result(raw, ToolSpec("t", "d", fields=many), 200, DIGEST)
    assert seen.reason == "too_large"


def _raising(query: str) -> str:
    raise RuntimeError(f"SECRET {query}")


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        (_raising, {"query": "q"}, "tool_failed"),
        (b"SECRET", {"query": "q"}, "not_text"),
        ("{}", {"query": 3}, "bad_arguments"),
        ("{}", {"user_id": "SECRET"}, "bad_arguments"),
        ("{}", {"query": "\ud83d"}, "bad_arguments"),
    ],
    ids=["raises", "bytes", "number", "undeclared", "surrogate"],
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


def test_undeclared_fields_are_reported_with_their_tool(rig: Callable[..., Any]) -> None:
    """POLLUTION_DETECTED names the tool that sent the field."""
    made = rig({}, '{"note": "a", "trace_id": "x"}')
    seen = asyncio.run(
        call_tool(made.runtime, "worker", "t_1", TOOL, ToolCall("c", "lookup", {"query": "q"}))
    )
    ((agent, task_id, dropped, tool),) = made.watcher.named("pollution")
    assert (agent, task_id, dropped.path, tool) == ("worker", "t_1", "trace_id", "lookup")
    assert seen == '{"note":"a"}'
