"""The commands that run something: `init`, `run`, `replay`, `catalogue check`."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from isolation_kit.cli.parser import DEFAULT_CONFIG
from isolation_kit.content import load_attacks, load_fingerprint_classes
from isolation_kit.errors import UsageError
from isolation_kit.faces import (
    PATIENCE,
    Clock,
    Done,
    Options,
    Progress,
    Project,
    Work,
    begin,
    finish,
    only,
    open_project,
    outcomes_of,
    shown,
)
from isolation_kit.faces.codes import CODES
from isolation_kit.finding import Verdict, worst
from isolation_kit.outcome import Item
from isolation_kit.report import terminal
from isolation_kit.stage.ledger import skin_named

__all__ = ["catalogue", "init", "replay", "run", "run_items"]


def init(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Write a configuration and an example target."""
    from isolation_kit.cli.scaffold import init as write

    written = write(Path(arguments.folder))
    for path in written:
        print(f"wrote {path}")
    here = Path(arguments.folder).resolve() == Path.cwd()
    print(f"next: {'' if here else f'cd {arguments.folder}, then '}isolation-kit run, or pytest --isolation")
    return 0


def run(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Audit, report, and say what it comes to.

    Raises:
        UsageError: if two configuration files are named.
    """
    if arguments.file is not None:
        if arguments.config not in (DEFAULT_CONFIG, arguments.file):
            raise UsageError(
                f"run got two configuration files, {arguments.file} and --config {arguments.config}; "
                f"allowed: one, for example isolation-kit run --config {arguments.file}"
            )
        arguments.config = arguments.file
    project = _project(arguments, Options.parse(vars(arguments), Path.cwd(), "--"))
    begin(project)
    try:
        return _audit(project, words)
    finally:
        project.output.release()


def _audit(project: Project, words: Sequence[str]) -> int:
    clock = Clock()
    why = "the run was interrupted"
    with Work(project, progress=_progress()) as work:
        try:
            for item in project.items:
                _tell(work.run(item))
        except KeyboardInterrupt:
            print(f"\n{why}; what was found is kept", file=sys.stderr)
    outcomes = outcomes_of(project, project.items, lambda item: f"{why} before this item ended")
    finished = finish(project, outcomes, command=words, clock=clock)
    print()
    print(terminal(finished.report, color=sys.stdout.isatty(), width=100))
    for remark in finished.remarks:
        print(remark)
    return CODES[finished.verdict]


def _progress() -> Progress:
    """Tells on standard error: standard output is the report's."""
    stream = sys.stderr  # while a target runs, `sys.stderr` is another

    def tell(line: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed, perhaps by the target
            print(line, file=stream, flush=True)

    return Progress(tell, 0 if stream.isatty() else PATIENCE)


def replay(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Judge a stored case on every target, or on one."""
    project = _project(arguments, Options(replay=Path.cwd() / arguments.case))
    for _, name in project.case.skins if project.case else ():
        skin_named(name)  # a name that was misspelt by hand is told before anything runs
    begin(project)
    try:
        verdicts = run_items(project, project.items)
    finally:
        project.output.release()
    return CODES[worst(verdicts)]


def run_items(project: Project, items: Sequence[Item]) -> list[Verdict]:
    """Run items and tell of each; their verdicts under the gate."""
    with Work(project) as work:
        return [_tell(work.run(item)) for item in items]


def _project(arguments: argparse.Namespace, options: Options) -> Project:
    project = open_project(Path(arguments.config), options)
    return only(project, arguments.target) if arguments.target else project


def _tell(done: Done) -> Verdict:
    head, _, rest = done.judged.text.partition("\n")
    verdict, _, about = head.partition(": ")
    print(f"{verdict:<12} {done.outcome.item.name}: {about}" + (f"\n{rest}" if rest else ""), flush=True)
    return done.judged.verdict


def catalogue(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Read the shipped content and the given folders strictly."""
    attacks = load_attacks(tuple(map(Path, arguments.attacks)))
    classes = load_fingerprint_classes(tuple(map(Path, arguments.fingerprints)))
    families = sorted({attack.family for attack in attacks})
    print(f"{len(attacks)} attacks in {len(families)} families: {', '.join(families)}")
    print(f"{len(classes)} fingerprint classes")
    for folder in (*arguments.attacks, *arguments.fingerprints):
        print(f"checked {shown(Path(folder).absolute())}")
    return 0
