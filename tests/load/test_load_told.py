"""What a load run says: from how many users on, what to do, the same load again, and figures that agree."""

from __future__ import annotations

import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from isolation_kit.cli import main
from isolation_kit.content import load_attacks
from isolation_kit.load.counts import Counts
from isolation_kit.load.metrics import Pollution
from isolation_kit.load.run import Run
from isolation_kit.load.settings import LoadSettings
from isolation_kit.load.summary import Load, told
from isolation_kit.report import terminal
from isolation_kit.service.twins import TWINS

_COMMAND = "isolation-kit load --host http://127.0.0.1:8089 --users 8"

_attacks = cache(load_attacks)


def reported(folder: Path, *, leaks: bool, leaks_from: int = 0) -> str:
    """Terminal and Markdown report of one exchange, with another user's token in it or not."""
    settings = LoadSettings(7, output=folder / "out", families=("cross-user",), command=_COMMAND)
    run = Run(settings, attacks=_attacks())
    run.begin()
    ann, bob = run.take(), run.take()
    mine, other = ann.next(), bob.next()
    run.sent()
    run.response(mine, " ".join((*mine.required, *(other.required if leaks else ()))).encode(), complete=True)
    run.total = run.counts.take()
    load = Load(users={0: 8}, leaks_from=leaks_from)
    report = run.finish(load, recorded=False, command=("test",)).report
    return f"{terminal(report)}\n{(folder / 'out' / 'report.md').read_text('utf-8')}"


@pytest.mark.parametrize(("leaks_from", "said"), [(0, "at up to 8 users."), (3, "from 3 users on.")])
def test_a_leak_is_told_with_its_users_and_the_load_to_run_again(
    leaks_from: int, said: str, tmp_path: Path
) -> None:
    """No replay, which a service has none of: key by user, load again, and a ramp where there was none."""
    text = " ".join(reported(tmp_path, leaks=True, leaks_from=leaks_from).split())
    assert said in text
    assert f"Then load again: {_COMMAND}" in text
    assert ("load --ramp finds" in text) == (leaks_from == 0)
    assert "Key every store" in text
    assert "1 kind of leak in 1 exchange" in text
    assert "First cases, not reduced" in text
    assert not any(word in text for word in ("eplay", "[[allow]]", "mallest case", "generated"))


def test_a_pass_names_its_users_and_nothing_that_only_an_audit_has(tmp_path: Path) -> None:
    """No cells to open with a stage that a load run has not."""
    text = reported(tmp_path, leaks=False)
    assert "checked exchange, at up to 8 users" in " ".join(text.split())
    assert "stage.text" not in text
    assert "COVERAGE" not in text
    assert "Key every store" not in text


def test_the_figures_of_a_run_agree() -> None:
    """What came in before or after anybody was counted has a row too; failures are told by kind."""
    counts = Counts()
    for second in range(6):
        counts.checked("cross-user", second, ())
    for kind in ("status 401", "a turn raised KeyError"):
        counts.add("failed", kind)
    lines = told(counts, Load(users={0: 0, 2: 1, 3: 4, 5: 0}))
    assert "failed requests: 2 (a turn raised KeyError 1, status 401 1)" in lines
    assert [line for line in lines if line.startswith("at ")] == [
        "at 1 user: 0 leaks in 3 checked (0.0000%)",
        "at 4 users: 0 leaks in 3 checked (0.0000%)",
    ]
    assert any(line.startswith("6 responses were searched") for line in lines)


def test_a_service_without_metrics_is_asked_once() -> None:
    """Its log is not ours to fill."""
    asked = []

    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Foreign) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        pollution = Pollution(f"http://127.0.0.1:{server.server_port}")
        for second in range(4):
            pollution.read(second)
        server.shutdown()
    assert asked == ["/metrics"]


def test_serve_names_its_twins(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """All that there are."""
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["serve", "--help"]) == 0
    text = capsys.readouterr().out
    assert [twin.name for twin in TWINS if twin.name not in text] == []
