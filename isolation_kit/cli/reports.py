"""The commands that read reports: `report`, `compare`, `merge`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isolation_kit.config import load as load_config
from isolation_kit.config import report_file
from isolation_kit.errors import UsageError
from isolation_kit.faces import Clock, Output, finish, outcomes_of, reopen, shown, write_report
from isolation_kit.faces.codes import CODES
from isolation_kit.finding import Verdict
from isolation_kit.report import Baseline, exit_verdict, load, new, terminal
from isolation_kit.report import merge as merged
from isolation_kit.report.headline import often
from isolation_kit.report.rows import worst_family

__all__ = ["compare", "merge", "report"]

_REPORT = ".isolation/report.json"  # where no file was named


def report(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Show a report or write it in other formats; with --recover, rebuild it first."""
    if arguments.recover:
        return _recover(arguments, words)
    _deliver(load(arguments.file), arguments.to)
    return 0


def _recover(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    from isolation_kit.load.recover import is_load, recover

    folder = _folder(arguments)
    if is_load(folder):
        loaded = recover(folder, words)
        _deliver(loaded.report, arguments.to)
        print(*loaded.told, *loaded.remarks, sep="\n")
        return CODES[loaded.verdict]
    config = Path(arguments.config)
    own = config.is_file() and load_config(config).output.resolve() == folder.resolve()
    if not own and not Output(folder).holds_findings:
        raise UsageError(
            f"{shown(folder)} holds no part and no findings log of a killed run, so there is nothing to "
            "recover; name the report of the run's output folder, for example: isolation-kit report "
            ".isolation/report.json --recover"
        )
    project = reopen(config)
    why = "the run ended before this item did"
    try:
        outcomes = outcomes_of(project, project.items, lambda item: why)
        finished = finish(project, outcomes, command=words, clock=Clock())
    finally:
        project.output.release()
    _deliver(finished.report, arguments.to)
    for remark in finished.remarks:
        print(remark)
    return CODES[finished.verdict]


def _folder(arguments: argparse.Namespace) -> Path:
    """The output folder: of the report that was named, or else of the configuration."""
    config = Path(arguments.config)
    named = Path(arguments.file).parent
    return load_config(config).output if arguments.file == _REPORT and config.is_file() else named


def merge(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Add reports up; the exit code is that of the sum."""
    total = merged([load(file) for file in arguments.files], names=arguments.files)
    verdict = exit_verdict(total, arguments.fail_on)
    _deliver(total, arguments.to)
    return CODES[Verdict(verdict)]


def compare(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Tell what leaks now and did not before, and the other way round; new leaks give exit code 1."""
    before, after = load(arguments.before), load(arguments.after)
    appeared = new(after, Baseline.of(before))
    gone = new(before, Baseline.of(after))
    stayed = [row for row in after["fingerprints"] if row["counts"] and row not in appeared]
    for title, rows in (("new", appeared), ("gone", gone), ("still there", stayed)):
        print(f"{title}: {len(rows)}")
        for row in rows:
            print(f"  {_line(row)}")
    unproved = [row["id"] for row in after["items"] if row["otherwise"] != Verdict.PASS]
    if unproved:
        print(f"not proved in {shown(Path(arguments.after).absolute())}: {', '.join(unproved)}")
    return 1 if appeared else CODES[Verdict(exit_verdict(after, "never"))]


def _line(row: Mapping[str, Any]) -> str:
    place = f"{row['what']} -> {row['channel']} ({row['direction']}) at {row['edge']}"
    return f"{row['kind']} {row['target']}: {place}{often(worst_family(row))}"


def _deliver(document: Mapping[str, Any], to: Sequence[str]) -> None:
    files = [report_file(text, Path.cwd()) for text in to]
    if not files:
        print(terminal(document, color=sys.stdout.isatty(), width=100))
    for file in files:
        write_report(document, file)
        print(f"wrote {shown(file.path)}")
