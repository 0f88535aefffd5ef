"""What a command line may say about a run: the same options, checked in the same words, for both faces."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

from isolation_kit.config import Config, FailOn, Profile, ReportFile, duration, report_file, shard
from isolation_kit.errors import UsageError

__all__ = ["Options", "applied"]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one run; None means: what `isolation.toml` says."""

    cases: int | None = None
    seed: int | None = None
    profile: Profile | None = None
    max_time: float | None = None
    reports: tuple[ReportFile, ...] = ()
    baseline: Path | None = None
    update_baseline: bool = False
    fail_on: FailOn | None = None
    replay: Path | None = None
    shard: tuple[int, int] = (1, 1)
    reveal: bool = False

    @classmethod
    def parse(cls, raw: Mapping[str, Any], folder: Path, prefix: str) -> Options:
        """Check the texts that a command line gave.

        Args:
            raw: by option name without prefix and with `_` for `-`; absent and None are the same.
            folder: what relative paths are meant from.
            prefix: how messages name the options, for example `--isolation-`.

        Raises:
            UsageError: for the first value that is not allowed.
        """
        readers: Mapping[str, Callable[[Any], Any]] = {
            "cases": lambda text: _whole(text, 1, 1_000_000),
            "seed": lambda text: _whole(text, 0, 2**63 - 1),
            "profile": lambda text: _one_of(text, get_args(Profile)),
            "max_time": duration,
            "reports": lambda texts: tuple(report_file(text, folder) for text in texts),
            "baseline": lambda text: _path(text, folder),
            "update_baseline": bool,
            "fail_on": lambda text: _one_of(text, get_args(FailOn)),
            "replay": lambda text: _path(text, folder),
            "shard": shard,
            "reveal": bool,
        }
        values = {}
        for name, read in readers.items():
            if raw.get(name) is not None:
                option = prefix + {"reports": "report"}.get(name, name).replace("_", "-")
                try:
                    values[name] = read(raw[name])
                except UsageError as error:
                    raise UsageError(f"{option}: {error}") from None
        return cls(**values)


def applied(config: Config, options: Options) -> Config:
    """The configuration with what the command line says instead.

    Raises:
        UsageError: if a baseline is asked for and nothing says where it is.
    """
    run, gate = config.run, config.gate
    run = replace(
        run,
        cases=run.cases if options.cases is None else options.cases,
        seed=run.seed if options.seed is None else options.seed,
        profile=options.profile or run.profile,
        max_time=run.max_time if options.max_time is None else options.max_time,
    )
    gate = replace(gate, fail_on=options.fail_on or gate.fail_on, baseline=options.baseline or gate.baseline)
    if gate.baseline is None and (options.update_baseline or gate.fail_on == "new"):
        asked = "to update the baseline" if options.update_baseline else 'to fail on "new" leaks only'
        raise UsageError(
            f"this run was asked {asked}, but nothing says where the baseline is; write "
            'baseline = "isolation-baseline.json" into [gate] of isolation.toml, or name it on the command '
            "line (under pytest: --isolation-baseline isolation-baseline.json)"
        )
    return replace(config, run=run, gate=gate, reports=(*config.reports, *options.reports))


def _whole(text: object, low: int, high: int) -> int:
    digits = re.fullmatch(r"\s*([0-9]{1,20})\s*", str(text))
    number = int(digits[1]) if digits else low - 1
    if not low <= number <= high:
        raise UsageError(
            f"{str(text)[:20]!r} is not allowed; give a whole number from {low} to {high}, for example "
            f"{max(low, 7)}"
        )
    return number


def _one_of(text: str, allowed: tuple[str, ...]) -> Any:
    if text not in allowed:
        raise UsageError(
            f"{text[:20]!r} is not allowed; give one of {', '.join(allowed)}, for example {allowed[0]}"
        )
    return cast("Any", text)


def _path(text: str, folder: Path) -> Path:
    if not text.strip():
        raise UsageError("an empty path was given; name a file, for example isolation-baseline.json")
    return folder / text
