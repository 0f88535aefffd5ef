"""What a run says of its items: what is allowed, what the shares are of, and what takes long."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from isolation_kit.cli import audit
from isolation_kit.faces import Progress
from isolation_kit.finding import Finding, Fingerprint, Mode
from isolation_kit.outcome import Item

ITEM = Item(1, "support", "cross-user")
ALLOW = """
[[allow]]
slot = "user.current"
channel = "child.request"
child = "aide"
reason = "the aide reads the user's words"
owner = "platform"
"""


class Terminal(io.StringIO):
    """A stream that says of itself that a person looks at it."""

    def isatty(self) -> bool:
        """True."""
        return True


def finding(mode: Mode = Mode.STRUCTURAL) -> Finding:
    """One leak."""
    return Finding(
        Fingerprint("support", "support>billing", "user.current", "child.request", "down"),
        "canary",
        mode=mode,
    )


def test_replay_of_an_allowed_leak_says_so(cli, project):
    """One case that leaks; once it is allowed, the pass says how many findings an entry opened."""
    project("leaky")
    cli("run")
    rows = json.loads(Path(".isolation/report.json").read_text("utf-8"))["fingerprints"]
    case = next(row["smallest"]["file"] for row in rows if row["what"] == "user.current" and row["counts"])
    assert cli("replay", case).code == 1
    project("leaky", more=ALLOW)
    told = cli("replay", case)
    assert told.code == 0
    assert "PASS (1 allowed) replay[leaky]: 1 case\n" in told.out


def test_shares_of_fewer_cases_say_which(cli, project):
    """The sweep has one quiet case and three with parrots: `1 of 4` and `1 of 1` meet, and are explained."""
    project("leaky")
    told = cli("run").out
    assert "in 1 of 4 cases\n  without 3 parrot cases:\n" in told
    assert "at boss>aide: 1 of 1 case\n" in told


@pytest.mark.parametrize(
    ("findings", "lines"),
    [([finding()], 1), ([finding(Mode.EXPOSURE)], 0), ([], 0)],
    ids=["leak", "exposure", "clean"],
)
def test_reducing_is_told_after_the_last_case(findings: list[Finding], lines: int):
    """Once, and only if something is reduced: what parrots showed keeps its first case."""
    told: list[str] = []
    progress = Progress(told.append, patience=0)
    with progress.over(ITEM, cases=3):
        progress.heard(findings)
        progress.heard([])
        assert told == []
        progress.heard([])
        if progress._timer is not None:
            progress._timer.join()
    assert len(told) == lines
    assert all("cross-user[support]: all cases ran; reducing 1 finding" in line for line in told)


def test_short_reducing_is_not_told():
    """Nobody needs five seconds explained."""
    told: list[str] = []
    progress = Progress(told.append)
    with progress.over(ITEM, cases=1):
        progress.heard([finding()])
    assert told == []


def test_run_tells_on_a_terminal_that_it_reduces(cli, project, monkeypatch: pytest.MonkeyPatch):
    """On standard error, at once; the clean twin has nothing to reduce."""
    for name, times in (("leaky", 1), ("clean", 0)):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        project(name)
        cli("run")
        assert stream.getvalue().count(f"sweep[{name}]: all cases ran; reducing") == times


def test_run_tells_nothing_where_nobody_waits(cli, project):
    """No terminal, and less than five seconds."""
    assert audit.PATIENCE == 5
    project("leaky")
    assert "reducing" not in cli("run").err
