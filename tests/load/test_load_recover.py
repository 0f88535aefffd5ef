"""A load run that is killed loses nothing that it found: `report --recover` makes its report."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from isolation_kit.cli import main
from tests.load.conftest import environment

_KILLED = """
import os, signal, sys
from pathlib import Path
from isolation_kit.load.run import Run
from isolation_kit.load.settings import LoadSettings

run = Run(LoadSettings(7, output=Path("out")))
run.begin()
ann, bob = run.take(), run.take()
for _ in range(int(sys.argv[1])):
    mine, other = ann.next(), bob.next()
    run.response(mine, " ".join((*mine.required, *other.required)).encode(), complete=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _loads(child: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """`isolation-kit load` in `folder`, with `child` in Locust's place."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.setattr("isolation_kit.load.command.locust_command", lambda *_: child)
    return main(["load", "--host", "http://127.0.0.1:9", "--output", "out"])


def test_a_run_killed_before_it_began_advises_nothing_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No word of `--recover`; whoever calls it all the same is told that nothing was found there."""
    child = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert _loads(child, tmp_path, monkeypatch) == 3
    assert "--recover" not in capsys.readouterr().err
    assert main(["report", "out/report.json", "--recover"]) == 2
    assert "out holds no part and no findings log" in capsys.readouterr().err


@pytest.mark.parametrize("leaks", [3, 0])
def test_a_killed_run_is_recovered_or_told_to_be_empty(
    leaks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 and a report of what was found, as `load` advised; 2 for a run that had found nothing."""
    assert _loads((sys.executable, "-c", _KILLED, str(leaks)), tmp_path, monkeypatch) == 3
    assert ("isolation-kit report out/report.json --recover" in capsys.readouterr().err) == (leaks > 0)
    code = main(["report", "out/report.json", "--recover"])
    told = capsys.readouterr()
    if not leaks:
        assert code == 2
        assert "load again" in told.err
        assert not (tmp_path / "out" / "report.json").exists()
        return
    assert code == 1
    assert "3 leaks and 0 losses were found" in told.out
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert {row["kind"] for row in report["fingerprints"]} == {"LEAK"}
    assert "was killed" in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert main(["report", "out/report.json", "--recover"]) == 2
    assert "came to its end" in capsys.readouterr().err
