"""A load run that is ended before its time says so, is never green, and leaves no process behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.load.conftest import environment, served

_LOAD = ("-m", "isolation_kit.cli", "load", "--users", "2", "--time", "45s", "--output", "out")
_USERS = "from isolation_kit.load import ServiceUser\n\n\nclass User(ServiceUser):\n    pass\n"
_LOCUST = ("-m", "locust", "-f", "users.py", "--headless", "-u", "2", "-t", "45s")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A clean service that answers slowly enough to be no load."""
    with served(tmp_path_factory.mktemp("service"), "--latency", "100") as url:
        yield url


def _begun(folder: Path, *words: str) -> subprocess.Popen[str]:
    """A run whose users have had answers."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    run = subprocess.Popen(
        (sys.executable, *words), cwd=folder, env=environment(), start_new_session=True, text=True, **pipes
    )
    ends = time.monotonic() + 30
    while not (folder / "out" / "run.json").exists() and time.monotonic() < ends:
        time.sleep(0.05)
    time.sleep(1)
    return run


@pytest.mark.parametrize("words", [(*_LOCUST, "--isolation-output", "out")], ids=["locust"])
def test_an_interrupted_run_is_inconclusive(words: tuple[str, ...], service: str, tmp_path: Path) -> None:
    """Ctrl-C in mid-run: exit code 4, why on the terminal and in the report, and no traceback."""
    (tmp_path / "users.py").write_text(_USERS, "utf-8")
    with _begun(tmp_path, *words, "--host", service) as run:
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 4, out + err
    assert re.search(r"interrupted after \d+ of 45 s", out)
    assert "Traceback" not in err
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert all("interrupted after" in item["cut"] for item in report["items"])
    told = json.loads((tmp_path / "out" / "load.json").read_text("utf-8"))
    assert (told["verdict"], told["counters"]["leaks"]) == ("INCONCLUSIVE", 0)
    assert told["counters"]["checked"] > 0
