"""All observers of a deployment, wired to one folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from isolation_kit.errors import UsageError
from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.hooks import Hooks
from isolation_kit.runtime.observe.curve import TokenCurve
from isolation_kit.runtime.observe.decisions import DecisionLog
from isolation_kit.runtime.observe.lines import LineFile
from isolation_kit.runtime.observe.metrics import Metrics
from isolation_kit.runtime.observe.names import names_of
from isolation_kit.runtime.observe.snapshots import SnapshotLog
from isolation_kit.runtime.observe.terms import Measure
from isolation_kit.runtime.observe.tracer import Tracer
from isolation_kit.runtime.observe.traces import RawTraces, TraceLog
from isolation_kit.runtime.several import Several
from isolation_kit.runtime.text import Digest
from isolation_kit.runtime.tokens import TokenCounter, utf8_ceiling

__all__ = ["Watching", "watch"]


@dataclass(frozen=True, slots=True)
class Watching:
    """What watches: `hooks` go into the runtime, the rest is read. `files` tell what could not be written."""

    hooks: Several
    metrics: Metrics
    curve: TokenCurve
    tracer: Tracer
    files: tuple[LineFile, ...]

    @property
    def lost(self) -> int:
        """What is missing: lines not written, watchers that raised, ends of spans without a beginning."""
        return self.hooks.failed + self.tracer.unmatched + sum(file.lost for file in self.files)


@contextmanager
def watch(
    folder: Path,
    specs: tuple[ChildSpec, ...],
    digest: Digest,
    *,
    parents: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    count: TokenCounter = utf8_ceiling,
    clock: Callable[[], float] = time.monotonic,
    share: float = 0.01,
    raw: bool = False,
) -> Iterator[Watching]:
    """Write `snapshots.jsonl`, `decisions.jsonl` and `traces.jsonl` in `folder` until the block ends.

    Args:
        folder: made, with mode 0700, if it does not exist; one that exists keeps its mode.
        specs: the children; their names, tools and constants are what may be shown.
        parents: the names of the parents; `names` are those of rules and other codes.
        share: of the traces without a failure, the share (0 to 1) that is kept with all spans.
        raw: True keeps texts of failing traces in clear, in files of mode 0600; False keeps none.

    Raises:
        UsageError: if the folder cannot be made.
    """
    _make(folder)
    known = names_of(specs, digest, parents=parents, others=names)
    measure = Measure(count, digest)
    files = tuple(LineFile(folder / f"{name}.jsonl") for name in ("snapshots", "decisions", "traces"))
    metrics, curve, log = Metrics(known), TokenCurve(), TraceLog(files[2], share=share)
    ends = [log.trace_ended]
    if raw:
        texts = RawTraces(folder, lambda: tracer.where())
        ends.append(texts.trace_ended)
    tracer = Tracer(
        known,
        measure,
        spans=(metrics.span_ended, curve.span_ended),
        traces=tuple(ends),
        clock=clock,
    )
    watchers: list[Hooks] = [
        tracer,
        SnapshotLog(files[0], known, measure, specs, tracer.where),
        DecisionLog(files[1], known, tracer.where),
        metrics,
    ]
    if raw:
        watchers.append(texts)
    try:
        yield Watching(Several(*watchers), metrics, curve, tracer, files)
    finally:
        for file in files:
            file.close()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder for what is watched cannot be made ({type(error).__name__}); give one below a "
            "folder in which this user may write, for example watch(Path('observed'), ...)"
        ) from None
