"""The first case of each finding of an item, and what it comes down to: the smallest that still shows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from isolation_kit.audit.earlier import joined, of_itself, writer_of
from isolation_kit.conversation import conversation
from isolation_kit.finding import COMPARED, Direction, Finding, Mode
from isolation_kit.fingerprints import Key
from isolation_kit.oracles import Oracle, all_oracles
from isolation_kit.oracles.variants import pair
from isolation_kit.outcome import Smallest
from isolation_kit.reduction import reduce
from isolation_kit.scenario import Scenario
from isolation_kit.trace import Trace

if TYPE_CHECKING:  # a campaign's items hold them; they name it in annotations only
    from isolation_kit.audit.campaign import Campaign

__all__ = ["FirstCases"]

_CAUSES = 20
_REDUCTION = 500
_REDUCTION_ITEM = 1500  # executions for all causes of an item: a framework's case costs 50 ms and more
_AFTER = str(Direction.AFTER)


class FirstCases:
    """The first case of each finding; `smallest` reduces them, by running candidates in the campaign."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.first: dict[Key, tuple[Scenario, str]] = {}
        self.witnesses: dict[Key, Finding] = {}  # each as the newest case shows it
        self.writers: dict[Key, Scenario] = {}  # whose residue the first case shows

    def add(self, finding: Finding, scenario: Scenario, trace: Trace) -> None:
        """Keep the case of a finding that is new, or that convinces more than what is kept of it."""
        key = (finding.fingerprint, finding.kind, finding.mode)
        if key in self.first and not self._convinces_more(finding, key):
            return
        self.first[key], self.witnesses[key] = (scenario, finding.oracle), finding
        if writer := writer_of(finding, trace, self.campaign.cases):
            self.writers[key] = writer

    def _convinces_more(self, finding: Finding, key: Key) -> bool:
        """True for a token in clear where only a comparison of runs was known; residue keeps what replays."""
        known = self.witnesses[key]
        return finding.plain and known.form in COMPARED and key[0].direction != _AFTER

    def smallest(self) -> list[Smallest]:
        """Each finding with its case, made smaller where its cause is not told yet and the budget lasts."""
        out: list[Smallest] = []
        causes: set[tuple[object, ...]] = set()
        total = 0
        judges = {oracle.name: oracle for oracle in all_oracles()}
        for key in sorted(self.first):
            fingerprint, kind, mode = key
            scenario, oracle = self.first[key]
            cause = (fingerprint.what, fingerprint.channel, kind, fingerprint.direction == _AFTER)
            spent, reduced = 0, False
            if (
                self._reducible(key, judges[oracle])
                and cause not in causes
                and len(causes) < _CAUSES
                and total < _REDUCTION_ITEM
            ):
                left = min(_REDUCTION, _REDUCTION_ITEM - total)
                before = self.campaign.executions
                smaller = self._smaller(key, scenario, judges[oracle], left)
                spent = self.campaign.executions - before  # a comparing oracle takes several a candidate
                total += spent
                if smaller is not None:
                    causes.add(cause)
                reduced = smaller is not None and left > spent
                scenario = smaller or scenario
            seen = self.witnesses[key]
            out.append(
                Smallest(
                    fingerprint,
                    kind,
                    mode,
                    oracle,
                    scenario,
                    reduced,
                    spent,
                    conversation(scenario, self.campaign.declaration),
                    pair(scenario, seen.variant) if seen.variant else (),
                    seen.path,
                )
            )
        return out

    def _smaller(self, key: Key, scenario: Scenario, oracle: Oracle, left: int) -> Scenario | None:
        """The smallest case; of residue one that shows it alone, or None where there is none."""
        witness, slot = self._witness(key, oracle, self.campaign.executions + left), key[0].what
        if key[0].direction == _AFTER and not oracle.own_past:
            return joined(scenario, self.writers.get(key), witness, left, slot)
        return reduce(scenario, witness, left, slot)[0]

    def _reducible(self, key: Key, oracle: Oracle) -> bool:
        """Residue is told from that of other cases by its token alone; exposures keep their first case."""
        return (
            self.campaign.plan.reduce
            and key[2] is Mode.STRUCTURAL
            and (key[0].direction != _AFTER or oracle.own_past or oracle.name == "canary")
            and not self.campaign.abandoned
            and (self.campaign.plan.deadline is None or time.monotonic() < self.campaign.plan.deadline)
        )

    def _witness(self, key: Key, oracle: Oracle, most: int) -> Callable[[Scenario], bool]:
        """Whether a candidate still shows the finding; once the campaign has run so many cases, none does."""

        plain = self.witnesses[key].plain

        def still_leaks(candidate: Scenario) -> bool:
            if self.campaign.abandoned or self.campaign.executions >= most:
                return False
            outcome, trace = self.campaign.judge(candidate, 0, 0, (oracle,))
            found = outcome.findings
            if key[0].direction == _AFTER and oracle.name == "canary":
                found = of_itself(candidate, self.campaign.declaration, self.campaign.plan.policy, trace)
            shown = [f for f in found if (f.fingerprint, f.kind, f.mode) == key and f.plain >= plain]
            if shown:
                self.witnesses[key] = shown[0]
            return bool(shown)

        return still_leaks
