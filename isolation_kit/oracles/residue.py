"""A reused instance behaves as a fresh one; a session sees nothing of one that ended before it.

One variant: before the case runs a session of another user, and an earlier session of the case's first user,
each a copy of the case's last two turns that delegate, with tokens of their own. All Views of the case, the
children's and the parent's, must be what they are without it; only where one differs, in three runs of each,
the two sessions are tried apart. Blamed is the slot of an ended session's token, else the parent's state.
Kills: 6, 9, 43 and 45, 70 alone; sees 7, 35 and 42.
Source: article 002 section 5.5 (nothing is left of a child); NousResearch/hermes-agent#228.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement
from isolation_kit.oracles.paired import Compared, Pair, compare, concluded, equal, unfit_for_turns_before
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of
from isolation_kit.oracles.variants import after
from isolation_kit.oracles.views import Difference, Views, child_views, parent_views, place_label
from isolation_kit.policy import Policy
from isolation_kit.scenario import Place, Scenario, Slot
from isolation_kit.target import Declaration
from isolation_kit.trace import Trace

__all__ = ["ORACLE"]

_NAME = "residue"
_BEFORE = re.compile(rb"<([a-z0-9_.]+)/before>")


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    if reason := unfit_for_turns_before(scenario, declaration):
        return Judgement.not_applicable(_NAME, reason)
    (base,) = yield (Variant(scenario),)
    if base.error or base.refused or not child_views(base):
        return Judgement.not_applicable(_NAME, "no child was reached, or the target failed or refused")
    later = after(scenario, "both")
    (trace,) = yield (Variant(later),)
    case = _Case(scenario, declaration, policy)
    if not trace.error and case.views(trace, later.lead) == case.views(base):
        return equal(_NAME, policy.masks)
    findings: dict[Fingerprint, Finding] = {}
    masks: set[str] = set(policy.masks)
    rest: set[str] = set()
    for whose in ("user", "session"):
        compared = yield from case.compared(whose)
        masks |= compared.masks
        rest |= set(compared.rest)
        if compared.differences:
            (again,) = yield (Variant(after(scenario, whose)),)
            for finding in case.findings(whose, compared, again):
                findings.setdefault(finding.fingerprint, finding)
    found = tuple(findings[key] for key in sorted(findings))
    return concluded(_NAME, found, masks, rest, policy)


ORACLE = Oracle(
    name=_NAME,
    claim="a reused instance behaves as a fresh one, and a session sees nothing of one that ended",
    check=_check,
    every={"quick": 100, "ci": 8, "deep": 1},
    source="article 002 section 5.5",
    own_past=True,
)


class _Case:
    """One case, and what its recipients saw when it came first and when it came after others."""

    def __init__(self, scenario: Scenario, declaration: Declaration, policy: Policy) -> None:
        self.scenario = scenario
        self.declaration = declaration
        self.policy = policy
        self.own = scenario.places()

    def views(self, trace: Trace, lead: int = 0) -> Views:
        """The Views of the case's own turns, without those before it."""
        masks, root = self.policy.masks, self.declaration.root
        return {
            **child_views(trace, first_turn=lead, masks=masks, label=self._label),
            **parent_views(trace, root, first_turn=lead, masks=masks, label=self._label),
        }

    def _label(self, place: Place) -> str:
        """What an ended session planted is told apart from the case's own."""
        if place in self.own:
            return place_label(place)
        before = place.user >= 0 and place.turn < 0
        return f"{place.slot}/{'before' if before else f'u{place.user}'}"

    def compared(self, whose: str) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Compared]:
        later = after(self.scenario, whose)
        both = Pair(self.scenario, later, self.views, lambda trace: self.views(trace, later.lead))
        return (yield from compare(both))

    def findings(self, whose: str, compared: Compared, again: Trace) -> list[Finding]:
        then = self.views(again, after(self.scenario, whose).lead)
        return [
            self._finding(item, slot, whose)
            for item in compared.differences
            for slot in _foreign(item, then) or [Slot.PARENT_STATE]
        ]

    def _finding(self, item: Difference, slot: str, whose: str) -> Finding:
        agent, channel = item.key.agent, str(item.channel)
        return Finding(
            Fingerprint(
                self.declaration.name, self.declaration.edge(agent), slot, channel, str(Direction.AFTER)
            ),
            _NAME,
            mode=mode_of(self.scenario),
            form="residue",
            path=item.path,
            turn=item.key.turn,
            variant=f"after:{whose}",
            allowed_by=self.policy.allowed_by(slot, channel, agent, Direction.AFTER),
        )


def _foreign(item: Difference, views: Views) -> list[str]:
    """The slots whose tokens of an ended session stand in the step that differs."""
    view = views.get(item.key, ())
    data = view[item.step].data if item.step < len(view) else b""
    return sorted({match[1].decode() for match in _BEFORE.finditer(data)})
