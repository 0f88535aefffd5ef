"""What is known of an item that came to no outcome: its process was killed, or the run was interrupted."""

from __future__ import annotations

from collections.abc import Sequence

from isolation_kit.conversation import conversation
from isolation_kit.finding import Fingerprint, Judgement, Mode, Verdict
from isolation_kit.fingerprints import CaseOutcome, Tally
from isolation_kit.journal import Entry
from isolation_kit.outcome import Item, ItemOutcome, Smallest

__all__ = ["recovered"]


def recovered(item: Item, requested: int, entries: Sequence[Entry], why: str) -> ItemOutcome:
    """An outcome from the journal: the cases that showed something, and why it is not the whole.

    Its counters know only cases with findings, so they support no share; a note says so. An item that had
    begun is an error, one that had shown nothing is only cut: it has no case, which is never a pass.
    """
    mine = [entry for entry in entries if entry.item == item.name]
    tally = Tally()
    for entry in mine:
        tally.add(_case(entry))
    notes: tuple[str, ...] = ()
    if mine:
        notes = (f"{item.name}: restored from the findings log; cases without a finding were not counted",)
    return ItemOutcome(
        item=item,
        requested=requested,
        tally=tally,
        smallest=_first_cases(mine),
        cut=why,
        error=why if mine else "",
        notes=notes,
    )


def _case(entry: Entry) -> CaseOutcome:
    oracles = sorted({finding.oracle for finding in entry.findings})
    judgements = []
    for oracle in oracles:
        findings = tuple(finding for finding in entry.findings if finding.oracle == oracle)
        kinds = {finding.kind for finding in findings if finding.counts}
        verdict = min(kinds, key=tuple(Verdict).index, default=Verdict.PASS)
        judgements.append(Judgement(oracle, verdict, findings))
    return CaseOutcome(
        block=entry.block,
        index=entry.index,
        digest=entry.digest,
        mode=entry.findings[0].mode if entry.findings else Mode.STRUCTURAL,
        judgements=tuple(judgements),
    )


def _first_cases(entries: Sequence[Entry]) -> tuple[Smallest, ...]:
    first: dict[tuple[Fingerprint, Verdict, Mode], Smallest] = {}
    for entry in entries:
        if entry.scenario is None:
            continue
        for finding in entry.findings:
            key = (finding.fingerprint, finding.kind, finding.mode)
            if key not in first:
                lines = conversation(entry.scenario)
                first[key] = Smallest(
                    *key, finding.oracle, entry.scenario, False, 0, lines, path=finding.path
                )
    return tuple(first[key] for key in sorted(first))
