"""What a load run is told: the options that it adds to Locust's own."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from isolation_kit.errors import UsageError
from isolation_kit.load.scripts import FAMILIES, check_families

__all__ = ["LoadSettings", "add_options"]

_PREFIX = "isolation_"
_N = TypeVar("_N", int, float)


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """One load run.

    Args:
        seed: of all tokens; drawn for each run unless given, so that no run takes another's for its own.
        config: an isolation.toml, whose policy, gate and content are used; None for the defaults.
        output: the folder of journal and reports.
        recording: the file with the token of the service's side channel, None to judge responses only.
        tolerance: share 0..1 of requests that may fail before the run is an error.
        check: False sends the same load and judges nothing (to see what judging costs).
        step: seconds of a ramp's step.
        page: Locust's own HTML report, to be linked.
        command: how the run was started, as one would type it; "" where Locust's own words say it.
    """

    seed: int
    config: Path | None = None
    output: Path = Path(".isolation")
    families: tuple[str, ...] = FAMILIES
    recording: Path | None = None
    tolerance: float = 0.0
    check: bool = True
    step: float = 5.0
    page: str = ""
    url: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance <= 1:
            raise UsageError(
                f"a tolerance of {self.tolerance:g} is none; allowed is a share of 0 to 1, for example "
                "--tolerance 0.01"
            )
        if not 0 < self.step <= 3600:
            raise UsageError(
                f"a step of {self.step:g} seconds is none; allowed are more than 0 and at most "
                "3600, for example --step-seconds 5"
            )
        check_families(self.families)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> LoadSettings:
        """Those in Locust's parsed options."""
        own = {
            name.removeprefix(_PREFIX): value for name, value in options.items() if name.startswith(_PREFIX)
        }
        return cls(
            seed=_number(own, "seed", int, "7"),
            config=Path(own["config"]) if own["config"] else None,
            output=Path(own["output"]),
            families=tuple(filter(None, own["families"].split(","))) or FAMILIES,
            recording=Path(own["recording"]) if own["recording"] else None,
            tolerance=_number(own, "tolerance", float, "0.01"),
            check=own["check"] != "off",
            step=_number(own, "step_seconds", float, "5"),
            page=str(options.get("html_file") or ""),
            url=str(options.get("host") or ""),
            command=own["command"],
        )


def _number(own: Mapping[str, Any], name: str, kind: Callable[[str], _N], like: str) -> _N:
    try:
        return kind(own[name])
    except ValueError:
        option = name.replace("_", "-")
        raise UsageError(
            f"--{option} {own[name][:20]!r} is no number; for example --{option} {like}"
        ) from None


def add_options(parser: ArgumentParser) -> None:
    """Add this kit's options to Locust's parser."""
    group = parser.add_argument_group("Isolation")
    # Drawn where the command line is read: forked workers and connected ones then have the same seed.
    drawn = secrets.randbelow(1 << 40)
    for name, default, text in (
        ("seed", str(drawn), "seed of all tokens (default: another one for each run)"),
        ("config", "", "an isolation.toml, for its policy, gate and content"),
        ("output", ".isolation", "folder of the findings log and the reports"),
        ("families", "", "comma-separated families of attacks"),
        ("recording", "", "file with the token of the service's side channel"),
        ("tolerance", "0", "share 0..1 of requests that may fail"),
        ("check", "on", "off: the same load, nothing judged"),
        ("step-seconds", "5", "seconds of each step of a ramp"),
        ("command", "", "how the run was started, for its report"),
    ):
        group.add_argument(f"--isolation-{name}", default=default, help=text)
