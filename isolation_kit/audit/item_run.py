"""One item while it runs: gets its cases, counts them, and reduces what they showed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.strategies import SearchStrategy

from isolation_kit.audit.first_cases import FirstCases
from isolation_kit.audit.plan import BLOCK, FAMILIES, blocks
from isolation_kit.detect.selftest import missed
from isolation_kit.errors import ConfigError
from isolation_kit.finding import Verdict
from isolation_kit.fingerprints import Tally
from isolation_kit.generate import FAMILIES as GENERATORS
from isolation_kit.generate import dressed, sweep
from isolation_kit.oracles import Oracle
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.scenario import Scenario
from isolation_kit.trace import CHILD_CHANNELS, Trace

if TYPE_CHECKING:  # a campaign starts its item runs; they name it in annotations only
    from isolation_kit.audit.campaign import Campaign

__all__ = ["ItemRun"]

_HOPELESS = 10


class ItemRun:
    """The counters and first cases of one item while it runs."""

    def __init__(self, campaign: Campaign, item: Item) -> None:
        self.campaign = campaign
        self.plan = campaign.plan
        self.item = item
        self.tally = Tally()
        self.found = FirstCases(campaign)
        self.error = ""
        self.failed: Scenario | None = None
        self.index = 0
        self.enough = False

    # -- the two ways to get cases -----------------------------------------------------------------------

    def sweep(self) -> ItemOutcome:
        declaration = self.campaign.declaration
        reached: set[str] = set()
        tapped: set[str] = set()
        number = 0
        for number, scenario in enumerate(sweep(declaration), start=1):
            trace = self.case(self.seeded(scenario, 0, number), 0, self.plan.judges())
            reached |= {event.agent for event in trace.events if event.channel in CHILD_CHANNELS}
            tapped |= {str(event.channel) for event in trace.events}
            if self.campaign.abandoned or self.enough:
                break
        unreached = tuple(
            (child, "the sweep did not reach it; let the target offer the way to it, or declare [[untested]]")
            for child in declaration.children
            if child not in reached and child not in self.plan.untested
        )
        if self.plan.until is None and (lost := missed(self.plan.seed)):
            self.error = self.error or (
                f"the detector does not find its own probe as {', '.join(lost)}: a fault of the kit, and its "
                "silence proves nothing; install it anew"
            )
        blind = {str(tap) for tap in declaration.taps if str(tap) not in tapped}
        if not self.campaign.hears_logs():
            blind.add("log")
        return replace(self.outcome(number), unreached=unreached, not_tapped=tuple(sorted(blind)))

    def census(self, only: Sequence[int] | None = None) -> ItemOutcome:
        """The cases of one family; `only` these blocks, where given."""
        family = GENERATORS.get(self.item.family)
        attacks = tuple(a for a in self.plan.attacks if a.family == self.item.family)
        if family is None or not attacks:
            raise ConfigError(
                f"family {self.item.family!r} has no {'generator' if family is None else 'attacks'}; "
                f"allowed: {', '.join(FAMILIES)}; correct families in isolation.toml or add attack files"
            )
        build = partial(family.build, attacks, self.campaign.declaration)
        cut = ""
        mine = blocks(self.plan.cases, self.plan.shard) if only is None else only
        requested = sum(min(BLOCK, self.plan.cases - block * BLOCK) for block in mine)
        for block in mine:
            cut = self.stop()
            if cut:
                break
            self._block(family.draws, build, block, min(BLOCK, self.plan.cases - block * BLOCK))
        if not cut and self.tally.n < requested:
            cut = (
                self.stop() or f"exhausted: the family has no more different cases than these {self.tally.n}"
            )
        return replace(self.outcome(requested), cut=cut)

    def _block(
        self, draws: SearchStrategy[Any], build: Callable[[Any], Scenario], block: int, size: int
    ) -> None:
        # A case's number says where it stands in the item, whichever worker runs its block.
        self.index = block * BLOCK

        @seed(f"{self.plan.seed}/{self.item.target}/{self.item.family}/{block}")
        @settings(
            max_examples=size,
            phases=(Phase.generate,),
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            derandomize=False,
        )
        @given(draws)
        def cases(drawn: Any) -> None:
            if not (self.campaign.abandoned or self.hopeless or self.enough):
                oracles = self.plan.judges(self.index)
                scenario = self.seeded(build(drawn), block, self.index)
                worn = dressed(scenario, self.plan.skins, self.campaign.declaration, self.index)
                self.case(worn, block, oracles)

        cases()

    def stop(self) -> str:
        """Why no further block starts, or ""."""
        if self.campaign.abandoned:
            return "not run: the target hung"
        if self.enough:
            return "stopped at the first finding that was looked for"
        if self.hopeless:
            return f"stopped: the first {_HOPELESS} cases all failed"
        if self.plan.deadline is not None and time.monotonic() >= self.plan.deadline:
            return "cut by --isolation-max-time"
        return ""

    @property
    def hopeless(self) -> bool:
        """True if the target failed in every one of the first cases."""
        errors = self.tally.verdicts[Verdict.ERROR]
        return self.tally.n >= _HOPELESS and errors == self.tally.n

    # -- one case ----------------------------------------------------------------------------------------

    def seeded(self, scenario: Scenario, block: int, index: int) -> Scenario:
        """The drawn scenario with a seed of its own, so that no two cases share a token."""
        text = f"{self.plan.seed}/{self.item.target}/{self.item.family}/{block}/{index}"
        number = int.from_bytes(blake2b(text.encode(), digest_size=6).digest(), "big")
        return replace(scenario, seed=number)

    def case(self, scenario: Scenario, block: int, oracles: Sequence[Oracle]) -> Trace:
        outcome, trace = self.campaign.judge(scenario, block, self.index, oracles)
        if self.campaign.journal is not None:
            # On disk before anybody hears of it: a killed run loses nothing that was announced.
            self.campaign.journal.case(self.item.name, block, self.index, scenario, outcome.findings)
        self.index += 1
        self.tally.add(outcome)
        if outcome.error and not self.error:
            self.error, self.failed = outcome.error, scenario
        for finding in outcome.findings:
            if self.plan.until is not None and not self.plan.until(finding):
                continue
            self.enough = self.plan.until is not None
            self.found.add(finding, scenario, trace)
        return trace

    # -- what it came to ---------------------------------------------------------------------------------

    def outcome(self, requested: int) -> ItemOutcome:
        return ItemOutcome(
            item=self.item,
            requested=requested,
            tally=self.tally,
            smallest=tuple(self.found.smallest()),
            error=self.error,
            failed=self.failed,
        )
