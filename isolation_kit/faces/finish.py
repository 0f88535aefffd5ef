"""The end of a run: parts and findings logs become one report, its files, and the verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from isolation_kit.config import ReportFile
from isolation_kit.faces.output import shown, write_file
from isolation_kit.faces.project import Project
from isolation_kit.faces.recover import recovered
from isolation_kit.faces.surroundings import run_block
from isolation_kit.faces.verdict import fail_on
from isolation_kit.finding import Verdict
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.report import Baseline, Timing, build, dump, exit_verdict, html, markdown

__all__ = ["Clock", "Finished", "finish", "outcomes_of", "write_report"]


@dataclass(frozen=True, slots=True)
class Clock:
    """When the run started."""

    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    zero: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Wall time since then, in seconds."""
        return time.monotonic() - self.zero


@dataclass(frozen=True, slots=True)
class Finished:
    """A run's report, its verdict under the gate, and remarks on what was written."""

    report: Mapping[str, Any]
    verdict: Verdict
    remarks: tuple[str, ...]


def outcomes_of(
    project: Project, items: Sequence[Item], why: Callable[[Item], str]
) -> tuple[ItemOutcome, ...]:
    """Every item's outcome in item order; what came to none is restored from the findings logs.

    Args:
        why: says why an item has no outcome.
    """
    entries, remarks = project.output.journalled()
    found = []
    for item in sorted(items):
        outcome = project.output.load(item)
        if outcome is None:
            outcome = recovered(item, _requested(project, item), entries, why(item))
        found.append(outcome)
    if found and remarks:
        found[0] = replace(found[0], notes=(*found[0].notes, *remarks))
    return tuple(found)


def _requested(project: Project, item: Item) -> int:
    return project.config.run.cases if item.family != "sweep" else 0


def finish(
    project: Project, outcomes: Sequence[ItemOutcome], *, command: Sequence[str], clock: Clock
) -> Finished:
    """Build the report, write every file that was asked for, and judge the run.

    Raises:
        UsageError: if a file cannot be written; parts, cases and findings log stay as they are.
    """
    report = build(
        outcomes,
        run=run_block(
            project.config,
            families=project.families,
            declarations=project.declarations.values(),
            command=command,
            shard=project.options.shard,
        ),
        policy=project.config.policy,
        classes=project.classes,
        declarations=project.declarations,
        baseline=project.baseline,
        timing=_timing(outcomes, clock),
        refused_share=project.config.gate.refused_share,
    )
    remarks: list[str] = []
    if project.case is None:
        for outcome in outcomes:
            project.output.store_cases(outcome)
        remarks += _write_all(project, report)
    if project.options.update_baseline:
        remarks.append(_update_baseline(project, report, outcomes))
    return Finished(report, Verdict(exit_verdict(report, fail_on(project))), tuple(remarks))


def _timing(outcomes: Sequence[ItemOutcome], clock: Clock) -> Timing:
    sweeps = {item.item.target: item.wall_seconds for item in outcomes if item.item.family == "sweep"}
    return Timing(clock.started, clock.seconds, sum(item.cpu_seconds for item in outcomes), sweeps)


def write_report(report: Mapping[str, Any], file: ReportFile) -> None:
    """Write one report in one format.

    Raises:
        ConfigError: if the place cannot be written to.
    """
    renderers: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
        "json": dump,
        "md": markdown,
        "html": html,
    }
    write_file(file.path, renderers[file.kind](report))


def _write_all(project: Project, report: Mapping[str, Any]) -> list[str]:
    folder = project.output.folder
    own = [ReportFile("json", folder / "report.json"), ReportFile("md", folder / "report.md")]
    own.append(ReportFile("html", folder / "report.html"))
    files = (*own, *project.config.reports)
    for file in files:
        write_report(report, file)
    return ["reports: " + ", ".join(shown(file.path) for file in files)]


def _update_baseline(project: Project, report: Mapping[str, Any], outcomes: Sequence[ItemOutcome]) -> str:
    path = project.config.gate.baseline
    assert path is not None
    current = Baseline.of(report)
    entries = dict(current.entries)
    whole = {outcome.item for outcome in outcomes if not outcome.error} == set(project.items)
    if not whole or project.options.shard != (1, 1) or any(outcome.cut for outcome in outcomes):
        # A run that saw less must not forget what an earlier one knew.
        entries |= dict(project.baseline.entries) if project.baseline else {}
    write_file(path, Baseline(entries).dump())
    return (
        f"baseline: {len(entries)} known leaks in {shown(path)}; a run with this baseline and fail-on new "
        "fails for other leaks only"
    )
