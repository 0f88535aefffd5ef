"""A run is judged without Locust too: nothing checked is no pass, failures are failures, marks are kept."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path

import pytest

from isolation_kit.errors import UsageError
from isolation_kit.finding import Verdict
from isolation_kit.journal import read
from isolation_kit.load.control import Control
from isolation_kit.load.counts import Counts
from isolation_kit.load.run import Run
from isolation_kit.load.settings import LoadSettings, add_options
from isolation_kit.load.summary import Load
from isolation_kit.load.tokens import Tokens


def run_in(folder: Path) -> Run:
    """A run that writes into `folder`."""
    run = Run(LoadSettings(7, output=folder / "out"))
    run.begin()
    return run


def ended(run: Run, **load: object) -> Verdict:
    """The run's verdict."""
    run.total = run.counts.take()
    return run.finish(Load(**load), recorded=False, command=("test",)).verdict  # type: ignore[arg-type]


def test_nothing_checked_is_inconclusive_and_failures_are_an_error(tmp_path: Path) -> None:
    """A service that is down: with a tolerance for all failures still nothing was proved."""
    run = run_in(tmp_path)
    run.sent()
    run.failed("no answer")
    counts = run.counts
    assert ended(run, tolerance=1.0) is Verdict.INCONCLUSIVE
    run.counts = counts.merge(run.total)
    run.begin()
    assert ended(run) is Verdict.ERROR


def test_a_leak_is_on_disk_before_it_counts(tmp_path: Path) -> None:
    """The journal has it at once; the report shows it, without any token; load.json has the series."""
    run = run_in(tmp_path)
    ann, bob = run.take(), run.take()
    for _ in range(9):  # all families
        mine, other = ann.next(), bob.next()
        run.response(mine, " ".join((*mine.required, *other.required)).encode(), complete=True)
    (log,) = (tmp_path / "out" / "journal").glob("*.jsonl")
    assert len(read(log).entries) == 9
    assert ended(run) is Verdict.LEAK
    texts = [path.read_text("utf-8") for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(token in text for text in texts for token in (*mine.required, *other.required))
    assert json.loads((tmp_path / "out" / "load.json").read_text())["counters"]["leaks"] == 9


def test_what_a_lost_worker_wrote_counts(tmp_path: Path) -> None:
    """Its counters never came; its findings log is read, and the run is a leak."""
    run = run_in(tmp_path)
    ann, bob = run.take(), run.take()
    mine, other = ann.next(), bob.next()
    run.response(mine, " ".join(other.required).encode(), complete=True)
    run.counts.take()
    assert ended(run) is Verdict.LEAK


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("tolerance", "-0.1", "0 to 1"),
        ("tolerance", "nan", "0 to 1"),
        ("tolerance", "much", "is no number"),
        ("seed", "mine", "is no number"),
        ("step_seconds", "0", "more than 0"),
        ("families", "nobody", "allowed: cross-user"),
    ],
)
def test_options_out_of_bounds_are_refused(name: str, given: str, said: str) -> None:
    """A share is 0 to 1, a number is a number, a family is one of those that there are."""
    parser = ArgumentParser()
    add_options(parser)
    options = {**vars(parser.parse_args([])), f"isolation_{name}": given}
    with pytest.raises(UsageError, match=said):
        LoadSettings.of(options)


def test_a_worker_of_another_run_is_told_apart(tmp_path: Path) -> None:
    """What a killed run left behind may join the next one: its counters are left out, once said."""
    control = Control(LoadSettings(7, output=tmp_path / "out"))
    counts = Counts()
    counts.checked("cross-user", 1, ())
    for run in (control.run.tokens.run, Tokens(8).run, Tokens(8).run):
        control.tell(run, counts.to_json())
    assert control.run.total.sum("checked") == 1
    assert len(control.troubles) == 1
