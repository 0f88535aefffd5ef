"""The baseline file: flat, readable, strict."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import leaky, report

from isolation_kit.errors import UsageError
from isolation_kit.report import Baseline

ENTRIES = st.dictionaries(
    st.text("0123456789abcdef", min_size=12, max_size=12), st.text(st.characters(codec="utf-8"), max_size=40)
)


@given(ENTRIES)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, entries: dict[str, str]) -> None:
    """What is dumped is read back."""
    path = tmp_path_factory.getbasetemp() / "baseline.json"
    path.write_text(Baseline(entries).dump(), encoding="utf-8")
    assert Baseline.load(path) == Baseline(entries)


def test_one_line_an_entry_with_its_text() -> None:
    """A diff of two baselines reads as a list of leaks."""
    text = Baseline.of(report([leaky()])).dump()
    lines = [line for line in text.splitlines() if "LEAK" in line]
    assert len(lines) == 3
    assert any("user.earlier -> child.request (down) at support>writer" in line for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": "isolation-kit/baseline/2", "fingerprints": {}}',
        '{"schema": "isolation-kit/baseline/1", "fingerprints": {"zz": "text"}}',
        '{"schema": "isolation-kit/baseline/1", "fingerprints": {"0123456789ab": 1}}',
    ],
    ids=["empty", "list", "version", "id", "text"],
)
def test_broken_baseline_is_refused(text: str, tmp_path: Path) -> None:
    """One clear message with the way out."""
    path = tmp_path / "baseline.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="--isolation-update-baseline"):
        Baseline.load(path)


def test_missing_baseline_is_refused(tmp_path: Path) -> None:
    """A slip in the path is no empty baseline."""
    with pytest.raises(UsageError, match="cannot be read"):
        Baseline.load(tmp_path / "none.json")
