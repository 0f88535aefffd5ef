"""Children that mean harm: the right status, a reason code, nothing left, and the next child is well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Live = Callable[..., Any]
SECRET = "secret-5d1c"
DOWN = {"delegation_began", "context_crossed", "context_born"}  # these show the brief, which holds it


@pytest.fixture(autouse=True)
def nothing_left(place: Any, live: Live) -> Iterator[None]:
    """After each test the zygote has no child, and a clean one still works."""
    yield
    assert place.left() == 0
    assert live("clean").outcome == ("succeeded", ())


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("fill_memory", ("killed", ("memory_limit",))),
        ("fill_memory_and_catch", ("killed", ("memory_limit",))),
        ("one_large_block", ("killed", ("memory_limit",))),
        ("fill_memory_in_a_fork", ("killed", ("memory_limit",))),
        ("huge_frame", ("killed", ("output_limit",))),
        ("many_logs", ("killed", ("output_limit",))),
        ("crash", ("killed", ("killed",))),
        ("many_frames", ("failed", ("bad_frame",))),
        ("garbage", ("failed", ("bad_frame",))),
        ("half_a_frame", ("failed", ("pipe_closed",))),
        ("close_pipe", ("failed", ("pipe_closed",))),
        ("raising", ("failed", ("child_crashed",))),
        ("model_for_ever", ("needs_review", ("round_limit",))),
    ],
)
def test_the_end_of_a_hostile_child_is_told_by_its_cause(live: Live, name: str, outcome: Any) -> None:
    """Killed, failed and stopped are told apart, and nothing that the child said is in result or hooks."""
    ended = live(name, SECRET)
    assert ended.outcome == outcome
    assert ended.result.key_outputs == {}
    seen = [args for call, args in ended.made.watcher.calls if call not in DOWN]
    assert SECRET not in repr((ended.result, seen))
    assert ended.seconds < 15


@pytest.mark.parametrize("name", ["silent", "deaf", "stopped", "fork_tree_and_hang"])
def test_past_its_time_a_child_is_killed_whatever_it_ignores(live: Live, name: str) -> None:
    """A timeout ends sleeping, deaf and stopped children, and a deaf tree in sessions of its own."""
    ended = live(name, timeout_ms=700)
    assert ended.outcome == ("timeout", ("timeout",))
    assert ended.seconds < 5


@pytest.mark.parametrize("name", ["fork_in_group", "fork_and_flee", "program"])
def test_what_a_child_forked_dies_with_it(live: Live, name: str) -> None:
    """The result counts; the process that was left behind, fled or not, is gone when it arrives."""
    assert live(name).outcome == ("succeeded", ())


def test_a_child_writes_no_file(live: Live, tmp_path: Path) -> None:
    """It may make an empty one, as the same user; not a byte of its task gets in."""
    live("leave_file", str(tmp_path))
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [0]


def test_what_a_child_logs_is_written_as_size_and_digest(live: Live) -> None:
    """Its own words do not reach the log."""
    ended = live("tell_log", SECRET)
    (line,) = [args[1] for args in ended.made.watcher.named("log_line")]
    assert line.startswith(f"log agent=tell_log characters={len('saw ' + SECRET)} digest=")


def test_a_tool_that_was_not_offered_is_refused(live: Live) -> None:
    """The parent looks the tool up in the brief, not in what the child says."""
    ended = live("foreign_tool")
    assert ended.result.key_outputs == {"answer": '{"error":"unknown_tool"}'}
    assert ended.made.watcher.named("tool_called") == []
