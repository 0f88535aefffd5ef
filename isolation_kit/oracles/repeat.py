"""The same scenario gives the same trace, but for what `[policy] masks` leave out.

A target that answers differently to the same case cannot be compared with itself: INCONCLUSIVE, with the
channels that differ and the masks that would make them equal. Sampled, for it doubles the executions.
"""

from __future__ import annotations

from collections.abc import Generator

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.oracles.paired import equal
from isolation_kit.oracles.protocol import Oracle, Variant
from isolation_kit.oracles.views import Key, Seen, Views, learn, masked
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
    one, two = _steps(first), _steps(second)
    if one != two and policy.masks:
        one, two = masked(one, policy.masks), masked(two, policy.masks)
    if one == two:
        return equal(_NAME, policy.masks)
    if policy.masks and not scenario.quiet:
        return Judgement.not_applicable(_NAME, "a parrot copies what a mask leaves out to where none is")
    masks, rest = learn(one, two)
    return Judgement(
        _NAME, Verdict.INCONCLUSIVE, reason=_reason(one, two, masks, rest), masks=tuple(sorted(masks))
    )


ORACLE = Oracle(
    name=_NAME,
    claim="the same scenario gives the same trace",
    check=_check,
    every={"quick": 50, "ci": 50, "deep": 10},
    source="article 002 section 1.1 (the same input drifts over two runs)",
    scheduled=True,
)


def _steps(trace: Trace) -> Views:
    """Each event by itself and in its order, under its agent, turn and instance."""
    return {
        Key(f"{e.agent}/{e.channel}", e.turn, number): (Seen(e.channel, str(e.instance), e.data),)
        for number, e in enumerate(trace.events)
    }


def _reason(one: Views, two: Views, masks: frozenset[str], rest: tuple[str, ...]) -> str:
    """What differs, and what to do about it; short, for a report cuts a long reason."""
    places = sorted({key.agent for key in one.keys() & two.keys() if one[key] != two[key]})
    said = f"the same case gave another trace at {', '.join(places) or 'the number of events'}"
    advice = (
        "either something survives from one case to the next (a module's cache, a singleton), or ids, clocks "
        "and order must be made deterministic (stage.ids, stage.clock)"
    )
    if rest or not masks:
        return f"{said}: {advice}"
    listed = ", ".join(f'"{mask}"' for mask in sorted(masks))
    return f"{said}: declare under [policy] masks = [{listed}], or {advice}"
