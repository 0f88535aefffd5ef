"""The journal: on disk before it is announced, readable after any end, honest about what is missing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolation_kit.errors import ConfigError
from isolation_kit.finding import Finding, Fingerprint
from isolation_kit.journal import Journal, read
from isolation_kit.scenario import Scenario, TurnPlan

SCENARIO = Scenario("cross-user", "two-subjects", 7, (TurnPlan(0, "hello"),))


def leak(what: str = "user.current") -> Finding:
    """A finding that differs by its slot."""
    return Finding(Fingerprint("support", "support>billing", what, "child.request", "down"), "canary")


def write(path: Path, *slots: str) -> None:
    """One case a slot."""
    with Journal(path) as journal:
        for index, slot in enumerate(slots):
            journal.case("cross-user[support]", 0, index, SCENARIO, [leak(slot)])


@given(st.lists(st.sampled_from(["user.current", "parent.text", "x.é"]), max_size=8))
@settings(deadline=None, max_examples=30)
def test_what_was_written_is_read(tmp_path_factory, slots: list[str]):
    """All cases come back in order, the scenario once for each fingerprint."""
    path = tmp_path_factory.mktemp("journal") / "main.jsonl"
    write(path, *slots)
    reading = read(path)
    assert [entry.findings[0].fingerprint.what for entry in reading.entries] == slots
    assert [entry.scenario for entry in reading.entries if entry.scenario] == [SCENARIO] * len(set(slots))
    assert (reading.torn, reading.broken_at) == (False, 0)


def test_a_case_without_findings_leaves_no_line(tmp_path: Path):
    """The journal holds what was found, nothing else."""
    with Journal(tmp_path / "j.jsonl") as journal:
        journal.case("sweep[support]", 0, 0, SCENARIO, [])
    assert (tmp_path / "j.jsonl").read_bytes() == b""


def test_only_the_owner_may_read_it(tmp_path: Path):
    """0600, whatever the umask."""
    write(tmp_path / "j.jsonl", "user.current")
    assert stat.S_IMODE((tmp_path / "j.jsonl").stat().st_mode) == 0o600


@given(st.integers(1, 200))
@settings(deadline=None, max_examples=30)
def test_a_torn_last_line_costs_that_line_only(tmp_path_factory, cut: int):
    """A kill in the middle of a write is tolerated and told, and the next writer goes on."""
    path = tmp_path_factory.mktemp("journal") / "main.jsonl"
    write(path, "user.current", "parent.text")
    path.write_bytes(path.read_bytes()[:-cut])
    assert [entry.index for entry in read(path).entries] == ([0, 1] if cut == 1 else [0])
    assert (read(path).torn, read(path).broken_at) == (True, 0)
    write(path, "parent.state")
    again = read(path)
    assert again.entries[-1].findings == (leak("parent.state"),)
    assert again.broken_at == 0


def test_a_removed_line_is_seen(tmp_path: Path):
    """The chain names the first line that does not follow, and the rest is still given."""
    path = tmp_path / "j.jsonl"
    write(path, "user.current", "parent.text", "parent.state")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    reading = read(path)
    assert reading.broken_at == 2
    assert [entry.index for entry in reading.entries] == [0, 2]


def test_a_changed_line_is_seen(tmp_path: Path):
    """The line after a changed one does not follow it."""
    path = tmp_path / "j.jsonl"
    write(path, "user.current", "parent.text")
    path.write_bytes(path.read_bytes().replace(b"user.current", b"user.earlier"))
    assert read(path).broken_at == 2


def test_kill_dash_nine_costs_nothing_announced(tmp_path: Path):
    """What a process has printed as found stands in its journal after SIGKILL."""
    path = tmp_path / "j.jsonl"
    code = (
        "import sys; from pathlib import Path; from tests.test_journal import *\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "for index in range(10**6):\n"
        "    journal.case('i', 0, index, SCENARIO, [leak()])\n"
        "    print(index, flush=True)\n"
    )
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, cwd=root, text=True
    )
    announced = [int(process.stdout.readline()) for _ in range(50)]
    os.kill(process.pid, signal.SIGKILL)
    announced += [int(line) for line in process.communicate()[0].split("\n")[:-1]]
    written = [entry.index for entry in read(path).entries]
    assert written[: len(announced)] == announced


def test_an_unwritable_place_says_what_to_do(tmp_path: Path):
    """A file where the folder should be: one message with the way out."""
    (tmp_path / "taken").write_text("")
    with pytest.raises(ConfigError, match="output"):
        Journal(tmp_path / "taken" / "j.jsonl")


@pytest.mark.parametrize("line", [b"[" * 100_000, b"\xff", b'{"item": 1, "findings": [3]}'])
def test_a_damaged_line_costs_that_line_only(tmp_path: Path, line: bytes):
    """Whatever stands there, the others are read and the damage is told."""
    path = tmp_path / "main.jsonl"
    write(path, "user.current", "parent.text")
    first, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([first, line, second, b""]))
    reading = read(path)
    assert len(reading.entries) == 2
    assert reading.torn or reading.broken_at == 2


def test_a_patched_module_loses_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A target may replace what it likes in `json` and `os`."""
    import json

    monkeypatch.setattr(json, "dumps", lambda *_, **__: "{}")
    monkeypatch.setattr(json, "loads", lambda *_: {})
    monkeypatch.setattr(os, "write", lambda _, data: len(data))
    write(tmp_path / "main.jsonl", "user.current")
    assert len(read(tmp_path / "main.jsonl").entries) == 1
