"""The document: its schema, its file, and what a broken file says."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_samples import LEAKS, Leak, Made, clean_twin, leaky, report, sample

from isolation_kit.errors import UsageError
from isolation_kit.report import Timing, dump, load
from isolation_kit.report.document import check
from isolation_kit.scenario import TurnPlan


@pytest.mark.parametrize("made", [[], [leaky()], [clean_twin()], [leaky(), clean_twin()]], ids=len)
def test_what_build_returns_matches_the_schema(made: list[Any]) -> None:
    """Every document matches the committed schema, the one over nothing too."""
    assert check(report(made)) == ""


def test_dump_and_load_round_trip(tmp_path: Path) -> None:
    """A report read from its file is the report that was written."""
    path = tmp_path / "report.json"
    path.write_text(dump(sample()), encoding="utf-8")
    assert load(path) == sample()
    assert dump(load(path)) == dump(sample())


def test_times_stand_in_their_block_only() -> None:
    """Two runs that differ in time alone differ in the timing block alone."""
    one, two = report([leaky()]), report([leaky()], timing=Timing("2027-01-01T00:00:00Z", 99.0, 98.0, {}))
    assert {key for key in one if one[key] != two[key]} == {"timing"}


def test_order_of_outcomes_changes_no_byte() -> None:
    """Workers may finish in any order."""
    assert dump(report([leaky(), clean_twin()])) == dump(report([clean_twin(), leaky()]))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"schema": "isolation-kit/report/9"}', '{"schema": NaN}', '{"a": 1, "a": 2}'],
    ids=["empty", "torn", "list", "version", "nan", "duplicate"],
)
def test_broken_file_is_refused(text: str, tmp_path: Path) -> None:
    """A broken report names the file and the way out."""
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"report\.json.*run the audit again"):
        load(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """So does a file that is not there."""
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "none.json")


def test_refusal_tells_the_place_and_never_the_value(tmp_path: Path) -> None:
    """The schema's own message would show the value."""
    broken = copy.deepcopy(sample())
    broken["items"][0]["verdict"] = "sk-live-secret"
    path = tmp_path / "report.json"
    path.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(UsageError, match=r"items\.0\.verdict \(rule 'enum'\)") as caught:
        load(path)
    assert "sk-live" not in str(caught.value)


def test_every_leak_has_its_class_and_its_smallest_case() -> None:
    """A field by its name, a slot by its class, and the case that a person can read."""
    rows = {row["what"]: row for row in report([leaky()])["fingerprints"] if row["state"] == "leak"}
    assert rows["field.debug.trace_id"]["class"] == rows["parent.tool.noise"]["class"] == "trace-ids"
    assert rows["user.earlier"]["class"] == "parent-history"
    assert all(row["smallest"]["conversation"] for row in rows.values())


def test_share_counts_cases_of_able_oracles() -> None:
    """175 of 200 cases are structural; a leak in each of them has a share of 1 over n = 175."""
    rows = report([Made(leaks=LEAKS[:1]).outcome()])["fingerprints"]
    assert [row["structural"]["n"] for row in rows] == [175]
    assert rows[0]["structural"]["share"] == 1.0
    assert 0.9 < rows[0]["structural"]["low"] < 1.0


def test_a_token_in_clear_is_told_before_a_smaller_count() -> None:
    """Of two families that show one leak, the case where the token stands is its smallest."""
    made = [
        Made(family="one", order=1, cases=20, leaks=(Leak("user.earlier", "child.request"),)).outcome(),
        Made(
            family="two",
            order=2,
            cases=20,
            leaks=(Leak("user.earlier", "child.request", oracle="conservation", form="length or shape"),),
        ).outcome(),
    ]
    (case,) = made[1].smallest
    bare = replace(case.scenario, turns=(TurnPlan(0, "hi"),))
    made[1] = replace(made[1], smallest=(replace(case, scenario=bare, pair=(bare, case.scenario)),))
    for outcomes in (made, made[::-1]):
        (row,) = report(outcomes)["fingerprints"]
        assert row["smallest"]["oracle"] == "canary"
