"""One comparison of two cases: a difference counts if it holds in three runs of each, and within none;
before it is told, in nine of the base and six of the other.

A target that answers differently to one and the same case is no leak: what differs within a case is named,
with the masks that would make it comparable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass
from itertools import combinations

from isolation_kit.finding import Finding, Judgement, Verdict
from isolation_kit.oracles.protocol import Variant, verdict_of
from isolation_kit.oracles.views import Difference, Views, differences, learn, masked
from isolation_kit.policy import Policy
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration
from isolation_kit.trace import Trace

__all__ = ["Compared", "Pair", "Runs", "compare", "concluded", "equal", "unfit_for_turns_before", "unsteady"]

Runs = Generator[tuple[Variant, ...], tuple[Trace, ...], "Compared"]
_REPEATS = (1, 2)
_SURE = (3, 4, 5, 6, 7, 8)  # of the base, which comparisons share, before a difference is a leak
_VARIED = _SURE[:3]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cases, and the Views of each that must be equal."""

    base: Scenario
    varied: Scenario
    of_base: Callable[[Trace], Views]
    of_varied: Callable[[Trace], Views]


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison came to.

    Attributes:
        differences: the first of each recipient, held in all repeats.
        masks: paths that differ within one case; they were left out.
        rest: what differs within one case and cannot be masked.
        error: why a run gave nothing to compare, or "".
    """

    differences: tuple[Difference, ...] = ()
    masks: frozenset[str] = frozenset()
    rest: tuple[str, ...] = ()
    error: str = ""


def compare(pair: Pair) -> Runs:
    """Run both cases once, and where they differ twice more each."""
    base, varied = yield (Variant(pair.base), Variant(pair.varied))
    if trouble := base.error or varied.error or base.refused or varied.refused:
        return Compared(error=trouble)
    one, two = pair.of_base(base), pair.of_varied(varied)
    if one == two:
        return Compared()
    again = yield tuple(Variant(case, repeat) for case in (pair.base, pair.varied) for repeat in _REPEATS)
    half = len(_REPEATS)
    ones = [one, *(pair.of_base(trace) for trace in again[:half])]
    twos = [two, *(pair.of_varied(trace) for trace in again[half:])]
    learnt = [learn(a, b) for runs in (ones, twos) for a, b in combinations(runs, 2) if a != b]
    masks = frozenset(mask for found, _ in learnt for mask in found)
    rest = tuple(sorted({path for _, left in learnt for path in left}))
    ones, twos = [masked(views, masks) for views in ones], [masked(views, masks) for views in twos]
    held = [item for item in differences(ones[0], twos[0]) if _steady(item, ones) and _steady(item, twos)]
    if held:  # of a target that chooses at random one of two wordings, one pair in 32 looks steady so far
        bases = tuple(Variant(pair.base, number) for number in _SURE)
        more = yield (*bases, *(Variant(pair.varied, number) for number in _VARIED))
        half = len(_SURE)
        ones += [masked(pair.of_base(trace), masks) for trace in more[:half]]
        twos += [masked(pair.of_varied(trace), masks) for trace in more[half:]]
        sure = [item for item in held if _steady(item, ones) and _steady(item, twos)]
        if len(sure) < len(held):
            chance = {f"{item.channel} {item.path}".rstrip() for item in held if item not in sure}
            rest = tuple(sorted({*rest, *chance}))
        held = sure
    return Compared(tuple(held), masks, rest)


def _steady(item: Difference, runs: list[Views]) -> bool:
    return all(views.get(item.key) == runs[0].get(item.key) for views in runs)


def equal(oracle: str, masks: Collection[str] = ()) -> Judgement:
    """A pass; where declared masks left something out, it says what."""
    listed = tuple(sorted(masks))
    return Judgement(oracle, reason=f"compared without {', '.join(listed)}" if listed else "", masks=listed)


def unfit_for_turns_before(scenario: Scenario, declaration: Declaration) -> str:
    """Why a case cannot be compared with itself after other turns, or ""."""
    if declaration.scope == "campaign":
        return "the target stays up over cases, so that no run is its first"
    if not scenario.quiet:
        return "a parrot's own copying would differ"
    if scenario.concurrent:
        return "turns that run at once have no turn before them"
    if not any(turn.delegations for turn in scenario.turns):
        return "the case hands nothing to a child"
    if scenario.lead:
        return "the case has turns before it already"
    return ""


def concluded(
    oracle: str, findings: tuple[Finding, ...], masks: Collection[str], rest: Collection[str], known: Policy
) -> Judgement:
    """The judgement of some comparisons: what was found, else INCONCLUSIVE where runs of one case differ."""
    listed = tuple(sorted(masks))
    if not findings and (rest or set(masks) - {*known.masks}):
        reason = unsteady(frozenset(masks), tuple(sorted(rest)))
        return Judgement(oracle, Verdict.INCONCLUSIVE, reason=reason, masks=listed)
    return Judgement(oracle, verdict_of(findings), findings, masks=listed)


def unsteady(masks: frozenset[str], rest: tuple[str, ...]) -> str:
    """The reason of an INCONCLUSIVE: what differs within one case, and what to do about it."""
    said = "the same case gave another View each time"
    if rest:
        said += (
            f" at {', '.join(rest[:5])}: something survives between cases (a module's cache), or make ids, "
            "clocks, order deterministic (stage.ids, stage.clock)"
        )
    if masks:
        listed = ", ".join(f'"{mask}"' for mask in sorted(masks)[:5])
        said += f"{'; and' if rest else ':'} declare under [policy] masks = [{listed}]"
    return said
