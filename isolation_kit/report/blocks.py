"""What a run says of itself: how it was started, and the only place where times stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isolation_kit.report.clean import Scrub

__all__ = ["RunBlock", "Timing"]

_PASTED = re.compile(r"(?!-)[A-Za-z0-9_./-]{1,100}\.toml")


@dataclass(frozen=True, slots=True)
class RunBlock:
    """How a run was started, as far as its findings depend on it.

    Attributes:
        versions: distribution name to version, for the kit, Python and the targets' frameworks.
        dirty: True if the working tree had changes that are not committed.
        masks: paths that comparing oracles leave out.
        shard: `i/n`, or "" for a whole run.
        policy_digest: 8 hex digits of the policy; "" takes those of the policy given to `build`.
        case_folder: where the smallest cases are stored, as one would type it.
        config: the configuration file as one would type it, where it is not `isolation.toml`.
        kind: "audit" (generated cases, puppets for models) or "load" (users of a service that runs).
        users: of a load run, how many at once at most; 0 where it is not known.
        leaks_from: of a load run, the smallest number of users that its ramp saw leaking; 0 without.
    """

    seed: int
    profile: str = "ci"
    cases_requested: int = 0
    families: tuple[str, ...] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""
    dirty: bool = False
    masks: tuple[str, ...] = ()
    shard: str = ""
    policy_digest: str = ""
    case_folder: str = ".isolation/cases"
    config: str = ""
    kind: str = "audit"
    users: int = 0
    leaks_from: int = 0

    def document(self, scrub: Scrub) -> dict[str, Any]:
        """The block as it stands in a report."""
        return {
            "seed": self.seed,
            "profile": scrub(self.profile),
            "cases_requested": self.cases_requested,
            "families": [scrub(name) for name in self.families],
            "command": scrub(self.command, 400),
            "versions": {scrub(name): scrub(text) for name, text in sorted(self.versions.items())},
            "commit": scrub(self.commit),
            "dirty": self.dirty,
            "masks": sorted(scrub(mask) for mask in self.masks),
            "shard": scrub(self.shard),
            "policy_digest": scrub(self.policy_digest),
            "case_folder": scrub(self.case_folder),
            # It stands in a command to paste.
            "config": self.config if _PASTED.fullmatch(self.config) else "",
            "kind": self.kind,
            **({"users": self.users, "leaks_from": self.leaks_from} if self.kind == "load" else {}),
        }


@dataclass(frozen=True, slots=True)
class Timing:
    """When a run started (ISO 8601) and what it took, in seconds; `sweep_seconds` by target."""

    started: str = ""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    sweep_seconds: Mapping[str, float] = field(default_factory=dict)

    def add(self, other: Timing) -> Timing:
        """The earlier start and the sums, in whole milliseconds so that any grouping gives the same."""
        starts = sorted(text for text in (self.started, other.started) if text)
        names = sorted({*self.sweep_seconds, *other.sweep_seconds})
        return Timing(
            starts[0] if starts else "",
            _sum(self.wall_seconds, other.wall_seconds),
            _sum(self.cpu_seconds, other.cpu_seconds),
            {
                name: _sum(self.sweep_seconds.get(name, 0.0), other.sweep_seconds.get(name, 0.0))
                for name in names
            },
        )

    def document(self, scrub: Scrub) -> dict[str, Any]:
        """The block as it stands in a report."""
        return {
            "started": scrub(self.started),
            "wall_seconds": _sum(self.wall_seconds, 0.0),
            "cpu_seconds": _sum(self.cpu_seconds, 0.0),
            "sweep_seconds": {
                scrub(name): _sum(value, 0.0) for name, value in sorted(self.sweep_seconds.items())
            },
        }


def _sum(one: float, two: float) -> float:
    return (round(one * 1000) + round(two * 1000)) / 1000
