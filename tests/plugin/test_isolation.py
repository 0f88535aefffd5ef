"""`pytest --isolation`: what is collected, what passes, what fails, and how that reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXIT = pytest.ExitCode


def test_isolation_alone_passes_on_a_clean_system(project, inner):
    """`pytest --isolation isolation.toml` runs the sweep and the families, and exits 0."""
    project("clean")
    result = inner("--isolation", "isolation.toml", "-v")
    assert result.ret == EXIT.OK
    result.stdout.fnmatch_lines(["*isolation.toml::sweep?clean? PASSED*", "*cross-user?clean? PASSED*"])
    result.stdout.fnmatch_lines(["PASS *0 leaks*"])


def test_isolation_fails_on_the_leaky_twin(project, inner):
    """A leak fails its item, in plain words and without a traceback."""
    folder = project("leaky")
    result = inner("--isolation")
    assert result.ret == EXIT.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "LEAK: * fingerprints, in * cases",
            "  LEAK user.current -> child.request (down) at boss>aide: *",
            "  smallest case: .isolation/cases/*.json",
            "  replay: isolation-kit replay .isolation/cases/*.json",
            "  report: .isolation/report.html",
        ]
    )
    result.stdout.fnmatch_lines(["FAILED isolation.toml::sweep?leaky? - IsolationFailure: LEAK: *"])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert json.loads((folder / ".isolation/report.json").read_text())["verdict"] == "LEAK"


def test_isolation_adds_the_audit_to_the_users_suite(project, inner):
    """`pytest --isolation` without arguments runs the user's tests and the audit, each once."""
    folder = project("clean")
    (folder / "test_mine.py").write_text("def test_mine():\n    pass\n")
    inner("--isolation").assert_outcomes(passed=3)


def test_isolation_obeys_testpaths(project, inner):
    """With `testpaths` in the user's settings the audit is still added."""
    folder = project("clean")
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = checks\n")
    (folder / "checks").mkdir()
    (folder / "checks/test_mine.py").write_text("def test_mine():\n    pass\n")
    inner("--isolation").assert_outcomes(passed=3)


def test_isolation_items_are_selected_by_node_id(project, inner):
    """One item can be named."""
    project("clean")
    result = inner("--isolation", "isolation.toml::cross-user[clean]", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*isolation.toml::cross-user?clean? PASSED*"])


def test_isolation_items_are_selected_by_keyword(project, inner):
    """`-k` knows family and target."""
    project("clean", "leaky")
    inner("--isolation", "isolation.toml", "-k", "sweep and clean").assert_outcomes(passed=1, deselected=3)


def test_isolation_writes_every_report_and_hides_the_folder_from_git(project, inner):
    """report.json, .md and .html always, and a .gitignore of the kit's own."""
    folder = project("clean")
    inner("--isolation", "isolation.toml")
    names = {path.name for path in (folder / ".isolation").iterdir()}
    assert {"report.json", "report.md", "report.html", "parts", "cases", "journal"} <= names
    assert (folder / ".isolation/.gitignore").read_text() == "*\n"


def test_isolation_evidence_travels_as_references(project, inner):
    """JUnit gets the item and its part, no finding and no payload."""
    folder = project("leaky")
    inner("--isolation", "isolation.toml", "-k", "sweep", "--junitxml=out.xml")
    text = (folder / "out.xml").read_text()
    assert "sweep[leaky]" in text
    assert ".isolation/parts/leaky.sweep.json" in text


def test_isolation_shows_nothing_that_the_target_printed(project, inner):
    """A target's output may hold a payload or an escape sequence: it is in no section of a failure."""
    project("talking")
    result = inner("--isolation", "isolation.toml", "-k", "sweep")
    assert result.ret == EXIT.TESTS_FAILED
    assert "printed by the target" not in result.stdout.str()


def test_isolation_of_a_folder_without_an_audit_is_refused(project, inner):
    """`pytest --isolation tests/` would audit nothing: exit 4 with the way out."""
    folder = project("clean")
    (folder / "tests").mkdir()
    (folder / "tests/test_mine.py").write_text("def test_mine():\n    pass\n")
    result = inner("--isolation", "tests")
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pytest --isolation isolation.toml*@pytest.mark.isolation*"])


def test_isolation_deselected_to_nothing_is_refused(project, inner):
    """`-k` that leaves neither an item nor a marked test is a usage error, not a green run."""
    project("clean")
    assert inner("--isolation", "-k", "no_such_item").ret == EXIT.USAGE_ERROR


def test_isolation_is_content_with_a_marked_test(project, inner):
    """A test marked `isolation` is an audit too."""
    folder = project("clean")
    (folder / "tests").mkdir()
    (folder / "tests/test_mine.py").write_text(
        "import pytest\n@pytest.mark.isolation\ndef test_mine():\n    pass\n"
    )
    result = inner("--isolation", "tests")
    assert result.ret == EXIT.OK
    result.assert_outcomes(passed=1)


def test_without_isolation_nothing_of_it_happens(project, inner):
    """Plain `pytest` collects no item and writes no folder, whatever isolation.toml says."""
    folder = project("leaky", run="nonsense = 1")
    (folder / "test_mine.py").write_text("def test_mine():\n    pass\n")
    inner().assert_outcomes(passed=1)
    assert not (folder / ".isolation").exists()


def test_the_plugin_is_invisible_until_asked_for(outer, pytester: pytest.Pytester, monkeypatch):
    """Without `--isolation` neither the kit's modules nor its libraries are imported."""
    pytester.makepyfile(
        """
        import sys
        def test_modules():
            heavy = {"hypothesis", "jsonschema", "httpx", "jinja2", "uvicorn"} & set(sys.modules)
            own = {name for name in sys.modules if name.startswith("isolation_kit")}
            assert heavy == set()
            assert own == {"isolation_kit", "isolation_kit.pytest_plugin"}
        """
    )
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    outer().assert_outcomes(passed=1)


def test_the_plugin_takes_no_name_of_others(inner, pytester: pytest.Pytester):
    """Every option and fixture carries the kit's prefix."""
    result = inner("--fixtures", "-q")
    own = [
        line.split(" ")[0]
        for line in result.stdout.lines
        if "isolation_kit/pytest_plugin" in line.split("--")[-1]
    ]
    assert sorted(own) == ["isolation_probe", "isolation_target"]


def test_isolation_stays_in_the_report_header(project, inner):
    """One line says seed, cases and targets."""
    project("clean")
    inner("--isolation", "--collect-only").stdout.fnmatch_lines(["isolation: seed 7, 5 cases*clean"])
    assert not Path(".isolation").exists()
