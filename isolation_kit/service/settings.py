"""What can be set of a service, and the bounds within which it stays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from isolation_kit.errors import UsageError
from isolation_kit.runtime.sharding import SHARDS

__all__ = ["Launching", "ServiceSettings", "TargetName"]

TargetName = Literal["task", "rules"]
Launching = Literal["inline", "process"]


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """One service.

    Args:
        target: the parent of article 001 (`task`) or of article 000 (`rules`).
        twin: the name of a seeded defect (`twins`), "" for none.
        latency: seconds that a scripted model or tool takes. Above 0, turns interleave as they do in life.
        parents: how many parents share the 64 shards.
        sessions: open sessions of the whole service; beyond, the longest idle one is closed.
        turns: of one session; beyond, the user is told to open another one.
        in_flight: turns at once; beyond, a request is refused at once.
        seconds: the longest that a turn may take.
        body: bytes of a request.
        store: the file of the session store, None for one in memory.
        launch: where children live, in this process or in one each.

    Raises:
        UsageError: for a name or a number out of bounds.
    """

    target: TargetName = "task"
    twin: str = ""
    latency: float = 0.001
    parents: int = SHARDS
    sessions: int = 10_000
    turns: int = 50
    in_flight: int = 2_000
    seconds: float = 30.0
    body: int = 1 << 20
    store: Path | None = None
    launch: Launching = "inline"

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("target", self.target, get_args(TargetName)),
            ("launch", self.launch, get_args(Launching)),
        ):
            if value not in allowed:
                raise UsageError(
                    f"{name} {str(value)[:40]!r} is unknown; allowed: {', '.join(allowed)}; for example "
                    f"--{name} {allowed[0]}"
                )
        bounds: tuple[tuple[str, float, float, float], ...] = (
            ("latency", self.latency, 0, 10),
            ("parents", self.parents, 1, SHARDS),
            ("sessions", self.sessions, 1, 10_000_000),
            ("turns", self.turns, 1, 10_000),
            ("in_flight", self.in_flight, 1, 100_000),
            ("seconds", self.seconds, 0.01, 600),
            ("body", self.body, 1_000, 64 << 20),
        )
        for name, number, least, most in bounds:
            if not least <= number <= most:
                raise UsageError(
                    f"{name} is {number:g}; allowed are {least:g} to {most:g}, for example {name}={least:g}"
                )
