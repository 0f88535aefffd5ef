"""The verdict of one item under the gate, and the short text that a failing item shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isolation_kit.faces.output import shown
from isolation_kit.faces.project import Project
from isolation_kit.finding import Verdict
from isolation_kit.outcome import ItemOutcome
from isolation_kit.report import RunBlock, Timing, build, exit_verdict
from isolation_kit.report.words import count_words

__all__ = ["Judged", "fail_on", "judge"]

_TOP = 3


@dataclass(frozen=True, slots=True)
class Judged:
    """What an item comes to. `found` is the strict verdict, `verdict` what remains of it under the gate."""

    verdict: Verdict
    found: Verdict
    text: str


def fail_on(project: Project) -> str:
    """What fails: a run that writes its leaks into the baseline does not fail for them: that was asked."""
    return "never" if project.options.update_baseline else project.config.gate.fail_on


def judge(project: Project, outcome: ItemOutcome) -> Judged:
    """Judge one outcome by the same rules as the whole report."""
    report = build(
        (outcome,),
        run=RunBlock(seed=project.config.run.seed),
        policy=project.config.policy,
        classes=project.classes,
        declarations=project.declarations,
        baseline=project.baseline,
        timing=Timing(),
        refused_share=project.config.gate.refused_share,
    )
    gate = fail_on(project)
    verdict = Verdict(exit_verdict(report, gate))
    return Judged(verdict, Verdict(report["verdict"]), _text(project, report, verdict, gate, outcome))


def _text(
    project: Project, report: Mapping[str, Any], verdict: Verdict, gate: str, outcome: ItemOutcome
) -> str:
    (row,) = report["items"]
    if verdict is Verdict.PASS:
        allowed = sum(found["state"] == "allowed" for found in report["fingerprints"])
        return f"{verdict}{f' ({allowed} allowed)' if allowed else ''}: {count_words(row['cases'], 'case')}"
    reasons = [reason.removeprefix("error: ") for reason in row["reasons"]]
    if verdict in (Verdict.LEAK, Verdict.LOSS):
        lines = [*_leaks(project, report, row, verdict, gate), *(f"  {reason}" for reason in reasons)]
    else:
        # The first reason stands in front: it is all that a one-line summary shows.
        first, *rest = reasons or ["no reason was given"]
        lines = [f"{verdict}: {first}", *(f"  {reason}" for reason in rest), f"  {_ABOUT[verdict]}"]
    if row["cut"]:
        lines.append(f"  {row['cut']}")
    if outcome.failed is not None and project.case is None:
        lines += _stored(project, "case that raised it", outcome.failed.digest(), row["target"])
    if project.case is None and project.items:
        lines.append(f"  report: {shown(project.output.folder / 'report.html')}")
    return "\n".join(lines)


_ABOUT = {
    Verdict.ERROR: "an error proves nothing: correct the target, or report a fault of the kit",
    Verdict.INCONCLUSIVE: "a run that proves nothing is no pass",
}


def _leaks(
    project: Project, report: Mapping[str, Any], item: Mapping[str, Any], verdict: Verdict, gate: str
) -> list[str]:
    rows = [
        row for row in report["fingerprints"] if row["counts"] and (gate == "any" or row["status"] == "new")
    ]
    cases = item["cases_by_verdict"][str(verdict)]
    found, among = count_words(len(rows), "fingerprint"), count_words(item["cases"], "case")
    lines = [f"{verdict}: {found}, in {cases} of {among}", *_without(rows, item)]
    lines += [f"  {_line(row)}" for row in rows[:_TOP]]
    if len(rows) > _TOP:
        lines.append(f"  and {len(rows) - _TOP} more in the report")
    lines += _case_lines(project, rows, item["target"])
    return lines


def _without(rows: Sequence[Mapping[str, Any]], item: Mapping[str, Any]) -> list[str]:
    """Why the shares below are of fewer cases."""
    parrots = item["cases_by_mode"].get("exposure", 0)
    if not parrots or not any(row["structural"]["count"] for row in rows):
        return []
    return [f"  without {count_words(parrots, 'parrot case')}:"]


def _line(row: Mapping[str, Any]) -> str:
    mode = "structural" if row["structural"]["count"] else "exposure"
    share = row[mode]
    where = f"{row['kind']} {row['what']} -> {row['channel']} ({row['direction']}) at {row['edge']}"
    noun = "case" if mode == "structural" else "parrot case"
    return f"{where}: {share['count']} of {count_words(share['n'], noun)}"


def _case_lines(project: Project, rows: Sequence[Mapping[str, Any]], target: str) -> list[str]:
    case = next((row["smallest"] for row in rows if row["smallest"]), None)
    if case is None:
        return []
    return _stored(project, "smallest case", case["case"], target)


def _stored(project: Project, what: str, digest: str, target: str) -> list[str]:
    """Where a case lies, and the command that runs it again."""
    path = shown(project.output.cases / f"{digest}.json")
    lines = [f"  {what}: {path}"]
    if project.items:  # a target that a test built itself can be replayed by that test only
        config = shown(project.config.path)
        words = [f"isolation-kit replay {path}"]
        words += [] if config == "isolation.toml" else [f"--config {config}"]
        words += [f"--target {target}"] if len(project.declarations) > 1 else []
        lines.append(f"  replay: {' '.join(words)}")
    return lines
