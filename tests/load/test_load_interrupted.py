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

_CHILD = """
import os, signal, sys, time
if sys.argv[1] == "deaf":
    os.fork()
open(f"{sys.argv[1]}-{os.getpid()}", "w").close()
sys.stdin.read() if sys.argv[1] != "deaf" else time.sleep(60)
sys.exit(4)
"""
_PARENT = """
import sys
from isolation_kit.load.process import run
ended = run((sys.executable, "-c", sys.argv[1], sys.argv[2]), patience=0.5)
print(ended.code, ended.asked > 0)
"""


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


def test_an_interrupted_run_is_inconclusive(service: str, tmp_path: Path) -> None:
    """Ctrl-C in mid-run of plain Locust: exit code 4, told everywhere, and no traceback."""
    (tmp_path / "users.py").write_text(_USERS, "utf-8")
    with _begun(tmp_path, *_LOCUST, "--isolation-output", "out", "--host", service) as run:
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


def test_a_run_whose_parent_is_killed_ends(service: str, tmp_path: Path) -> None:
    """SIGKILL of `isolation-kit load` alone: Locust writes the report of what was, and ends."""
    with _begun(tmp_path, *_LOAD, "--host", service) as run:
        os.kill(run.pid, signal.SIGKILL)
        out, err = run.communicate(timeout=60)  # until the last process with these pipes has ended
    assert "interrupted after" in out, out + err
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert all("interrupted after" in item["cut"] for item in report["items"])


@pytest.mark.parametrize(
    ("name", "number"), [("hears", signal.SIGINT), ("hears", signal.SIGTERM), ("deaf", signal.SIGTERM)]
)
def test_a_signal_ends_the_whole_group(name: str, number: signal.Signals, tmp_path: Path) -> None:
    """A child that is asked to end does so with its own code; one that does not is killed, workers too."""
    words = (sys.executable, "-c", _PARENT, _CHILD, name)
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        ends = time.monotonic() + 30
        while len(list(tmp_path.iterdir())) < (2 if name == "deaf" else 1) and time.monotonic() < ends:
            time.sleep(0.02)
        parent.send_signal(number)
        parent.send_signal(number)  # as `timeout` does: to the process, and to its group
        out, _ = parent.communicate(timeout=30)  # the pipe is closed when nobody of the group is left
    assert out == ("-9 True\n" if name == "deaf" else "4 True\n")
