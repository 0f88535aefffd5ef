"""A line of the context snapshot log, read back, and what two of them have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from isolation_kit.runtime.hooks import Ending, Way
from isolation_kit.runtime.observe.lines import read_lines

__all__ = ["Moment", "Overlap", "Part", "Snapshot", "overlap", "read_snapshots"]

Moment = Literal["held", "born", "crossed", "died"]


@dataclass(frozen=True, slots=True)
class Part:
    """A message (`message.system`) or a field of the brief (`brief.goal`), in characters and tokens."""

    name: str
    characters: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One line of the log.

    Args:
        terms: keyed digests of terms: of what a parent holds, or of what stands in a child's context and is
            neither in its inputs nor a constant of its deployment; a clean child has none.
        inputs: keyed digests of the terms of a child's inputs; none where each message of its context is
            the deployment's own or plainly those inputs, for then there is nothing to compare.
        sampled: True if there are more than 256 terms. The lowest digests are kept, which are the same in
            every context, so two samples can be compared.
        carried: how many terms of the parent's history stand in the child's context and were not given.
        size: bytes that crossed.
        digest: keyed; of what crossed, or of the initial context as `request_line` of a child's log has it.
    """

    moment: Moment
    agent: str
    trace_id: str
    task_id: str
    parts: tuple[Part, ...] = ()
    terms: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    sampled: bool = False
    carried: int = 0
    way: Way | Literal[""] = ""
    size: int = 0
    digest: str = ""
    ending: Ending | Literal[""] = ""

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Snapshot:
        """The snapshot of a line."""
        lists = {name: tuple(raw.get(name, ())) for name in ("terms", "inputs")}
        parts = tuple(Part(*part) for part in raw.get("parts", ()))
        return cls(**{**raw, **lists, "parts": parts})


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a child's context shares with its parent's history, beside what it was given.

    Args:
        terms: their digests.
        compared: how many terms of the history were looked for; 0 shows nothing.
        sampled: True if a side was too large to be logged whole: no overlap then proves little.
    """

    terms: tuple[str, ...]
    compared: int
    sampled: bool


def overlap(held: Snapshot, born: Snapshot) -> Overlap:
    """The terms that only the parent's history has and that stand in the child's context nevertheless."""
    own = set(held.terms).difference(born.inputs)
    return Overlap(tuple(sorted(own.intersection(born.terms))), len(own), held.sampled or born.sampled)


def read_snapshots(path: Path) -> tuple[Snapshot, ...]:
    """The lines of a snapshot log."""
    return read_lines(path, Snapshot.from_dict)
