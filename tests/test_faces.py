"""What plugin and command line share: options, parts, paths, and the command line in a report."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.config import Config
from isolation_kit.errors import KitError, UsageError
from isolation_kit.faces import Options, project_of
from isolation_kit.faces.output import Output
from isolation_kit.faces.parts import dump_outcome, load_outcome
from isolation_kit.faces.recover import recovered
from isolation_kit.faces.surroundings import command_line, run_block
from isolation_kit.faces.work import Work
from isolation_kit.finding import Finding, Fingerprint, Verdict
from isolation_kit.journal import Entry
from isolation_kit.outcome import Item
from isolation_kit.scenario import Scenario, TurnPlan

ITEM = Item(1, "support", "cross-user")
SCENARIO = Scenario("cross-user", "x", 7, (TurnPlan(0, "hello {{canary:user.current/0/-1/0/0}}"),))


def entry(index: int, item: str = ITEM.name) -> Entry:
    """A logged case with one leak."""
    fingerprint = Fingerprint("support", "support>billing", "user.current", "child.request", "down")
    return Entry(item, 0, index, SCENARIO.digest(), (Finding(fingerprint, "canary"),), SCENARIO)


@given(st.integers(0, 5))
def test_a_part_reads_back_as_it_was(cases: int):
    """Parts survive the way through a file, byte for byte."""
    outcome = recovered(ITEM, 10, [entry(index) for index in range(cases)], "killed")
    assert load_outcome(dump_outcome(outcome)) == outcome
    assert dump_outcome(load_outcome(dump_outcome(outcome))) == dump_outcome(outcome)


def test_a_real_part_reads_back_as_it_was(tmp_path: Path):
    """The same for what an audit made."""
    from isolation_kit.config import Config, Run, TargetEntry

    target = TargetEntry("leaky", "isolation_kit.mutants:m10_tool_reply_whole")
    run = Run(cases=3, families=("cross-user",))
    project = project_of(
        Config(tmp_path / "isolation.toml", (target,), run, output=tmp_path / "o"), Options()
    )
    project.output.prepare()
    with Work(project) as work:
        done = work.run(project.items[0])
    assert load_outcome(done.part.read_text()) == done.outcome
    assert done.judged.found is Verdict.LEAK


def test_a_comparison_is_stored_as_two_files_that_differ_in_its_cause(tmp_path: Path):
    """A key a line, and either one is a case."""
    outcome = recovered(ITEM, 10, [entry(0)], "killed")
    pair = (SCENARIO, SCENARIO.with_variant({"user.current": 1}))
    case = replace(outcome.smallest[0], pair=pair)
    output = Output(tmp_path / "o")
    output.prepare()
    part = output.store(replace(outcome, smallest=(case,)))
    assert load_outcome(part.read_text()).smallest == (case,)
    files = [output.cases / f"{case.fingerprint.id}-{name}.json" for name in ("base", "varied")]
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert tuple(map(Scenario.from_json, texts)) == pair
    one, two = ({line.strip() for line in text.splitlines()} for text in texts)
    assert two - one == {'"variant": [', "[", '"user.current",', "1", "]"} - one


@pytest.mark.parametrize("text", ["", "{}", "[]", "{", '{"item": 1}'])
def test_a_broken_part_is_the_kits_own_error(text: str):
    """Whatever stands in the file, only the kit's error comes out."""
    with pytest.raises(KitError, match="run the item again"):
        load_outcome(text)


def test_what_a_killed_item_had_found_is_restored():
    """Its own cases only, with a note that the counters know no other case."""
    outcome = recovered(ITEM, 10, [entry(0), entry(1), entry(2, "sweep[support]")], "killed")
    assert outcome.tally.n == 2
    assert outcome.error == "killed"
    assert [case.scenario for case in outcome.smallest] == [SCENARIO]
    assert "findings log" in outcome.notes[0]


def test_an_item_that_had_found_nothing_has_no_case():
    """No case is inconclusive, never a pass."""
    outcome = recovered(ITEM, 10, [], "the session ended")
    assert (outcome.tally.n, outcome.cut, outcome.error) == (0, "the session ended", "")


@given(
    st.dictionaries(st.sampled_from(["cases", "seed", "max_time", "shard", "fail_on"]), st.text(max_size=8))
)
def test_option_texts_are_taken_or_refused(raw: dict[str, str]):
    """Any text gives options in their range, or a usage error."""
    options = Options()
    with contextlib.suppress(UsageError):
        options = Options.parse(raw, Path(), "--")
    assert options.cases is None or 1 <= options.cases <= 1_000_000
    assert options.fail_on in (None, "any", "new", "never")


def test_a_command_line_holds_no_absolute_path(tmp_path: Path):
    """Reports travel; the folders of the machine stay where they are."""
    words = ["pytest", str(tmp_path / "a.toml"), f"--isolation-report=html:{tmp_path}/b.html", "-k", "x"]
    assert command_line(words) == "pytest a.toml --isolation-report=html:b.html -k x"


@pytest.mark.parametrize("text", ["\u0663", "1_0", "+5", "0x1", ""])
def test_numbers_are_plain_digits(text: str):
    """Other digits and signs look like one number and may mean another."""
    with pytest.raises(UsageError, match="--cases"):
        Options.parse({"cases": text}, Path(), "--")


def test_a_replay_error_names_the_file(tmp_path: Path):
    """A text that is no case is told with its file's name."""
    from isolation_kit.config import Config, TargetEntry

    (tmp_path / "mine.json").write_text("[]")
    target = TargetEntry("leaky", "isolation_kit.mutants:m10_tool_reply_whole")
    with pytest.raises(UsageError, match=r"mine\.json"):
        project_of(Config(tmp_path / "isolation.toml", (target,)), Options(replay=tmp_path / "mine.json"))


def test_the_cases_of_a_run_without_a_configuration_are_named_as_one_would_type_them() -> None:
    """A load run's folder is relative to where it was started."""
    config = Config(Path.cwd() / "isolation.toml", (), output=Path(".isolation"))
    run = run_block(config, families=(), declarations=(), command=("load",), shard=(1, 1))
    assert run.case_folder == ".isolation/cases"
