"""Writes the golden sample anew: `python tests/report/regenerate.py`, after a wanted change of a face."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from report_samples import sample

from isolation_kit.report import dump, html, markdown, terminal

REPORTS = Path(__file__).parents[2] / "reports"


def golden() -> Mapping[str, str]:
    """File name to text, for all files of the sample."""
    report = sample()
    return {
        "sample.report.json": dump(report),
        "sample.report.md": markdown(report),
        "sample.report.html": html(report),
        "sample.report.txt": terminal(report, color=False, width=100),
    }


if __name__ == "__main__":
    for name, text in golden().items():
        (REPORTS / name).write_text(text, encoding="utf-8", newline="\n")
