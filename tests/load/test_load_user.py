"""A service of one's own, with cookie sessions: what its user hears is judged, whatever `say` returns."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.load.conftest import ROOT, environment, serving


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What each kind of user counted at the leaky twin and at the clean one."""
    service = str(Path(__file__).with_name("session_service.py"))
    with serving(tmp_path_factory.mktemp("sessions"), sys.executable, service) as url:
        words = (sys.executable, "-m", "tests.load.played", url)
        done = subprocess.run(
            words, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120, check=False
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) | {"stderr": done.stderr}


def test_an_answer_that_is_not_returned_is_judged(played: Any) -> None:
    """The turn leaks, the history that `say` returns does not: a LEAK; at the clean twin nothing is found."""
    leaky, clean = played["besides leaky"], played["besides clean"]
    assert leaky["leaks"] > 0 == clean["leaks"] == leaky["losses"] == clean["losses"]
    assert leaky["rows"]["turn failed"] == leaky["leaks"]  # the turn's own row says so
    assert clean["checked"] == clean["rows"]["turn ok"] + clean["rows"]["/chat ok"] + 3  # and three logins
    assert leaky["failed"] == clean["failed"] == {}


def test_a_login_outlasts_reconnects_and_what_is_broken_off(played: Any) -> None:
    """Who logs in once, and who does as the README shows, is never refused; one login a session."""
    assert played["besides clean"]["rows"]["/login ok"] == 3
    clean, leaky = played["opened clean"], played["opened leaky"]
    assert clean["rows"]["/login ok"] == leaky["rows"]["/login ok"] == 6  # of three users in two sessions
    assert (clean["leaks"], clean["losses"], clean["failed"]) == (0, 0, {})
    assert leaky["leaks"] > 0


def test_what_is_broken_off_is_the_turn_and_no_failure(played: Any) -> None:
    """Of each turn its own request; the login and the question before it come to their end, are judged."""
    for twin, leaks in (("leaky", True), ("clean", False)):
        one = played[f"broken off {twin}"]
        assert one["rows"] == {"/login ok": 3, "/chat ok": 27}
        assert (one["broken off"], one["failed"], one["leaks"] > 0) == (27, {}, leaks)
    assert played["opened clean"]["broken off"] > 0
    assert not [row for row in played["opened clean"]["rows"] if "failed" in row]


def test_what_say_raises_is_told_once_and_masked(played: Any) -> None:
    """Type, file, line and text, and that nothing was returned: a line each, though three users met them."""
    (place,) = {kind for kind in played["faulty clean"]["failed"] if "ValueError" in kind}
    assert re.fullmatch(r"a turn raised ValueError in say \(played\.py, line \d+\)", place)
    assert played["faulty clean"]["failed"] == {place: 6, "say returned no response": 6}
    told = played["stderr"].splitlines()
    assert len(told) == 4  # each twin is a run of its own
    for raised, returned in (told[:2], told[2:]):
        assert raised.startswith(f"{place}: password=‹secret› refused: ")
        assert "‹canary›" in raised
        assert len(raised) <= len(place) + 202
        assert returned.startswith("say(turn, how) returned NoneType; it must return")


def test_help_and_readme_say_what_how_holds(played: Any) -> None:
    """All of it, by name; and which client it is for."""
    words = (sys.executable, "-m", "isolation_kit.cli", "load", "--help")
    shown = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True).stdout
    for name in (*played["how"], "FastHttpUser"):
        assert name in shown
        assert name in (ROOT / "README.md").read_text("utf-8")
