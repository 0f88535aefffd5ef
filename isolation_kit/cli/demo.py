"""`demo`: the same runtime twice, once with one line wrong, under the same cases."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from isolation_kit.config import Config, Run, TargetEntry
from isolation_kit.faces import Done, Options, Project, Work, begin, project_of
from isolation_kit.finding import Mode, Verdict
from isolation_kit.outcome import Smallest

__all__ = ["demo"]

_LEAKY = TargetEntry("leaky", "isolation_kit.mutants:m10_tool_reply_whole")
_CLEAN = TargetEntry("clean", "isolation_kit.targets.reference:reference_task")
_FAMILY = "noise-injection"
_CASES = 12
_COLUMN = 46


def demo(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Audit a leaky and a clean runtime; 0 if the kit tells them apart, else 3."""
    with tempfile.TemporaryDirectory(prefix="isolation-kit-demo-") as folder:
        project = _project(Path(folder))
        begin(project)
        with Work(project) as work:
            done = {(item.family, item.target): work.run(item) for item in project.items}
        project.output.release()
    _show(done)
    leaky = {one.judged.verdict for (_, target), one in done.items() if target == "leaky"}
    clean = {one.judged.verdict for (_, target), one in done.items() if target == "clean"}
    return 0 if leaky == {Verdict.LEAK} and clean == {Verdict.PASS} else 3


def _project(folder: Path) -> Project:
    config = Config(
        path=folder / "isolation.toml",
        targets=(_LEAKY, _CLEAN),
        run=Run(cases=_CASES, families=(_FAMILY,)),
        output=folder / "out",
    )
    return project_of(config, Options())


def _show(done: Mapping[tuple[str, str], Done]) -> None:
    print("Two runtimes, one difference: the leaky one shows its child the whole reply of a tool.\n")
    print(f"{'':<18}{'leaky':<{_COLUMN}}clean")
    for family in dict.fromkeys(family for family, _ in done):
        heads = [done[family, target].judged.text.split("\n")[0] for target in ("leaky", "clean")]
        print(f"{family:<18}{heads[0]:<{_COLUMN}}{heads[1]}")
    print("\nThe smallest conversation that leaks (‹...› stands for a planted token):\n")
    case = _smallest(done)
    if case is not None:
        for line in case.conversation:
            print(f"  {line.who:<24}{line.text}")
        print(f"\n  reaches: {case.fingerprint}")
    print("\nNow your own system: isolation-kit init")


def _smallest(done: Mapping[tuple[str, str], Done]) -> Smallest | None:
    cases = [case for one in done.values() for case in one.outcome.smallest]
    leaks = [case for case in cases if case.kind is Verdict.LEAK and case.mode is Mode.STRUCTURAL]
    planted = [case for case in leaks if not case.fingerprint.what.startswith("field.")]
    return min(planted or leaks, key=lambda case: (case.size, len(case.conversation)), default=None)
