"""Whole load runs: Locust, a service, the side channel, the report and the exit code."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from isolation_kit.journal import read
from tests.load.conftest import ROOT, loaded, served, serving, swarmed

_BLOCK = re.compile(r"^```python\n(# locustfile.py\n.*?)^```$", re.DOTALL | re.MULTILINE)


def _report(folder: Path) -> Any:
    return json.loads((folder / ".isolation" / "report.json").read_text("utf-8"))


def test_the_clean_service_passes(tmp_path: Path) -> None:
    """Exit code 0; answers and what children saw were judged; nothing leaked, failed or was missed."""
    with served(tmp_path, "--record", "token", "--parents", "4", "--latency", "20") as url:
        code, told, text = loaded(tmp_path, url, "--users", "4", "--time", "1s", "--recording", "token")
    counted = told["counters"]
    assert (code, told["verdict"]) == (0, "PASS"), text
    assert [counted[name] for name in ("leaks", "losses", "failed", "missed_views")] == [0, 0, 0, 0]
    assert counted["checked"] > counted["sent"] - counted["abandoned"] > 0
    report = _report(tmp_path)
    assert {item["family"] for item in report["items"]} >= {"load-cross-user", "load-recorded-views"}
    assert report["pollution"]["rate"] > 0
    assert (tmp_path / "token").read_text() not in text


def test_workers_count_a_leaky_twin_to_the_last(tmp_path: Path) -> None:
    """Exit code 1; the master's leaks are as many as the workers wrote into their findings logs."""
    options = ("--users", "8", "--time", "2s", "--processes", "2")
    with served(tmp_path, "--twin", "shared-identity", "--parents", "4", "--latency", "20") as url:
        code, told, text = loaded(tmp_path, url, *options)
    assert code == 1, text
    logs = list((tmp_path / ".isolation" / "journal").glob("*.jsonl"))
    entries = [entry for log in logs for entry in read(log).entries]
    leaky = [entry for entry in entries if any(found.kind == "LEAK" for found in entry.findings)]
    assert told["counters"]["leaks"] == len(leaky) > 0
    assert "findings logs only" not in (tmp_path / ".isolation" / "report.json").read_text("utf-8")
    assert "child.answer" in text


def test_the_readmes_user_finds_the_leak_of_a_hostile_service(tmp_path: Path) -> None:
    """Plain `locust -f`: the mix-up is a LEAK; bad answers are failures, no loss; their cookies leak, too."""
    (example,) = _BLOCK.findall((ROOT / "README.md").read_text("utf-8"))
    (tmp_path / "locustfile.py").write_text(example, "utf-8")
    service = str(Path(__file__).with_name("chat_service.py"))
    with serving(tmp_path, sys.executable, service) as url:
        code, told, text = swarmed(tmp_path, url, "--isolation-tolerance", "0.5")
    assert code == 1, text
    assert told["counters"]["leaks"] > 0
    leaks = [row for row in _report(tmp_path)["fingerprints"] if row["kind"] == "LEAK"]
    assert {row["direction"] for row in leaks} == {"across"}
    assert {form for row in leaks for form in row["forms"]} == {"verbatim", "header"}
    assert set(told["failures"]) == {"status 500", "status 503", "too long or not readable", "broke off"}
