"""The output folder under the command line: locked, checked before it is touched, recovered as started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SECRET = "sk-live-in-every-stream"


def files(folder: str) -> dict[str, bytes]:
    """Every findings log and part below a folder."""
    places = [*Path(folder).glob("journal/*"), *Path(folder).glob("parts/*")]
    return {path.name: path.read_bytes() for path in places}


@pytest.mark.parametrize(("name", "code"), [("loud_clean", 0), ("loud_leaky", 1)])
def test_a_loud_target_is_not_heard(cli, project, name: str, code: int):
    """What it says is in no stream, the kit's own lines are."""
    project(name)
    told = cli("run")
    assert (told.code, SECRET in told.out + told.err) == (code, False)
    assert f"sweep[{name}]" in told.out


@pytest.mark.parametrize("name", ["leaving", "patching"])
def test_a_target_cannot_end_or_empty_the_run(cli, project, name: str):
    """`os._exit(0)`, and JSON functions that were replaced: what leaked before is reported."""
    project(name)
    assert cli("run").code in (1, 3)
    assert json.loads(Path(".isolation/report.json").read_text())["fingerprints"]


def test_the_masks_of_the_policy_stand_in_the_report(cli, project):
    """What was left out of comparing is part of what a run says of itself."""
    project("clean")
    with Path("isolation.toml").open("a") as config:
        config.write('[policy]\nmasks = ["messages[*].id: string"]\n')
    told = cli("run")
    assert (told.code, "messages[*].id: string" in " ".join(told.out.split())) == (0, True)
    assert json.loads(Path(".isolation/report.json").read_text())["run"]["masks"] == [
        "messages[*].id: string"
    ]


def test_usage_errors_keep_what_a_killed_run_left(cli, project):
    """Report paths are checked first, and an empty run never replaces `previous/`."""
    project("leaky")
    cli("run")
    left = files(".isolation")
    for _ in range(2):
        assert cli("run", "--report", "json:.").code == 2
    assert files(".isolation") == left
    cli("run", "--target", "leaky")
    assert files(".isolation/previous") == left


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/dev/null"), os.mkfifo, Path.mkdir])
def test_a_report_is_written_over_regular_files_only(cli, project, make):
    """A device, a pipe or a folder is named and left alone."""
    project("clean")
    make(Path("r.json"))
    told = cli("run", "--report", "json:r.json")
    assert told.code == 2
    assert "r.json cannot be written" in told.err


def test_two_runs_do_not_share_a_folder(cli, project):
    """The second is refused while another process holds the folder, and runs afterwards."""
    project("clean")
    Path(".isolation/parts").mkdir(parents=True)
    take = "f = open('.isolation/.lock', 'ab'); fcntl.lockf(f, fcntl.LOCK_EX)"
    code = f"import fcntl; {take}; print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        told = cli("run")
        other.communicate("\n")
    assert told.code == 2
    assert "another run" in told.err
    assert cli("run").code == 0


def test_recover_takes_the_runs_own_options(cli, project):
    """Seed, number of cases, targets and gate are those of the run, not of isolation.toml."""
    project("leaky", "clean")
    cli("run", "--seed", "3", "--cases", "4", "--fail-on", "never", "--target", "leaky")
    Path(".isolation/parts/leaky.sweep.json").write_bytes(b"\xff" * 9)
    assert cli("report", "--recover").code == 3
    document = json.loads(Path(".isolation/report.json").read_text())
    assert (document["run"]["seed"], document["run"]["cases_requested"]) == (3, 4)
    assert {item["target"] for item in document["items"]} == {"leaky"}
    assert document["fingerprints"]


@pytest.mark.parametrize("left", ["nothing", "file"])
def test_recover_of_nothing_keeps_the_reports(cli, project, left: str):
    """Nothing to recover is exit 2."""
    project("clean")
    if left == "file":
        Path(".isolation").write_text("x")
    told = cli("report", "--recover")
    assert told.code == 2
    assert "nothing to recover" in told.err.replace("\n", " ")


@pytest.mark.parametrize("damage", [b"\xff", b"[" * 100_000, None])
def test_a_damaged_part_falls_back_to_the_findings_log(cli, project, damage: bytes | None):
    """Whatever lies there, the leaks are found again."""
    project("leaky")
    cli("run")
    part = Path(".isolation/parts/leaky.cross-user.json")
    part.unlink()
    if damage is None:
        part.mkdir()
    else:
        part.write_bytes(damage)
    Path(".isolation/journal/x.jsonl").mkdir()
    assert cli("report", "--recover").code == 1
