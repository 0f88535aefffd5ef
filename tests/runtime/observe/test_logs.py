"""Files of lines, the trace log with its sample, the decision log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from isolation_kit.errors import UsageError
from isolation_kit.runtime import ModelReply
from isolation_kit.runtime.hooks import Decision
from isolation_kit.runtime.observe import (
    Decided,
    DecisionLog,
    LineFile,
    Names,
    RawTraces,
    Span,
    Trace,
    TraceLog,
    Where,
    read_decisions,
    read_lines,
    read_snapshots,
    read_traces,
)


def trace(number: int, status: str = "succeeded") -> Trace:
    """A trace of one delegation."""
    span = Span("delegation", "worker", "", 0, -1, 1.0, 0.25, status, "t_0123456789abcdef", 5, 6, 0, 1)
    return Trace(f"{number:032x}", (tuple(span),), status != "succeeded", 0.25)


def test_each_failure_is_kept_and_of_the_rest_a_share(tmp_path: Path) -> None:
    """About a tenth of 1,000 good traces, the same ones in each process; all of five failures."""
    file = LineFile(tmp_path / "t.jsonl")
    log = TraceLog(file, share=0.1)
    good = [trace(number) for number in range(1000)]
    bad = [trace(5000 + number, "timeout") for number in range(5)]
    for each in (*good, *bad):
        log.trace_ended(each)
    file.flush()
    read = read_traces(tmp_path / "t.jsonl")
    assert [each for each in read if each.failed] == bad
    kept = [each for each in read if not each.failed]
    assert 70 < len(kept) < 130
    assert set(kept) == {each for each in good if crc32(each.trace_id.encode()) < 0.1 * 2**32}
    assert kept[0].spans == good[0]._replace(trace_id=kept[0].trace_id).spans


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")], ids=["negative", "above one", "nan"])
def test_an_impossible_share_is_refused(share: float) -> None:
    """Allowed is 0 to 1."""
    with pytest.raises(UsageError, match="0 to 1"):
        TraceLog(print, share=share)


def test_raw_keeps_failures_only_and_forgets_unended_traces(tmp_path: Path) -> None:
    """A good trace leaves no file; 300 traces that never end do not pile up."""
    here = Where("0" * 32)
    raw = RawTraces(tmp_path, lambda: here)
    for number in range(300):
        here = Where(f"{number:032x}")
        raw.model_replied("worker", ModelReply("text"))
    raw.trace_ended(Trace(f"{299:032x}", (), failed=False, seconds=0.0))
    raw.trace_ended(Trace(f"{298:032x}", (), failed=True, seconds=0.0))
    raw.trace_ended(Trace(f"{0:032x}", (), failed=True, seconds=0.0))
    assert [path.name for path in tmp_path.iterdir()] == [f"{298:032x}.jsonl"]


def test_raw_is_bounded(tmp_path: Path) -> None:
    """Of a flood a megabyte is kept, and the cut is marked; what is no JSON is named, not raised."""
    here = Where("a" * 32)
    raw = RawTraces(tmp_path, lambda: here)
    raw.context_crossed("worker", "up", b"\xff")
    for _ in range(5):
        raw.model_replied("worker", ModelReply("x" * 400_000))
    raw.trace_ended(Trace("a" * 32, (), failed=True, seconds=0.0))
    lines = read_lines(tmp_path / f"{'a' * 32}.jsonl", dict)
    assert [line["kind"] for line in lines] == ["crossed up", "reply", "reply", "cut"]


def test_decisions_are_logged_with_their_candidates(watched: Any) -> None:
    """A declared name is shown, an invented one is a digest; the trace id joins it to the rest."""
    made = watched({"worker": [ModelReply("42")]}, names=("query", "export"), share=1.0)
    hooks = made.watching.hooks
    retried = Decision("retry", "retry", ("retry", "give_up"), "timeout", 2, "transient", 3)
    hooks.state_entered("parent", "idle")
    hooks.decided("parent", Decision("route", "query", ("query", "export", "invented"), "query"))
    hooks.decided("parent", retried)
    hooks.state_entered("parent", "done")
    made.flush()
    route, retry = read_decisions(made.folder / "decisions.jsonl")
    (whole,) = read_traces(made.folder / "traces.jsonl")
    assert route.decision.candidates[:2] == ("query", "export")
    assert route.decision.candidates[2].startswith("#")
    assert retry == Decided("parent", whole.trace_id, retried)


def test_a_torn_line_is_dropped_and_the_next_stands_alone(tmp_path: Path) -> None:
    """A killed writer left half a line: readers do not see it, and the next writer cuts it off."""
    path = tmp_path / "lines"
    path.write_bytes(b'{"a": 1}\n{"b": ')
    assert read_lines(path, dict) == ({"a": 1},)
    file = LineFile(path)
    file('{"c": 3}')
    file.close()
    assert read_lines(path, dict) == ({"a": 1}, {"c": 3})


def test_a_foreign_line_is_refused_without_its_text(tmp_path: Path, names: Names) -> None:
    """The message names the line's number and the way out, not what stands there."""
    path = tmp_path / "lines"
    file = LineFile(path)
    DecisionLog(file, names, Where).decided("parent", Decision("route", "", (), ""))
    file.close()
    for reader in (read_snapshots, read_traces):
        with pytest.raises(UsageError, match="line 1 of lines"):
            reader(path)
    path.write_text("secret words\n")
    with pytest.raises(UsageError) as caught:
        read_decisions(path)
    assert "secret" not in str(caught.value)


def test_a_full_disk_loses_lines_and_breaks_no_run(tmp_path: Path) -> None:
    """The loss is counted, for a log that lacks lines must not look whole."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    file = LineFile(tmp_path / "lines")
    os.dup2(os.open(full, os.O_WRONLY), file._file)
    file("{}")
    file("{}")
    file.flush()
    assert file.lost == 2


def test_an_old_file_is_closed_to_others_and_a_link_is_refused(tmp_path: Path) -> None:
    """Mode 0600 holds for a file that was there before; a link could lead anywhere."""
    path = tmp_path / "lines"
    path.touch(mode=0o644)
    LineFile(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="link"):
        LineFile(tmp_path / "link")
