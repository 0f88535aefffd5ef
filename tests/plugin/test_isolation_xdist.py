"""Under xdist: the same findings, told once, and a killed worker loses nothing that was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("xdist", reason="pytest-xdist is not installed")


def findings(folder: Path) -> str:
    """The report without what a run may differ in: its times and its command line."""
    report = json.loads((folder / ".isolation/report.json").read_text())
    for block in (report["run"], *report["run"]["parts"]):
        block.pop("command")
    report.pop("timing")
    return json.dumps(report, sort_keys=True)


def test_two_workers_find_the_same_bytes(project, outer):
    """With `-n 2` and without: equal findings, and one summary."""
    folder = project("leaky", "clean")
    outer("--isolation", "isolation.toml")
    alone = findings(folder)
    result = outer("--isolation", "isolation.toml", "-n", "2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=2, failed=2)
    assert findings(folder) == alone
    assert len([line for line in result.outlines if line.startswith("reports: ")]) == 1


def test_a_killed_worker_loses_nothing_found(project, outer):
    """SIGKILL in the middle of a family: the sweep's part stands, and the findings log fills the gap."""
    folder = project("dying", run="cases = 200")
    result = outer("--isolation", "isolation.toml", "-n", "1", "--max-worker-restart=0")
    assert result.ret != pytest.ExitCode.OK
    report = json.loads((folder / ".isolation/report.json").read_text())
    sweep, family = report["items"]
    assert (sweep["verdict"], family["verdict"]) == ("LEAK", "LEAK")
    assert "worker process died" in family["error"]
    assert family["cases"] > 0


def test_nothing_to_audit_is_a_usage_error_under_xdist_too(project, outer):
    """The workers tell the controller, which exits 4 with the way out."""
    folder = project("clean")
    (folder / "tests").mkdir()
    (folder / "tests/test_mine.py").write_text("def test_mine():\n    pass\n")
    result = outer("--isolation", "tests", "-n", "1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*pytest --isolation isolation.toml*"])
