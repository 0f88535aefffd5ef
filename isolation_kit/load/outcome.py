"""From counters and the findings log to the same report that `pytest --isolation` writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from isolation_kit.conversation import conversation
from isolation_kit.finding import Finding, Fingerprint, Mode, Verdict
from isolation_kit.fingerprints import Hits, Tally
from isolation_kit.journal import Entry
from isolation_kit.load.counts import VIEWS, Counts
from isolation_kit.load.scripts import SLOTS
from isolation_kit.load.summary import Load, told, too_many_failed
from isolation_kit.outcome import Item, ItemOutcome, Smallest
from isolation_kit.target import Agent, Declaration, Via
from isolation_kit.trace import Channel

__all__ = ["ROOT", "SERVICE", "declaration_of", "item_name", "outcomes"]

SERVICE, ROOT = "service", "parent"
_STRUCTURAL = str(Mode.STRUCTURAL)


def item_name(family: str) -> str:
    """The item of a family under load, as the findings log names it."""
    return _item(0, family).name


def _item(order: int, family: str) -> Item:
    return Item(order, SERVICE, f"load-{family}")


def declaration_of(children: Iterable[str]) -> Declaration:
    """The service as a target: a parent, and the children that the side channel showed."""
    names = sorted(children)
    agents = {ROOT: Agent(children={name: Via("task") for name in names})}
    return Declaration(
        SERVICE,
        ROOT,
        {**agents, **{name: Agent() for name in names}},
        taps=frozenset({Channel.FINAL_OUTPUT}),
    )


def outcomes(
    counts: Counts, load: Load, families: Sequence[str], entries: Sequence[Entry], views: bool
) -> tuple[ItemOutcome, ...]:
    """One outcome a family, and one for the recorded views."""
    names = (*families, VIEWS) if views else tuple(families)
    made = [_outcome(order, name, counts, load, entries) for order, name in enumerate(names)]
    return tuple(made)


def _outcome(order: int, family: str, counts: Counts, load: Load, entries: Sequence[Entry]) -> ItemOutcome:
    item = _item(order, family)
    first = order == 0
    n = sum(count for (name, _), count in counts.keys("checked") if name == family)
    return ItemOutcome(
        item=item,
        requested=0,
        tally=_tally(family, counts, load if first else Load()),
        smallest=_smallest([entry for entry in entries if entry.item == item.name]),
        error=load.killed if load.killed and n else too_many_failed(counts, load) if first else "",
        notes=(*told(counts, load), *load.notes) if first else (),
        cut=load.killed or load.cut or ("" if n else "nothing of it was answered"),
        cpu_seconds=load.cpu_seconds if first else 0.0,
        wall_seconds=load.seconds if first else 0.0,
    )


def _tally(family: str, counts: Counts, load: Load) -> Tally:
    tally = Tally()
    for (name, window), count in counts.keys("checked"):
        if name == family:
            tally.cases[_STRUCTURAL] += count
            tally.block_sizes[int(window), _STRUCTURAL] += count
    n = tally.cases[_STRUCTURAL]
    if n:
        tally.executions = n
        tally.able["canary", _STRUCTURAL] = n
        tally.planted.update(dict.fromkeys(SLOTS, n))
        if family == VIEWS:
            tally.channels.update(
                {(name, str(Channel.CHILD_REQUEST)): seen for (name,), seen in counts.keys("agent")}
            )
        else:
            tally.channels[ROOT, str(Channel.FINAL_OUTPUT)] = n
    for (name, verdict), count in counts.keys("verdict"):
        if name == family:
            tally.verdicts[verdict] += count
            tally.oracles["canary", verdict] += count
    _add_hits(tally, family, counts)
    _add_troubles(tally, load)
    tally.task_responses = sum(load.responses.values())
    if polluted := sum(load.polluted.values()):
        tally.pollution["undeclared fields of tools", "lookup"] = polluted
    return tally


def _add_hits(tally: Tally, family: str, counts: Counts) -> None:
    for (fingerprint, kind, form, window, allowed, name), count in counts.hits():
        if name != family:
            continue
        known = Hits(
            blocks=Counter({window: count}),
            oracles=Counter({"canary": count}),
            forms=Counter({form: count}),
            tiers=Counter({"confirmed": count}),
            allowed_by=allowed,
            first=(window, 0, ""),
        )
        key = (fingerprint, kind, Mode.STRUCTURAL)
        tally.hits[key] = tally.hits[key].merge(known) if key in tally.hits else known


def _add_troubles(tally: Tally, load: Load) -> None:
    """What was not proved makes the run inconclusive, and says why."""
    troubles = [load.cut, *load.troubles] if load.cut else [*load.troubles]
    if load.missed:
        troubles.append(f"{load.missed} views of children were not seen: dropped, or lost with a service")
    for why in troubles:
        tally.oracles["canary", str(Verdict.INCONCLUSIVE)] += 1
        tally.reasons["canary", why, str(Verdict.INCONCLUSIVE)] += 1


def _smallest(entries: Sequence[Entry]) -> tuple[Smallest, ...]:
    first: dict[tuple[Fingerprint, Verdict], Smallest] = {}
    for entry in entries:
        if entry.scenario is None:
            continue
        for finding in entry.findings:
            key = (finding.fingerprint, finding.kind)
            if key not in first:
                first[key] = _case(finding, entry)
    return tuple(first[key] for key in sorted(first))


def _case(finding: Finding, entry: Entry) -> Smallest:
    assert entry.scenario is not None
    lines = conversation(entry.scenario)
    return Smallest(
        finding.fingerprint, finding.kind, finding.mode, finding.oracle, entry.scenario, False, 0, lines
    )
