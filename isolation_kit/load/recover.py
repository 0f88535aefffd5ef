"""A load run that was killed: its findings log becomes the report that it did not come to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isolation_kit.errors import UsageError
from isolation_kit.faces import Output, shown
from isolation_kit.load.counts import VIEWS
from isolation_kit.load.outcome import item_name
from isolation_kit.load.run import Finished, Run
from isolation_kit.load.started import started
from isolation_kit.load.summary import Load

__all__ = ["is_load", "recover"]

_WHY = "the load run was killed before it could judge itself"


def is_load(folder: Path) -> bool:
    """True if the last run that began in this output folder was a load run."""
    return started(Output(folder)) is not None


def recover(folder: Path, command: Sequence[str]) -> Finished:
    """Write the reports of the load run that was killed in `folder`, from what it found until then.

    Raises:
        UsageError: if it goes on, if it came to its end, or if it had found nothing.
    """
    output = Output(folder)
    output.lock()
    try:
        known = started(output)
        if known is None or known.ended:
            raise UsageError(
                f"the load run in {shown(folder)} came to its end, so there is nothing to recover; show its "
                f"report: isolation-kit report {shown(folder / 'report.json')}"
            )
        entries, remarks = output.journalled()
        if not entries:
            raise UsageError(
                f"{_WHY}, and up to then it had found nothing: {shown(output.journal_folder)} holds no "
                f"finding{''.join(f'; {remark}' for remark in remarks)}. What it had checked is not known, "
                "so nothing is proved; load again, for example: isolation-kit load --host URL --users 100"
            )
    finally:
        output.release()
    run = Run(known.settings, zero=known.zero)
    run.output.lock()
    recorded = any(entry.item == item_name(VIEWS) for entry in entries)
    return run.finish(Load(killed=_WHY), recorded=recorded, command=command)
