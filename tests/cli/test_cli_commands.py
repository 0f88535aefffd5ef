"""Every command of `isolation-kit`, by its name, with its exit codes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from isolation_kit.scenario import Scenario, TurnPlan


def report(path: str = ".isolation/report.json") -> dict:
    """A report file."""
    return json.loads(Path(path).read_text())


def test_init_writes_what_runs(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`init`, then `run`: exit 0, no editing in between."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert cli("init").code == 0
    told = cli("run", "--cases", "5")
    assert (told.code, told.err) == (0, "")
    assert "PASS         sweep[support]" in told.out


def test_init_overwrites_nothing(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file that exists stays as it is: exit 2 and the way out."""
    monkeypatch.chdir(tmp_path)
    Path("isolation_example.py").write_text("mine")
    told = cli("init")
    assert told.code == 2
    assert "overwrites nothing" in told.err
    assert Path("isolation_example.py").read_text() == "mine"
    assert not Path("isolation.toml").exists()


def test_demo_tells_a_leaky_from_a_clean_runtime(cli):
    """Both side by side, the smallest leaking conversation, and no more than ten seconds of work."""
    before = time.process_time()
    told = cli("demo")
    assert told.code == 0
    assert "LEAK: " in told.out
    assert "PASS: " in told.out
    assert "‹child.tool.noise/u0/t0›" in told.out
    assert time.process_time() - before < 10


def test_run_passes_on_a_clean_system(cli, project):
    """Exit 0, a line an item, the summary and the reports."""
    project("clean")
    told = cli("run")
    assert told.code == 0
    assert "PASS         cross-user[clean]: 5 cases" in told.out
    assert "reports: .isolation/report.json" in told.out


def test_run_fails_on_the_leaky_twin(cli, project):
    """Exit 1, the top fingerprints and the way to replay."""
    project("leaky")
    told = cli("run")
    assert told.code == 1
    assert "LEAK user.current -> child.request (down) at boss>aide" in told.out
    assert report()["verdict"] == "LEAK"


@pytest.mark.parametrize(("name", "code"), [("raising", 3), ("childless", 4)])
def test_run_tells_error_from_inconclusive(cli, project, name: str, code: int):
    """3 for a target that fails, 4 for a child that is never reached."""
    project(name)
    assert cli("run").code == code


def test_what_a_target_raised_is_told_and_can_be_run_again(cli, project):
    """The text of the exception in every face, and a stored case whose replay raises it alone."""
    folder = project("missing")
    told = cli("run")
    assert "raised KeyError in <lambda>" not in told.out  # a name that is no plain word stays a digest
    assert ", line " in told.out
    assert "): 'customer_id'" in told.out
    (item, _) = report()["items"]
    (file,) = item["failed"]
    assert f"  replay: isolation-kit replay {file}\n" in told.out
    for name in ("report.md", "report.html"):
        text = (folder / ".isolation" / name).read_text()
        assert "customer_id" in text
        assert f"isolation-kit replay {file}" in text
    again = cli("replay", file)
    assert again.code == 3
    assert "'customer_id'" in again.out


def test_run_takes_its_configuration_without_an_option_too(cli, project):
    """`run FILE` is `run --config FILE`; two different files are refused with the command to type."""
    folder = project("clean")
    (folder / "isolation.toml").rename(folder / "other.toml")
    assert cli("run", "other.toml").code == 0
    assert "config" not in (told := cli("run", "other.toml", "--config", "other.toml")).err
    assert told.code == 0
    both = cli("run", "other.toml", "--config", "third.toml")
    assert both.code == 2
    assert "for example isolation-kit run --config other.toml" in both.err


def test_run_of_one_target(cli, project):
    """`--target` leaves the others out; an unknown name is refused with the known ones."""
    project("clean", "leaky")
    assert cli("run", "--target", "clean").code == 0
    assert {item["target"] for item in report()["items"]} == {"clean"}
    told = cli("run", "--target", "claen")
    assert told.code == 2
    assert "did you mean 'clean'" in told.err


def test_run_with_a_baseline(cli, project):
    """What the baseline knows passes under `new`."""
    project("leaky")
    options = ("run", "--baseline", "base.json", "--fail-on", "new")
    assert cli(*options, "--update-baseline").code == 0
    assert cli(*options).code == 0


def test_run_interrupted_keeps_what_was_found(cli, project, monkeypatch: pytest.MonkeyPatch):
    """Ctrl-C after the sweep: its leak is reported, exit 1, and the rest is no pass."""
    project("leaky")
    from isolation_kit.faces import Work

    run = Work.run

    def stop_at_the_family(self, item):
        if item.family != "sweep":
            raise KeyboardInterrupt
        return run(self, item)

    monkeypatch.setattr(Work, "run", stop_at_the_family)
    told = cli("run")
    assert told.code == 1
    assert "what was found is kept" in told.err
    assert [item["verdict"] for item in report()["items"]] == ["LEAK", "INCONCLUSIVE"]


