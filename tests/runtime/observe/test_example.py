"""The worked example in the docstring of `observe` runs, and does what it says."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.runtime import observe
from isolation_kit.runtime.observe import read_decisions, read_traces


@pytest.mark.skipif(sys.platform != "linux", reason="child processes need Linux")
def test_the_worked_example_runs(tmp_path: Path) -> None:
    """Parent, child process, store and observers: the answer is the one that it names."""
    code = textwrap.dedent((observe.__doc__ or "").partition("A whole system, watched:\n\n")[2])
    names: dict[str, Any] = {}
    exec(code, names)
    assert f'# "{names["main"](tmp_path)}"' in code
    assert (tmp_path / "observed").stat().st_mode & 0o777 == 0o700
    (decided,) = read_decisions(tmp_path / "observed" / "decisions.jsonl")
    assert (decided.agent, decided.decision.chosen, decided.decision.reason) == ("desk", "bills", "bill")
    assert not any(trace.failed for trace in read_traces(tmp_path / "observed" / "traces.jsonl"))
