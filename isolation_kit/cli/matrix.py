"""`matrix --mutants`: hunts every seeded defect with its named oracle and writes the table."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from isolation_kit.errors import UsageError
from isolation_kit.faces import shown
from isolation_kit.matrix import Row, alarms, markdown, rows
from isolation_kit.mutants import Mutant, all_mutants

__all__ = ["matrix"]

_SAMPLE = Path("reports/samples/mutants.md")
_NEAREST = 8
_SEEDS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?\Z")


def matrix(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Exit code 1 if a defect survives, is not reduced to its expected size, or the clean runtime alarms."""
    seeds, chosen, file = _seeds(arguments.seeds), _chosen(arguments.only), _file(arguments)
    done: list[Row] = []
    for row in rows(
        chosen,
        seeds,
        cases=arguments.cases,
        looks=0 if arguments.named else arguments.looks,
        jobs=max(1, arguments.jobs),
    ):
        done.append(row)
        print(_told(row), flush=True)
        if file:  # after each row: hours of work must not hang on the last one
            file.write_text(markdown(done, seeds, looks=arguments.looks), encoding="utf-8")
    found = () if arguments.only else alarms(seeds[:1], cases=150, jobs=max(1, arguments.jobs))
    for alarm in found:
        print(f"ALARM on the clean runtime: {alarm}")
    if file:
        print(f"wrote {shown(file.absolute())}")
    bad = [row for row in done if row.survived or row.larger]
    print(
        f"{len(done) - len(bad)} of {len(done)} killed as expected, {len(found)} alarms on the clean runtime"
    )
    return 1 if bad or found else 0


def _told(row: Row) -> str:
    name, mutant = row.mutant.name, row.mutant
    if row.survived:
        return f"SURVIVED  {name:34} {mutant.oracle}, at seeds {', '.join(map(str, row.survived))}"
    if row.larger:
        return f"LARGER    {name:34} {mutant.oracle}, expected {mutant.size}, {row.size} at best"
    others = sorted({name for look in row.looked for name in look.seen} - {mutant.oracle})
    also = f", also {', '.join(others)}" if others else ", alone" if row.looked else ""
    return f"killed    {name:34} {mutant.oracle} after {row.executions:g} executions{also}"


def _file(arguments: argparse.Namespace) -> Path | None:
    """Where the table goes: where the user says; the whole table in a checkout is its published sample."""
    if arguments.to:
        file = Path(arguments.to)
        if not file.parent.is_dir():
            raise UsageError(
                f"--to names a folder that is not there: {shown(file.parent.absolute())}; make it first, or "
                "give a file in a folder that is, for example --to mutants.md"
            )
        return file
    whole = not arguments.only and not arguments.named
    return _SAMPLE if whole and _SAMPLE.parent.is_dir() else None


def _seeds(text: str) -> tuple[int, ...]:
    match = _SEEDS.match(text)
    if (
        match is None
        or (match[2] and int(match[2]) < int(match[1]))
        or int(match[2] or 0) - int(match[1]) > 999
    ):
        raise UsageError(f"--seeds is {text[:20]!r}; allowed: one seed or a range, for example 7 or 1-20")
    return tuple(range(int(match[1]), int(match[2] or match[1]) + 1))


def _chosen(names: Sequence[str]) -> tuple[Mutant, ...]:
    known = {mutant.name: mutant for mutant in all_mutants()}
    return tuple(known[_full(name, tuple(known))] for name in names) if names else all_mutants()


def _full(name: str, known: Sequence[str]) -> str:
    """The defect's name that is `name` or, alone, begins with it.

    Raises:
        UsageError: if several begin so, or none does; it lists the nearest.
    """
    begun = [one for one in known if name and one.startswith(name)]
    whole = [one for one in begun if f"{one}_".startswith(f"{name}_")]  # m10 is not m104
    for found in (whole, begun):
        if len(found) == 1:
            return found[0]
    near = begun or get_close_matches(name, known, _NEAREST, 0) or list(known)
    listed = ", ".join(near[:_NEAREST]) + (f" and {len(near) - _NEAREST} more" if begun[_NEAREST:] else "")
    raise UsageError(
        f"--only names {name[:40]!r}, which {'begins several defects' if begun else 'begins no defect'}; "
        f"nearest: {listed}; give a whole name or what begins one alone, for example --only {near[0]}"
    )
