"""The published table: seeded defect x oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isolation_kit.matrix.run import Row
from isolation_kit.oracles import all_oracles

__all__ = ["markdown"]

_HEAD = """# Seeded defects and the oracles that kill them

Each defect is the clean reference runtime with one small change. **K**: its named oracle killed it at every
seed; **k**: at some; **+**: this oracle saw it as well at a look of {looks} cases at each of three seeds; a
dot: {looked}. Executions: median of those until the first finding by the named oracle alone.
Smallest: users, turns and secrets of the reduced case. Seconds: CPU time of hunt and reduction, median.

Written by `isolation-kit matrix --mutants --seeds {first}-{last} --to FILE`.

"""


def markdown(found: Sequence[Row], seeds: Sequence[int], *, looks: int = 50) -> str:
    """The table as Markdown."""
    looked = any(row.looked for row in found)
    head = _HEAD.format(
        looks=looks,
        looked="it did not, or not within those cases" if looked else "nobody but the named oracle looked",
        first=min(seeds),
        last=max(seeds),
    )
    return head + "\n".join([*_lines(found, len(seeds)), *_below(found, seeds)]) + "\n"


def _lines(found: Sequence[Row], seeds: int) -> Iterator[str]:
    names = [oracle.name for oracle in all_oracles()]
    yield f"| defect | what is wrong | {' | '.join(names)} | killed | executions | smallest | seconds |"
    yield "|" + "---|" * (len(names) + 6)
    for row in found:
        cells = " | ".join(_cell(row, name) for name in names)
        size = " / ".join(map(str, row.size)) if row.size else "-"
        killed = f"{seeds - len(row.survived)} of {seeds}"
        link = row.mutant.link
        what = f"[{row.mutant.summary}]({link})" if link.startswith("https://") else row.mutant.summary
        yield (
            f"| {row.mutant.name} | {what} | {cells} | {killed} | {row.executions:g} | {size} | "
            f"{row.seconds:.1f} |"
        )


def _cell(row: Row, oracle: str) -> str:
    if oracle == row.mutant.oracle:
        return "k" if row.survived else "K"
    return "+" if row.seen_by(oracle) else "."


def _below(found: Sequence[Row], seeds: Sequence[int]) -> Iterator[str]:
    dead = sum(1 for row in found if not row.survived)
    yield f"\n{dead} of {len(found)} defects killed by their named oracle at all of {len(seeds)} seeds."
    if not any(row.looked for row in found):
        return
    alone: dict[str, list[str]] = {}
    for row in found:
        if row.only:
            alone.setdefault(row.mutant.oracle, []).append(row.mutant.name)
    yield "\nKilled by one oracle alone:\n"
    for oracle, names in sorted(alone.items()):
        yield f"- {oracle}: {', '.join(names)}"
