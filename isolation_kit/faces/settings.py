"""How a run was started, kept beside its findings: a killed run is recovered under its own options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from json import dumps, loads
from os.path import relpath
from pathlib import Path
from typing import Any

from isolation_kit.config import Config, Gate, load
from isolation_kit.errors import ConfigError, UsageError
from isolation_kit.faces.options import Options
from isolation_kit.faces.output import Output, shown, write_file
from isolation_kit.faces.project import Project, project_of
from isolation_kit.faces.verdict import fail_on

__all__ = ["begin", "reopen"]


def begin(project: Project) -> None:
    """Prepare the output folder and, unless a case is replayed, write down how the run was started.

    Raises:
        UsageError: if a place cannot be written to, or another run writes there; then nothing was moved.
    """
    fresh = project.case is None
    project.output.prepare(project.report_paths, fresh=fresh)
    if fresh:
        write_file(project.output.settings, dumps(_settings(project), sort_keys=True, indent=1) + "\n")


def _settings(project: Project) -> dict[str, Any]:
    run, gate = project.config.run, project.config.gate
    baseline = gate.baseline if project.baseline is not None else None
    return {
        "seed": run.seed,
        "cases": run.cases,
        "profile": run.profile,
        "families": list(project.families),
        "fail_on": fail_on(project),
        "baseline": None if baseline is None else _from(baseline, project.output.folder),
        "shard": list(project.options.shard),
        "targets": list(dict.fromkeys(item.target for item in project.items)),
    }


def _from(path: Path, folder: Path) -> str:
    try:
        return Path(relpath(path, folder)).as_posix()
    except (ValueError, OSError):  # on another drive
        return str(path)


def reopen(path: Path) -> Project:
    """The project of the run that was killed, as it was started; its folder is locked.

    Raises:
        UsageError: if there is nothing to recover, or a run still writes there.
    """
    config = load(path)
    output = Output(config.output)
    output.lock()
    if not output.holds_findings:
        raise UsageError(
            f"{shown(output.folder)} holds no part and no findings log of a killed run, so there is nothing "
            "to recover, and the reports stay as they are; what an earlier run left may lie in its folder "
            "previous/: move parts, journal and run.json from there into the output folder and recover again"
        )
    output.release()
    raw = _read(output.settings)
    if not raw:
        project = project_of(config, Options())
    else:
        try:
            project = _as_started(config, raw)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise _damaged(output.settings) from None
    project.output.lock()
    return project


def _read(path: Path) -> Mapping[str, Any]:
    """The settings; nothing for a run that wrote none.

    Raises:
        ConfigError: if the file is damaged.
    """
    try:
        raw = loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise _damaged(path) from None
    if not isinstance(raw, dict) or not raw:
        raise _damaged(path)
    return raw


def _damaged(path: Path) -> ConfigError:
    return ConfigError(
        f"{shown(path)} says how the run was started, but it is damaged; remove it to recover under what "
        "isolation.toml says now, for example: rm .isolation/run.json"
    )


def _as_started(config: Config, raw: Mapping[str, Any]) -> Project:
    part, parts = raw["shard"]
    options = Options.parse(
        {
            **{name: raw[name] for name in ("cases", "seed", "profile", "fail_on")},
            "shard": f"{part}/{parts}",
        },
        config.root,
        "run.json: ",
    )
    baseline = None if raw["baseline"] is None else config.output / raw["baseline"]
    gate = Gate(options.fail_on or "any", baseline, config.gate.refused_share)
    run = replace(config.run, families=tuple(map(str, raw["families"])))
    project = project_of(replace(config, run=run, gate=gate), options)
    chosen = set(raw["targets"])
    return replace(project, items=tuple(item for item in project.items if item.target in chosen))
