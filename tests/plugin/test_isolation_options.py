"""Each `--isolation-*` option, by its name."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

EXIT = pytest.ExitCode


def report(folder: Path) -> dict:
    """The run's own report."""
    return json.loads((folder / ".isolation/report.json").read_text())


def test_isolation_cases(project, inner):
    """The family runs exactly so many cases."""
    folder = project("clean", run="cases = 50")
    inner("--isolation", "isolation.toml", "--isolation-cases", "3", "-k", "cross-user")
    assert [item["cases"] for item in report(folder)["items"]] == [3]


def test_isolation_seed(project, inner):
    """The seed of the command line wins, and another seed draws other cases."""
    folder = project("leaky")
    cases = []
    for seed in ("1", "1", "2"):
        inner("--isolation", "isolation.toml", "--isolation-seed", seed)
        cases.append(report(folder)["tallies"])
    assert cases[0] == cases[1] != cases[2]


def test_isolation_profile(project, inner):
    """The profile of the command line stands in the report."""
    folder = project("clean")
    inner("--isolation", "isolation.toml", "-k", "sweep", "--isolation-profile", "deep")
    assert report(folder)["run"]["profile"] == "deep"


def test_isolation_max_time(project, inner):
    """The sweep runs whole, then blocks stop; what was cut is shown with its n; never green on nothing."""
    folder = project("clean", run="cases = 100000")
    result = inner("--isolation", "isolation.toml", "--isolation-max-time", "1s")
    sweep, family = report(folder)["items"]
    assert sweep["verdict"] == "PASS"
    assert family["cases"] < 100000
    assert "cut by --isolation-max-time" in family["cut"]
    assert (result.ret == EXIT.OK) is (family["cases"] > 0)


def test_isolation_report(project, inner):
    """Repeatable, each type at its place, folders made."""
    folder = project("clean")
    options = [f"--isolation-report={kind}:out/page.{kind}" for kind in ("json", "md", "html")]
    inner("--isolation", "isolation.toml", "-k", "sweep", *options)
    assert {path.name for path in (folder / "out").iterdir()} == {"page.json", "page.md", "page.html"}
    assert "sweep" in (folder / "out/page.html").read_text()


def test_isolation_update_baseline_then_fail_on_new(project, inner):
    """Known leaks pass under `new`; the file is written by a run and reads as a flat list."""
    folder = project("leaky")
    base = (
        "--isolation",
        "isolation.toml",
        "--isolation-baseline",
        "base.json",
        "--isolation-fail-on",
        "new",
    )
    # Whoever writes the baseline has asked for it, whatever the gate is.
    assert inner(*base[:4], "--isolation-update-baseline").ret == EXIT.OK
    known = json.loads((folder / "base.json").read_text())["fingerprints"]
    assert any("user.current -> child.request" in text for text in known.values())
    assert inner(*base).ret == EXIT.OK
    assert inner(*base[:4]).ret == EXIT.TESTS_FAILED


def test_isolation_fail_on_new_fails_for_a_new_leak(project, inner):
    """A leak that the baseline does not know fails."""
    folder = project("leaky")
    base = (
        "--isolation",
        "isolation.toml",
        "--isolation-baseline",
        "base.json",
        "--isolation-fail-on",
        "new",
    )
    inner(*base, "--isolation-update-baseline")
    path = folder / "base.json"
    document = json.loads(path.read_text())
    document["fingerprints"].popitem()
    path.write_text(json.dumps(document))
    result = inner(*base)
    assert result.ret == EXIT.TESTS_FAILED
    result.stdout.fnmatch_lines(["LEAK: 1 fingerprint, *"])


def test_isolation_update_baseline_of_a_part_forgets_nothing(project, inner):
    """A run of one item keeps the entries that it could not see."""
    folder = project("leaky")
    base = ("--isolation", "--isolation-baseline", "base.json", "--isolation-update-baseline")
    inner(*base, "isolation.toml")
    whole = json.loads((folder / "base.json").read_text())["fingerprints"]
    inner(*base, "isolation.toml::cross-user[leaky]", "--isolation-cases", "1")
    assert json.loads((folder / "base.json").read_text())["fingerprints"] == whole


def test_isolation_baseline_that_is_missing_is_refused(project, inner):
    """Exit 4, and how to write one."""
    project("leaky")
    result = inner("--isolation", "--isolation-baseline", "base.json")
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines(["*base.json*--isolation-update-baseline*"])


