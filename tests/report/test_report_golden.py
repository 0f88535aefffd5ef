"""The committed sample is what the faces write today."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from regenerate import REPORTS, golden

from isolation_kit.report import html, load, markdown, terminal

NAMES = ("sample.report.json", "sample.report.md", "sample.report.html", "sample.report.txt")


@pytest.mark.parametrize("name", NAMES)
def test_golden_file_is_current(name: str) -> None:
    """Each face writes the committed bytes; run `python tests/report/regenerate.py` after a wanted change."""
    committed = (REPORTS / name).read_text(encoding="utf-8")
    assert golden()[name] == committed


def test_golden_report_loads_and_shows_the_same() -> None:
    """A report read from its file shows the same bytes as the one that was built."""
    report = load(REPORTS / "sample.report.json")
    faces = (markdown(report), html(report), terminal(report, color=False, width=100))
    assert faces == tuple(golden()[name] for name in NAMES[1:])


@pytest.mark.parametrize("seed", ["0", "4242"])
def test_hash_seed_changes_no_byte(seed: str, tmp_path: Path) -> None:
    """The same outcomes give the same bytes under any hash seed."""
    here = Path(__file__).parent
    script = (
        "from regenerate import golden; from pathlib import Path; "
        f"[Path({str(tmp_path)!r}, n).write_text(t, encoding='utf-8') for n, t in golden().items()]"
    )
    path = os.pathsep.join((str(here), str(here.parents[1])))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    for name in NAMES:
        assert (tmp_path / name).read_text(encoding="utf-8") == (REPORTS / name).read_text(encoding="utf-8")
