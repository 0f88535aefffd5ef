"""The same scenario gives the same trace.

A target that answers differently to the same case cannot be compared with itself: INCONCLUSIVE, with the
channels that differ. Sampled, for it doubles the executions.
"""

from __future__ import annotations

from collections.abc import Generator

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.oracles.protocol import Oracle, Variant
from isolation_kit.policy import Policy
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration
from isolation_kit.trace import Trace

__all__ = ["ORACLE"]

_NAME = "repeat"


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    if declaration.scope == "campaign":
        return Judgement.not_applicable(
            _NAME, "the target stays up over cases, so its sessions remember the first run"
        )
    first, second = yield (Variant(scenario), Variant(scenario, repeat=1))
    if first.error or second.error:
        return Judgement.not_applicable(_NAME, "the target failed; the controls say how")
    differing = sorted(_differing(first, second))
    if not differing:
        return Judgement(_NAME)
    return Judgement(
        _NAME,
        Verdict.INCONCLUSIVE,
        reason=f"the same case gave another trace at {', '.join(differing)}: make ids, clocks and order "
        "deterministic (stage.ids, stage.clock), or comparing oracles cannot judge",
    )


ORACLE = Oracle(
    name=_NAME,
    claim="the same scenario gives the same trace",
    check=_check,
    every={"quick": 50, "ci": 50, "deep": 10},
    source="article 002 section 1.1 (the same input drifts over two runs)",
    scheduled=True,
)


def _differing(first: Trace, second: Trace) -> set[str]:
    one = [(e.channel, e.agent, e.instance, e.turn, e.data) for e in first.events]
    two = [(e.channel, e.agent, e.instance, e.turn, e.data) for e in second.events]
    if one == two:
        return set()
    different = {f"{a[1]}/{a[0]}" for a, b in zip(one, two, strict=False) if a != b}
    return different or {"the number of events"}
