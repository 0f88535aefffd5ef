"""The commands of load tests: `serve` starts what is loaded, `load` loads it and judges."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from isolation_kit.errors import UsageError
from isolation_kit.faces import Output, shown
from isolation_kit.service import ServiceSettings

__all__ = ["load", "serve"]

_ERROR = 3


def serve(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Serve the reference runtime until interrupted."""
    settings = ServiceSettings(
        target=arguments.target or _target_of(arguments.twin),
        twin=arguments.twin,
        latency=arguments.latency / 1000,
        parents=arguments.parents,
        sessions=arguments.sessions,
        store=None if arguments.store is None else Path(arguments.store),
        launch=arguments.launch,
    )
    record = None if arguments.record is None else Path(arguments.record)
    _extra("isolation_kit.service.serving", "serve", "starlette").serve(
        settings, arguments.host, arguments.port, record=record, ready=_ready
    )
    return 0


def load(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Run Locust in a process of its own, because it patches sockets; its exit code is the verdict's."""
    from isolation_kit.load.command import locust_command
    from isolation_kit.load.process import run
    from isolation_kit.load.views import check_recording

    command = locust_command(arguments, words)
    if arguments.recording and not arguments.no_check:
        check_recording(arguments.host, Path(arguments.recording))
    began = time.time()
    code = run(command).code
    if code < 0:
        _tell_killed(-code, Path(arguments.output), began)
    # Locust itself ends with 1 when it fails: that is a leak only where a run was judged.
    return _ERROR if code < 0 or (code == 1 and not _judged(Path(arguments.output), began)) else code


def _tell_killed(signal: int, output: Path, began: float) -> None:
    """What became of the run, and what can be made of it: a report only where something was found."""
    from isolation_kit.load.recover import is_load

    folder, note = Output(output), Output(output).settings
    if is_load(output) and note.stat().st_mtime >= began - 1 and folder.holds_findings:
        then = (
            "what it had found stands in its findings log; for a report: isolation-kit report "
            f"{shown(output / 'report.json')} --recover"
        )
    else:
        then = "it had found nothing until then, so nothing is proved and nothing to recover; load again"
    print(f"isolation-kit: the load run was killed (signal {signal}); {then}", file=sys.stderr)


def _judged(output: Path, began: float) -> bool:
    try:
        return (output / "load.json").stat().st_mtime >= began
    except OSError:
        return False


def _target_of(twin: str) -> Any:
    """The target that has the twin's seam."""
    from isolation_kit.service.twins import TWINS

    return next((known.target for known in TWINS if known.name == twin), "task")


def _ready(url: str) -> None:
    print(f"serving on {url} (interrupt to stop)", flush=True)


def _extra(module: str, extra: str, package: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise UsageError(
            f"{package} is not installed; it comes with an extra, for example: "
            f"pip install 'isolation-kit[{extra}]'"
        ) from None