def test_replay_of_the_smallest_case(cli, project):
    """Red on the leaky system, green on its clean twin."""
    project("leaky", "clean")
    cli("run", "--target", "leaky")
    row = next(row for row in report()["fingerprints"] if row["counts"])
    case = f".isolation/cases/{row['smallest']['case']}.json"
    assert cli("replay", case, "--target", "leaky").code == 1
    assert cli("replay", case, "--target", "clean").code == 0


def test_replay_of_no_case(cli, project):
    """A file that is no stored case: exit 2 and where cases lie."""
    project("clean")
    told = cli("replay", "isolation.toml")
    assert told.code == 2
    assert ".isolation/cases/" in told.err


def test_replay_of_a_case_in_a_skin_that_there_is_not(cli, project):
    """Exit 2 and the skins that there are, before anything runs."""
    project("clean")
    case = Scenario("f", "a", 1, (TurnPlan(0, "hello"),), skins=(("user.current", "elephant"),))
    Path("case.json").write_text(case.to_json())
    told = cli("replay", "case.json")
    assert told.code == 2
    assert "unknown skin 'elephant'; allowed: opaque, email" in told.err


def test_report_in_other_formats(cli, project):
    """report.json becomes Markdown and HTML; without `--to` it is shown."""
    project("clean")
    cli("run")
    assert cli("report", "--to", "md:page.md", "--to", "html:page.html").code == 0
    assert "sweep" in Path("page.md").read_text()
    assert "PASS" in cli("report").out


def test_report_recovers_what_a_killed_run_left(cli, project):
    """From parts and findings logs: the leak is there, what is missing is named, and it is no pass."""
    folder = project("leaky")
    cli("run")
    whole = report()
    (folder / ".isolation/report.json").unlink()
    (folder / ".isolation/parts/leaky.cross-user.json").unlink()
    told = cli("report", "--recover")
    assert told.code == 1
    family = report()["items"][1]
    assert "the run ended before this item did" in family["error"]
    assert {row["id"] for row in report()["fingerprints"]} == {row["id"] for row in whole["fingerprints"]}


def test_compare(cli, project):
    """What is new gives exit 1, what is gone is named."""
    project("leaky", "clean")
    for name in ("clean", "leaky"):
        cli("run", "--target", name, "--report", f"json:{name}.json")
    told = cli("compare", "clean.json", "leaky.json")
    assert told.code == 1
    assert "new: " in told.out
    assert "gone: 0" in told.out
    told = cli("compare", "leaky.json", "clean.json")
    assert told.code == 0
    assert "new: 0" in told.out


def test_merge_of_two_shards(cli, project):
    """Two shards add up to the whole run, and the sum's verdict is the exit code."""
    project("leaky", run="cases = 100")
    for shard in ("1", "2"):
        cli("run", "--shard", f"{shard}/2", "--report", f"json:{shard}.json")
    assert cli("merge", "1.json", "2.json", "--to", "json:sum.json").code == 1
    cases = {item["family"]: item["cases"] for item in report("sum.json")["items"]}
    assert cases["cross-user"] == 100


def test_catalogue_check(cli, tmp_path: Path):
    """The shipped content is sound, and a broken file is named with its key."""
    told = cli("catalogue", "check")
    assert told.code == 0
    assert "5 families" in told.out
    (tmp_path / "cross-user").mkdir()
    (tmp_path / "cross-user/bad.toml").write_text('id = "bad"\n')
    told = cli("catalogue", "check", "--attacks", str(tmp_path))
    assert told.code == 2
    assert "bad.toml" in told.err


@pytest.mark.parametrize(
    "words",
    [(), ("audit",), ("run", "--cases"), ("run", "--cases", "0"), ("run", "--config", "nowhere.toml")],
    ids=["nothing", "unknown", "no value", "bad value", "no file"],
)
def test_wrong_words_exit_2(cli, project, words: tuple[str, ...]):
    """A usage error is 2, with a message."""
    project("clean")
    told = cli(*words)
    assert told.code == 2
    assert told.err


def test_a_broken_report_file_is_refused(cli, project):
    """Exit 2 and what a report is."""
    folder = project("clean")
    (folder / "broken.json").write_text("{")
    told = cli("report", "broken.json")
    assert told.code == 2
    assert ".isolation/report.json" in told.err


def test_a_fault_of_the_kit_exits_3_without_its_text(cli, project, monkeypatch: pytest.MonkeyPatch):
    """An unforeseen exception is named by type and place: its text may hold a payload."""
    project("clean")

    def explode(*_):
        raise RuntimeError("sk-live-secret")

    monkeypatch.setattr("isolation_kit.faces.Work.run", explode)
    told = cli("run")
    assert told.code == 3
    assert "RuntimeError" in told.err
    assert "sk-live-secret" not in told.err


def test_help_is_quick_to_load():
    """`--help` imports neither hypothesis nor jsonschema."""
    import subprocess
    import sys

    code = (
        "import sys; from isolation_kit.cli import main; assert main(['--help']) == 0\n"
        "assert not {'hypothesis', 'jsonschema', 'httpx', 'jinja2'} & set(sys.modules)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True).returncode == 0
