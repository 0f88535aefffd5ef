"""How a load run was started, kept beside its findings: a killed run is recovered under its own options."""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps, loads
from os.path import relpath
from pathlib import Path
from typing import Any

from isolation_kit.faces import Output, write_file
from isolation_kit.load.settings import LoadSettings

__all__ = ["Started", "note", "started"]


@dataclass(frozen=True, slots=True)
class Started:
    """A load run: its options, its first second since the epoch, and whether it came to its end."""

    settings: LoadSettings
    zero: int
    ended: bool


def note(output: Output, settings: LoadSettings, zero: int, *, ended: bool) -> None:
    """Write it down: where an audit has its own options, so that both are set aside with their findings."""
    told = {
        "seed": settings.seed,
        "families": list(settings.families),
        "tolerance": settings.tolerance,
        "command": settings.command,
        "config": None if settings.config is None else _from(settings.config, output.folder),
        "zero": zero,
        "ended": ended,
    }
    write_file(output.settings, dumps({"load": told}, sort_keys=True, indent=1) + "\n")


def started(output: Output) -> Started | None:
    """What `note` wrote; None where no load run did."""
    try:
        raw = loads(output.settings.read_bytes())
        return _read(raw["load"], output.folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # an audit's, or damaged: whoever reads audits tells so


def _read(raw: dict[str, Any], folder: Path) -> Started:
    settings = LoadSettings(
        seed=int(raw["seed"]),
        config=None if raw["config"] is None else folder / raw["config"],
        output=folder,
        families=tuple(map(str, raw["families"])),
        tolerance=float(raw["tolerance"]),
        command=str(raw.get("command", "")),
    )
    return Started(settings, int(raw["zero"]), bool(raw["ended"]))


def _from(path: Path, folder: Path) -> str:
    try:
        return Path(relpath(path, folder)).as_posix()
    except (ValueError, OSError):  # on another drive
        return str(path)
