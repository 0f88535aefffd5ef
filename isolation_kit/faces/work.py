"""One process's share of a run: campaigns, findings log and parts. Every face runs its items through this."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path

from isolation_kit.audit import BLOCK, Campaign, blocks
from isolation_kit.closing import Closing
from isolation_kit.config import place_of
from isolation_kit.conversation import conversation
from isolation_kit.errors import IsolationKitError
from isolation_kit.faces.output import write_file
from isolation_kit.faces.progress import Progress
from isolation_kit.faces.project import REPLAY, Project
from isolation_kit.faces.recover import recovered
from isolation_kit.faces.verdict import Judged, judge
from isolation_kit.finding import Fingerprint, Mode, Verdict
from isolation_kit.fingerprints import CaseOutcome, Tally
from isolation_kit.generate import SWEEP, sweep
from isolation_kit.hush import hushed, unpatched
from isolation_kit.journal import read
from isolation_kit.outcome import Item, ItemOutcome, Smallest
from isolation_kit.scenario import Scenario

__all__ = ["Done", "Work"]


@dataclass(frozen=True, slots=True)
class Done:
    """One item that ran: what it found, what that comes to, and where the part lies."""

    outcome: ItemOutcome
    judged: Judged
    part: Path


class Work(Closing):
    """Runs items in this process; a context manager.

    Args:
        worker: names the process's findings log, for example `main` or `gw0`.
        progress: hears of every case.
    """

    def __init__(self, project: Project, worker: str = "main", progress: Progress | None = None) -> None:
        self.project = project
        self._journal = project.output.journal(worker)
        self._journal.progress = self._progress = progress
        self._campaigns: dict[str, Campaign] = {}

    def run(self, item: Item) -> Done:
        """Run one item and store its part before anything is said of it."""
        with unpatched(), hushed():
            campaign = self._campaign(item.target)
            with self._told(item):
                outcome = self._outcome(campaign, item)
            if self.project.options.reveal:
                self._reveal(campaign, outcome)
        part = self.project.output.store(outcome)
        return Done(outcome, judge(self.project, outcome), part)

    def _told(self, item: Item) -> contextlib.AbstractContextManager[None]:
        if self._progress is None or self.project.case is not None:
            return contextlib.nullcontext()
        return self._progress.over(item, _expected(self.project, item))

    def _outcome(self, campaign: Campaign, item: Item) -> ItemOutcome:
        """What the item found; where the kit itself fails, what it had found until then."""
        case = self.project.case
        try:
            return campaign.run(item) if case is None else replayed(item, case, campaign.replay(case))
        except IsolationKitError as error:
            why = str(error)
        except Exception as error:
            why = f"a fault of the kit, {place_of(error)}; please report it"
        entries = read(self._journal.path).entries
        return replace(recovered(item, self.project.config.run.cases, entries, why), error=why, cut="")

    def _campaign(self, target: str) -> Campaign:
        if target not in self._campaigns:
            self._campaigns[target] = Campaign(
                self.project.declarations[target], self.project.plan(target), journal=self._journal
            )
        return self._campaigns[target]

    def _reveal(self, campaign: Campaign, outcome: ItemOutcome) -> None:
        folder = self.project.output.folder / "reveal"
        for scenario in dict.fromkeys(case.scenario for case in outcome.smallest):
            _, trace = campaign.judge(scenario, 0, 0, ())
            write_file(folder / f"{outcome.item.target}.{scenario.digest()}.json", trace.to_json(), 0o600)

    def close(self) -> None:
        """Tear every target down and close the findings log."""
        with unpatched(), hushed():
            for campaign in self._campaigns.values():
                # A target may have closed descriptors that are not its own; that must not cost the report.
                with contextlib.suppress(OSError):
                    campaign.close()
        self._campaigns.clear()
        with contextlib.suppress(OSError):
            self._journal.close()


def _expected(project: Project, item: Item) -> int:
    """How many cases an item has, if its family has that many different ones."""
    if item.family == SWEEP:
        return sum(1 for _ in sweep(project.declarations[item.target]))
    cases = project.config.run.cases
    mine = blocks(cases, project.options.shard)
    return sum(min(BLOCK, cases - block * BLOCK) for block in mine)


def replayed(item: Item, scenario: Scenario, case: CaseOutcome) -> ItemOutcome:
    """The outcome of an item that is one stored case, judged under every oracle."""
    tally = Tally()
    tally.add(case)
    return ItemOutcome(
        item=replace(item, family=REPLAY),
        requested=1,
        tally=tally,
        smallest=tuple(_shown(case, scenario)),
        error=case.error,
        failed=scenario if case.error else None,
    )


def _shown(case: CaseOutcome, scenario: Scenario) -> list[Smallest]:
    first: dict[tuple[Fingerprint, Verdict, Mode], Smallest] = {}
    for finding in case.findings:
        key = (finding.fingerprint, finding.kind, finding.mode)
        first.setdefault(
            key,
            Smallest(*key, finding.oracle, scenario, False, 0, conversation(scenario), path=finding.path),
        )
    return [first[key] for key in sorted(first)]
