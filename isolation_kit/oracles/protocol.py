"""What an oracle is, and the driver that runs one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isolation_kit.finding import Finding, Judgement, Mode, Verdict
from isolation_kit.policy import Policy
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration
from isolation_kit.trace import Trace

__all__ = ["Check", "Oracle", "Variant", "drive", "mode_of", "verdict_of"]


@dataclass(frozen=True, slots=True)
class Variant:
    """A pure change of the base scenario, run for the `repeat`-th time.

    `inspect`: look around after each turn and after the case for what is left (`Trace.aftermath`).
    """

    scenario: Scenario
    repeat: int = 0
    inspect: bool = False


Check = Callable[
    [Scenario, Declaration, Policy], Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]
]


@dataclass(frozen=True, slots=True)
class Oracle:
    """One judge.

    Attributes:
        claim: what it asserts, in one sentence.
        every: per profile, it judges the first and then each `every`-th case (1: all, 0: none).
        source: article section or public link.
        scheduled: it can judge a stored case that has a schedule of its own; most variants cannot keep one.
        own_past: its variants bring the past along that its findings blame, so that they can be reduced.
        may_raise: a target may refuse one of its variants by raising; else that is an ERROR, never a pass.
    """

    name: str
    claim: str
    check: Check
    every: Mapping[str, int]
    source: str
    scheduled: bool = False
    own_past: bool = False
    may_raise: bool = False

    def samples(self, profile: str, index: int) -> bool:
        """True if the case with this running number is judged under the profile."""
        step = self.every.get(profile, 1)
        return step > 0 and index % step == 0


def drive(
    oracle: Oracle,
    scenario: Scenario,
    declaration: Declaration,
    policy: Policy,
    execute: Callable[[Variant], Trace],
) -> Judgement:
    """Run one oracle on one case. An oracle that raises is an ERROR of its own row, never a pass."""
    if scenario.schedule.gated and not oracle.scheduled:
        return Judgement.not_applicable(oracle.name, "the case has a schedule, which this oracle cannot keep")
    errors: list[str] = []
    try:
        steps = oracle.check(scenario, declaration, policy)
        wanted = next(steps)
        while True:
            traces = tuple(execute(variant) for variant in wanted)
            errors += [trace.error for trace in traces if trace.error]
            wanted = steps.send(traces)
    except StopIteration as end:
        return _returned(oracle, end.value, errors, lambda: execute(Variant(scenario)).error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # one that ends the process would end it green
        return _broken(oracle, f"failed with {type(error).__name__}")


def _returned(oracle: Oracle, given: Any, errors: Sequence[str], of_base: Callable[[], str]) -> Judgement:
    """The judgement that an oracle gave, if it is one; no pass where the target failed in a changed run."""
    if not isinstance(given, Judgement):
        return _broken(oracle, f"returned {type(given).__name__}; its check must return a Judgement")
    if wrong := _unsound(oracle, given):
        return _broken(oracle, f"returned a Judgement {wrong}")
    if errors and given.verdict is Verdict.PASS and not oracle.may_raise and not of_base():
        reason = f"in a run that {oracle.name} changed: {errors[0]}"
        return Judgement(oracle.name, Verdict.ERROR, reason=reason)
    return given


def _broken(oracle: Oracle, what: str) -> Judgement:
    return Judgement(oracle.name, Verdict.ERROR, reason=f"the oracle {oracle.name} itself {what}")


def _unsound(oracle: Oracle, given: Judgement) -> str:
    """What is wrong with a judgement that an oracle of somebody's own gave, or "": a leak must not pass."""
    if given.oracle != oracle.name:
        return "of another name; give it the name of its oracle"
    if not isinstance(given.verdict, Verdict):
        return f"with {type(given.verdict).__name__} for a verdict; allowed: {', '.join(Verdict)}"
    if not isinstance(given.findings, tuple) or not all(isinstance(one, Finding) for one in given.findings):
        return "whose findings are no tuple of Finding"
    if not isinstance(given.reason, str) or not isinstance(given.applicable, bool):
        return "whose reason is no str, or whose applicable is no bool"
    if not isinstance(given.masks, tuple) or not all(isinstance(mask, str) for mask in given.masks):
        return "whose masks are no tuple of str"
    shown, said = verdict_of(given.findings), given.verdict
    if said in (Verdict.LEAK, Verdict.LOSS, Verdict.PASS) and said is not shown:
        return f"that says {said}, but its findings say {shown}; verdict_of(findings) gives what they say"
    return ""


def mode_of(scenario: Scenario) -> Mode:
    """Structural under quiet puppets, exposure under parrots."""
    return Mode.STRUCTURAL if scenario.quiet else Mode.EXPOSURE


def verdict_of(findings: tuple[Finding, ...]) -> Verdict:
    """LEAK or LOSS if a finding that decides says so, else PASS."""
    kinds = {finding.kind for finding in findings if finding.counts}
    if Verdict.LEAK in kinds:
        return Verdict.LEAK
    return Verdict.LOSS if Verdict.LOSS in kinds else Verdict.PASS
