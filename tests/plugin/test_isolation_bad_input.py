"""What is wrong gets one clear message with the way out and never exit 0; what was found before is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isolation_kit.finding import Finding, Fingerprint
from isolation_kit.scenario import Scenario, TurnPlan

EXIT = pytest.ExitCode


def verdicts(folder: Path) -> dict[str, str]:
    """Verdict by item of the run's own report."""
    report = json.loads((folder / ".isolation/report.json").read_text())
    return {f"{item['family']}[{item['target']}]": item["verdict"] for item in report["items"]}


def test_a_missing_configuration(pytester: pytest.Pytester, inner):
    """Exit 4 and how to get one; the built-in runtime is never tested instead."""
    result = inner("--isolation")
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no isolation.toml*isolation-kit init*"])


def test_a_named_configuration_that_is_missing(pytester: pytest.Pytester, inner):
    """The name that was given is in the message."""
    result = inner("--isolation", "other.toml")
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no other.toml*"])


CONFIGURATIONS = {
    "broken": ("[run", "*no TOML*"),
    "unknown key": ("[run]\ncase = 1\n", "*did you mean 'cases'*"),
    "unknown module": ('[[target]]\nname="a"\nfactory="nowhere_at_all:x"\n', "*no module 'nowhere_at_all'*"),
    "unknown family": (
        '[run]\nfamilies=["cros-user"]\n[[target]]\nname="a"\n'
        'factory="isolation_kit.targets.reference:reference_task"\n',
        "*did you mean 'cross-user'*",
    ),
    "unknown child": (
        '[[target]]\nname="a"\nfactory="isolation_kit.targets.reference:reference_task"\n'
        '[[allow]]\nslot="user.current"\nchannel="result"\nchild="wroker"\nreason="r"\nowner="o"\n',
        "*did you mean 'worker'*",
    ),
    "content folder": (
        '[content]\nattacks=["mine"]\n[[target]]\nname="a"\n'
        'factory="isolation_kit.targets.reference:reference_task"\n',
        "*content folder*mine*",
    ),
}


@pytest.mark.parametrize(("text", "told"), CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
def test_a_wrong_configuration(pytester: pytest.Pytester, inner, text: str, told: str):
    """Exit 4 before anything runs or is written."""
    Path("isolation.toml").write_text(text)
    result = inner("--isolation")
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines([told])
    assert not Path(".isolation").exists()


def test_a_broken_content_file(project, inner):
    """The file is named, with the key that is wrong."""
    folder = project("clean", more='[content]\nattacks = ["mine"]\n')
    (folder / "mine/cross-user").mkdir(parents=True)
    (folder / "mine/cross-user/bad.toml").write_text('id = "bad"\nfamiliy = "cross-user"\n')
    result = inner("--isolation")
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines(["*bad.toml*familiy*"])


def test_two_configurations(project, inner):
    """One run reads one file."""
    project("clean")
    Path("other.toml").write_text("")
    assert inner("--isolation", "isolation.toml", "other.toml").ret == EXIT.USAGE_ERROR


SYSTEMS = {
    "raising": ("ERROR: ", "RuntimeError"),
    "garbage": ("ERROR: ", "returned int"),
    "yieldless": ("ERROR: ", "yield"),
    "childless": ("INCONCLUSIVE: ", "aide was not reached"),
}


@pytest.mark.parametrize(
    ("name", "verdict", "told"), [(n, *v) for n, v in SYSTEMS.items()], ids=SYSTEMS.keys()
)
def test_a_broken_system_fails_its_item(project, inner, name: str, verdict: str, told: str):
    """Error and inconclusive fail with texts of their own, and the target's words are not repeated."""
    folder = project(name)
    result = inner("--isolation", "isolation.toml", "-k", "sweep")
    assert result.ret == EXIT.TESTS_FAILED
    result.stdout.fnmatch_lines([f"{verdict}*", f"*{told}*"])
    assert "sk-live-secret" not in result.stdout.str()
    assert "sk-live-secret" not in (folder / ".isolation/report.json").read_text()


def test_a_system_that_hangs(project, inner):
    """Its time limit ends it, the rest of this target is not run, another target is."""
    folder = project("hanging", "clean", run="cases = 3\ncase_timeout = 2")
    result = inner("--isolation", "isolation.toml")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["ERROR: *", "*still running after 2 s*"])
    assert list(verdicts(folder).values()) == ["ERROR", "INCONCLUSIVE", "PASS", "PASS"]


def test_an_output_folder_that_cannot_be_written(project, inner):
    """Exit 4 and how to name another one."""
    folder = project("clean")
    (folder / ".isolation").write_text("a file is in the way")
    result = inner("--isolation")
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines(["*.isolation cannot be written*output*"])


def test_an_output_folder_of_the_users_own_is_refused(project, inner):
    """A folder with other files is not filled, nor hidden from git."""
    folder = project("clean", more='[report]\noutput = "."\n')
    result = inner("--isolation")
    assert result.ret == EXIT.USAGE_ERROR
    result.stderr.fnmatch_lines(["*not the kit's*build/isolation*"])
    assert not (folder / ".gitignore").exists()


def test_a_fault_of_the_kit_is_an_error_of_its_item(project, inner, monkeypatch: pytest.MonkeyPatch):
    """It is named by type and place; what was found until then is kept, and other items run."""
    folder = project("leaky")

    def explode(self, item):
        self.journal.case(item.name, 0, 0, *_a_leak())
        raise RuntimeError("sk-live-secret")

    monkeypatch.setattr("isolation_kit.faces.work.Campaign.run", explode)
    result = inner("--isolation", "isolation.toml")
    result.assert_outcomes(failed=2)
    assert verdicts(folder) == {"sweep[leaky]": "LEAK", "cross-user[leaky]": "LEAK"}
    report = (folder / ".isolation/report.json").read_text()
    assert "RuntimeError at test_isolation_bad_input.py" in report
    assert "sk-live-secret" not in report


def _a_leak():
    fingerprint = Fingerprint("leaky", "boss>aide", "user.current", "child.request", "down")
    return Scenario("cross-user", "x", 7, (TurnPlan(0, "hello"),)), [Finding(fingerprint, "canary")]


def test_a_report_that_cannot_be_written_at_the_end(project, inner):
    """Never green: the run says so and keeps its own report and parts."""
    folder = project("clean")
    (folder / "conftest.py").write_text(
        "from pathlib import Path\n"
        "def pytest_collection_finish():\n"
        "    Path('.isolation/report.json').mkdir()\n"
    )
    result = inner("--isolation")
    assert result.ret == EXIT.USAGE_ERROR
    result.stdout.fnmatch_lines(["ERROR: .isolation/report.json cannot be written*"])
    assert (folder / ".isolation/parts/clean.sweep.json").exists()


def test_an_interrupted_session_keeps_what_was_found(project, outer):
    """Ctrl-C in the middle: the report has the sweep's leak, and the item that did not end is no pass."""
    folder = project("interrupted")
    result = outer("--isolation", "isolation.toml")
    assert result.ret == EXIT.INTERRUPTED
    assert verdicts(folder)["sweep[interrupted]"] == "LEAK"
    assert verdicts(folder)["cross-user[interrupted]"] != "PASS"


def test_stopping_at_the_first_failure_is_no_pass_for_the_rest(project, inner):
    """`-x` leaves items without a case: the report says inconclusive."""
    folder = project("leaky", "clean")
    result = inner("--isolation", "isolation.toml", "-x")
    assert result.ret == EXIT.TESTS_FAILED
    assert verdicts(folder)["sweep[clean]"] == "INCONCLUSIVE"
