"""Whatever a service answers is judged, error or not: each leaky twin leaks, and no clean one does."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.load.conftest import ROOT, environment


@cache
def told() -> Any:
    """What two users of each service count."""
    words = (sys.executable, str(Path(__file__).with_name("hostile.py")))
    done = subprocess.run(
        words, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("service", "form", "kind"),
    [
        ("error 500", "verbatim", "status 500"),
        ("error 404", "verbatim", "status 404"),
        ("half", "verbatim", "broke off"),
        ("no head", "header", "no answer"),
        ("trailer", "header", ""),
        ("extension", "header", ""),
        ("interim", "header", ""),
        ("long head", "header", "too long or not readable"),
    ],
)
def test_what_arrived_is_judged(service: str, form: str, kind: str) -> None:
    """Of four answers three show what another user said before; they stay what they are: good or failed."""
    leaky, clean = told()[service]["leaky"], told()[service]["clean"]
    assert (leaky["leaks"], leaky["forms"]) == (3, [form])
    assert (clean["leaks"], clean["forms"]) == (0, [])
    failed = {kind: 4} if kind else {}
    assert leaky["failed"] == clean["failed"] == failed


def test_a_refused_request_shows_nothing_of_an_earlier_answer() -> None:
    """Nobody judged the earlier one; it is not judged as what came next."""
    assert told()["refused"] == [True, False]
