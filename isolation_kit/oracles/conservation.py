"""What a child is handed is as large as its task makes it, whatever was said before and however often.

Sizes are compared, not contents: context, requests, headers and offered tools of each delegation, with tokens
replaced by their place. One variant has both, a turn of chat in each session and the first delegating turn
once more, all before the case; only where a size differs, in three runs of each, the two are tried apart:

- longer history: a turn more in which nothing is handed over changes no delegation's size (`user.earlier`);
- one delegation more before them: the same task is handed over in the same size (`child.answer`, sideways).

Kills: 69 alone; sees 7, 42 and 45, and 4 where the count gains a digit.
Source: article 002 section 1.1 (the token curve of a parent that hands its context down).
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from functools import partial
from itertools import combinations

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement
from isolation_kit.oracles.paired import Compared, Pair, compare, concluded, equal, unfit_for_turns_before
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of
from isolation_kit.oracles.variants import chatted, pair, repeated
from isolation_kit.oracles.views import Label, Seen, Views, child_views, learn, scripted_label
from isolation_kit.policy import Policy
from isolation_kit.scenario import Scenario, Slot
from isolation_kit.target import Declaration
from isolation_kit.trace import Trace

__all__ = ["ORACLE"]

_NAME = "conservation"
_BLAME = (
    ("chat", Slot.USER_EARLIER, Direction.DOWN),
    ("repeated", Slot.CHILD_ANSWER, Direction.SIDEWAYS),
)


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    if reason := unfit_for_turns_before(scenario, declaration):
        return Judgement.not_applicable(_NAME, reason)
    (base,) = yield (Variant(scenario),)
    planned = sum(len(turn.delegations) for turn in scenario.turns)
    if base.error or base.refused or len(child_views(base)) < planned:
        return Judgement.not_applicable(_NAME, "the target failed or refused, or a child was not reached")
    longer = chatted(repeated(scenario))
    (trace,) = yield (Variant(longer),)
    label = scripted_label(scenario.places())
    sizes = partial(_sizes, label, policy.masks)
    if not trace.error and sizes(trace, longer.lead) == sizes(base):
        return equal(_NAME, policy.masks)
    # A size has no path of its own to mask: what changes it within one case is told by the Views.
    again = yield (Variant(scenario, 1), Variant(scenario, 2))
    views = [child_views(run, masks=policy.masks, label=label) for run in (base, *again)]
    learnt = [learn(one, two) for one, two in combinations(views, 2) if one != two]
    masks = {*policy.masks}.union(*(found for found, _ in learnt))
    rest = {path for _, left in learnt for path in left}
    sizes = partial(_sizes, label, masks)
    findings: list[Finding] = []
    for kind, slot, direction in _BLAME:
        _, varied = pair(scenario, kind)
        compared = yield from compare(Pair(scenario, varied, sizes, partial(sizes, lead=varied.lead)))
        masks |= compared.masks
        rest |= {*compared.rest}
        told = {(item.fingerprint.edge, item.fingerprint.channel) for item in findings}
        found = _findings(scenario, declaration, policy, compared, slot, direction, kind)
        # A delegation more makes the history longer too: what that alone explains is not said twice.
        findings += [item for item in found if (item.fingerprint.edge, item.fingerprint.channel) not in told]
    return concluded(_NAME, tuple(findings), masks, rest, policy)


ORACLE = Oracle(
    name=_NAME,
    claim="the size of what a child is handed is a function of its task",
    check=_check,
    every={"quick": 100, "ci": 8, "deep": 1},
    source="article 002 section 1.1",
)


def _sizes(label: Label, masks: Collection[str], trace: Trace, lead: int = 0) -> Views:
    """The sizes of each delegation's steps, those of the turns before the case left out."""
    views = child_views(trace, first_turn=lead, masks=masks, label=label)
    return {key: tuple(map(_size, view)) for key, view in views.items()}


def _size(seen: Seen) -> Seen:
    return seen._replace(data=b"%d bytes" % len(seen.data))  # no JSON number, which could be masked


def _findings(
    scenario: Scenario,
    declaration: Declaration,
    policy: Policy,
    compared: Compared,
    slot: Slot,
    direction: Direction,
    variant: str,
) -> tuple[Finding, ...]:
    findings: dict[Fingerprint, Finding] = {}
    for item in compared.differences:
        agent, channel = item.key.agent, str(item.channel)
        fingerprint = Fingerprint(declaration.name, declaration.edge(agent), slot, channel, str(direction))
        finding = Finding(
            fingerprint,
            _NAME,
            mode=mode_of(scenario),
            form="length or shape",
            turn=item.key.turn,
            variant=variant,
            allowed_by=policy.allowed_by(slot, channel, agent, direction),
        )
        findings.setdefault(fingerprint, finding)
    return tuple(findings[key] for key in sorted(findings))