def test_isolation_fail_on_never(project, inner):
    """Leaks are reported and do not fail; an error still does."""
    folder = project("leaky", "raising")
    result = inner("--isolation", "--isolation-fail-on", "never", "-k", "sweep")
    result.assert_outcomes(passed=1, failed=1, deselected=2)
    assert report(folder)["verdict"] == "LEAK"


def test_isolation_fail_on_new_without_a_baseline_is_refused(project, inner):
    """Nothing would be known, so that everything is new: it says where to name one."""
    project("leaky")
    result = inner("--isolation", "--isolation-fail-on", "new")
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--isolation-baseline isolation-baseline.json*"])


def test_isolation_replay(project, inner):
    """The smallest case of a leak fails on the leaky system and passes on its clean twin."""
    folder = project("leaky", "clean")
    inner("--isolation", "isolation.toml", "-k", "leaky")
    before = (folder / ".isolation/report.json").read_bytes()
    (row, *_) = [row for row in report(folder)["fingerprints"] if row["counts"]]
    result = inner("--isolation", f"--isolation-replay=.isolation/cases/{row['smallest']['case']}.json", "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*replay?leaky? FAILED*", "*replay?clean? PASSED*"])
    assert (folder / ".isolation/report.json").read_bytes() == before


def test_isolation_shard(project, inner):
    """Two shards run other cases, and together all of them."""
    folder = project("clean", run="cases = 100")
    counts = []
    for shard in ("1/2", "2/2"):
        inner("--isolation", "isolation.toml", "-k", "cross-user", "--isolation-shard", shard)
        counts.append(report(folder)["items"][0]["cases"])
        assert report(folder)["run"]["shard"] == shard
    assert counts == [50, 50]


def test_isolation_reveal(project, inner):
    """Only then raw bytes are stored, of leaking cases, readable by the owner only."""
    folder = project("leaky")
    inner("--isolation", "isolation.toml", "-k", "sweep")
    assert not (folder / ".isolation/reveal").exists()
    inner("--isolation", "isolation.toml", "-k", "sweep", "--isolation-reveal")
    stored = list((folder / ".isolation/reveal").iterdir())
    assert stored
    assert {stat.S_IMODE(path.stat().st_mode) for path in stored} == {0o600}


def test_isolation_reveal_is_needed_to_see_a_token(project, inner):
    """Nothing else that a run writes holds a token."""
    folder = project("leaky")
    inner("--isolation", "isolation.toml", "--isolation-reveal")
    traces = [json.loads(path.read_text()) for path in (folder / ".isolation/reveal").iterdir()]
    tokens = {item["token"] for trace in traces for item in trace["planted"]}
    written = [path for path in folder.rglob("*") if path.is_file() and "reveal" not in path.parts]
    assert tokens
    for path in written:
        text = path.read_bytes().decode("utf-8", "replace")
        assert not [token for token in tokens if token in text], path.name


VALUES = {
    "cases": ("0", "from 1 to 1000000"),
    "seed": ("x", "whole number"),
    "profile": ("depe", "quick, ci, deep"),
    "max-time": ("5", "5m"),
    "report": ("pdf:x", "json, md, html"),
    "fail-on": ("all", "any, new, never"),
    "shard": ("3/2", "2/4"),
    "replay": ("nowhere.json", ".isolation/cases/"),
}


@pytest.mark.parametrize(("name", "value", "told"), [(n, *v) for n, v in VALUES.items()], ids=VALUES.keys())
def test_isolation_option_values_are_checked(project, inner, name: str, value: str, told: str):
    """A value that is not allowed exits 4 with what is allowed and an example."""
    project("clean")
    result = inner("--isolation", f"--isolation-{name}", value)
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{told}*"])
    assert not Path(".isolation").exists()


@pytest.mark.parametrize(
    "option",
    [
        "--isolation-replay=x.json",
        "--isolation-update-baseline",
        "--isolation-seed=3",
        "--isolation-report=md:x",
    ],
)
def test_options_that_do_something_want_isolation(project, inner, option: str):
    """Without `--isolation` they would silently do nothing."""
    project("clean")
    result = inner(option)
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines(["*without --isolation*"])


def test_reducing_is_told_past_the_capture(inner, project, monkeypatch, capfd) -> None:
    """While an item runs, pytest holds standard error; the line reaches it all the same."""
    monkeypatch.setattr("isolation_kit.pytest_plugin.waiting.PATIENCE", 0)
    project("leaky")
    inner("--isolation", "isolation.toml")
    assert "sweep[leaky]: all cases ran; reducing" in capfd.readouterr().err
