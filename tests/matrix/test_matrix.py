"""The table of seeded defects: kills, survivors, what others see, and alarms of the clean runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.cli import main
from isolation_kit.cli.matrix import _chosen
from isolation_kit.matrix import alarms, markdown, rows, run
from isolation_kit.mutants import Mutant, all_mutants
from isolation_kit.targets.reference import reference_task


def mutant(name: str) -> Mutant:
    """A seeded defect by its name."""
    return next(one for one in all_mutants() if one.name == name)


def test_a_kill_a_survivor_and_a_case_that_is_too_large() -> None:
    """What was killed as expected, what its named oracle cannot see, and what was not reduced far enough."""
    known = mutant("m10_tool_reply_whole")
    blind = replace(known, oracle="repeat")
    (killed,) = rows([known], (7,), looks=0)
    assert (killed.survived, killed.larger, killed.size) == ((), (), (1, 1, 1))
    smaller = replace(killed, mutant=replace(known, smallest=mutant("m14_lenient_parser").smallest))
    assert smaller.larger == (7,)
    # Rows are made by name, so the survivor is hunted as the table would hunt it.
    survivor = replace(killed, mutant=blind, kills={7: run.hunt(blind, "repeat", (), cases=0)})
    assert survivor.survived == (7,)
    text = markdown([killed, survivor], (7,))
    assert "| 1 of 1 | " in text
    assert "| 0 of 1 | " in text
    assert "1 of 2 defects killed by their named oracle at all of 1 seeds." in text


def test_a_look_tells_who_else_sees_a_defect() -> None:
    """A whole tool reply breaks the contract too; what a session leaves behind is for residue alone."""
    both, alone = rows([mutant("m10_tool_reply_whole"), mutant("m70_known_user")], (7,), cases=1, looks=3)
    assert both.seen_by("canary")
    assert both.seen_by("contract")
    assert not both.only
    assert alone.only
    assert "- residue: m70_known_user" in markdown([both, alone], (7,))


def test_an_alarm_of_a_clean_target_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent on the clean runtime; a leak in its place is named."""
    monkeypatch.setattr(run, "CLEAN", (reference_task,))
    assert alarms((7,), cases=9) == ()
    monkeypatch.setattr(run, "CLEAN", (mutant("m01_full_history").target,))
    assert "m01_full_history: canary alarms" in alarms((7,), cases=9)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("m1", ["begins several defects", "m10_tool_reply_whole", "for example --only m10_"]),
        ("full_history", ["begins no defect", "m01_full_history"]),
        ("", ["begins no defect"]),
    ],
)
def test_a_name_that_is_not_one_defects_lists_the_nearest(
    given: str, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 for a beginning of several, and for one of none."""
    assert main(["matrix", "--mutants", "--only", given]) == 2
    text = capsys.readouterr().err
    assert all(word in text for word in told), text


@pytest.mark.parametrize(
    ("given", "name"),
    [("m21", "m21_history_hash"), ("m10", "m10_tool_reply_whole"), ("m104_b", "m104_base_prompt_joined")],
)
def test_what_begins_one_name_alone_is_enough(given: str, name: str) -> None:
    """A number is a whole word: m10 does not begin m104."""
    assert [one.name for one in _chosen([given])] == [name]


def test_the_command_writes_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0 for what is killed; the file holds the row."""
    words = ["matrix", "--mutants", "--named", "--only", "m01", "--to", str(tmp_path / "m.md")]
    assert main(words) == 0
    assert "killed    m01_full_history" in capsys.readouterr().out
    assert "| m01_full_history |" in (tmp_path / "m.md").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seeds", "9-1"], "--seeds is '9-1'"),
        (["--only", "nothing"], "--only names 'nothing'"),
        (["--to", "no/such/folder.md"], "a folder that is not there"),
    ],
)
def test_wrong_words_are_refused(words: list[str], said: str, capsys: Any) -> None:
    """Exit 2, what was given and what is allowed."""
    assert main(["matrix", "--mutants", *words]) == 2
    assert said in capsys.readouterr().err


def test_processes_change_no_result() -> None:
    """Two processes give the rows of one, in the same order."""
    chosen = [mutant("m10_tool_reply_whole"), mutant("m01_full_history")]

    def sizes(jobs: int) -> list[tuple[Any, ...]]:
        found = rows(chosen, (7,), looks=0, jobs=jobs)
        return [(row.mutant.name, row.size, row.executions) for row in found]

    assert sizes(1) == sizes(2)
