"""From counters and the findings log to the same report that `pytest --isolation` writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps
from typing import Any

from isolation_kit.conversation import conversation
from isolation_kit.finding import Finding, Fingerprint, Mode, Verdict, worst
from isolation_kit.fingerprints import Hits, Tally
from isolation_kit.journal import Entry
from isolation_kit.load.counts import VIEWS, Counts
from isolation_kit.load.scripts import SLOTS
from isolation_kit.outcome import Item, ItemOutcome, Smallest
from isolation_kit.target import Agent, Declaration, Via
from isolation_kit.trace import Channel

__all__ = ["ROOT", "SERVICE", "Load", "declaration_of", "item_name", "outcomes", "series", "told"]

SERVICE, ROOT = "service", "parent"
_STRUCTURAL = str(Mode.STRUCTURAL)


@dataclass(frozen=True, slots=True)
class Load:
    """What a run was, beside its counters.

    Attributes:
        users: by second of the run, how many there were.
        latency: milliseconds by name, for example `p95`; requests a second as `rate`.
        polluted: POLLUTION_DETECTED by second, as the service's own metrics tell.
        responses: TaskResponses by second.
        missed: views of children that did not arrive.
        troubles: why nothing, or not all, was proved.
        killed: why the run did not come to its end: only what was found is known then, no share of it.
        notes: further sentences for the report.
        seconds: of the wall clock.
        cpu_seconds: of this process; workers are others.
    """

    users: Mapping[int, int] = field(default_factory=dict)
    latency: Mapping[str, float] = field(default_factory=dict)
    polluted: Mapping[int, int] = field(default_factory=dict)
    responses: Mapping[int, int] = field(default_factory=dict)
    missed: int = 0
    tolerance: float = 0.0
    troubles: tuple[str, ...] = ()
    killed: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    cpu_seconds: float = 0.0


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
        error=load.killed if load.killed and n else _error(counts, load) if first else "",
        notes=(*told(counts, load), *load.notes) if first else (),
        cut=load.killed or ("" if n else "nothing of it was answered"),
        cpu_seconds=load.cpu_seconds if first else 0.0,
        wall_seconds=load.seconds if first else 0.0,
    )


def _error(counts: Counts, load: Load) -> str:
    failed, sent = counts.sum("failed"), counts.get("sent")
    if failed > load.tolerance * max(sent, 1):
        kinds = ", ".join(f"{key[0]} {count}" for key, count in counts.keys("failed"))
        return f"{failed} of {sent} requests failed ({kinds}); at most {load.tolerance:.2%} may"
    return ""


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
    troubles = [*load.troubles]
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


def told(counts: Counts, load: Load) -> tuple[str, ...]:
    """The run in sentences: load, latency, what was looked at, and what came out by concurrency."""
    if load.killed:
        return (
            f"{load.killed}; restored from the findings log: {counts.leaks()} leaks and {counts.losses()} "
            "losses were found; what showed nothing was not counted, so neither rates nor shares are known",
        )
    checked = counts.sum("checked")
    named = {"p50": "p50", "p95": "p95", "p99": "p99"}
    times = ", ".join(
        f"{label} {load.latency[name]:.0f} ms" for name, label in named.items() if name in load.latency
    )
    lines = [
        f"load: {counts.get('sent')} requests, {load.latency.get('rate', 0):.0f}/s, {times or 'no latency'}; "
        f"{counts.sum('failed')} failed, {counts.get('abandoned')} broken off on purpose",
        f"{checked} responses and views were searched for whole tokens; in {counts.get('decoded')} of them "
        "all encodings were undone as well (what was odd, and one in 100), to look for tokens that the same "
        "process had made or seen",
        f"leaks: {counts.leaks()}, losses: {counts.losses()}, transport failures: {counts.sum('failed')}",
    ]
    if sum(load.responses.values()):
        detected, responses = sum(load.polluted.values()), sum(load.responses.values())
        lines.append(
            f"POLLUTION_DETECTED per TaskResponse: {detected} of {responses} = {detected / responses:.4f}"
        )
    lines += [
        f"at {row['users']} users: {row['leaks']} leaks in {row['checked']} checked ({row['share']:.4%})"
        for row in by_users(counts, load)
    ]
    if counts.sum("unread"):
        lines.append(
            f"{counts.sum('unread')} bytes were not read: answers that were too long or not readable"
        )
    return tuple(lines)


def by_users(counts: Counts, load: Load) -> list[dict[str, Any]]:
    """Leaks against concurrency: one row for each number of users that stayed for a second."""
    rows: dict[int, Counter[str]] = {}
    for (second, name), count in counts.keys("at"):
        users = load.users.get(int(second))
        if users:
            rows.setdefault(users, Counter())[name] += count
    most = sorted(rows, key=lambda users: (-rows[users]["requests"], users))[:8]
    return [
        {
            "users": users,
            "requests": rows[users]["requests"],
            "checked": rows[users]["checked"],
            "leaks": rows[users]["leaks"],
            "losses": rows[users]["losses"],
            "share": rows[users]["leaks"] / max(rows[users]["checked"], 1),
        }
        for users in sorted(most)
    ]


def series(counts: Counts, load: Load) -> str:
    """Everything by second and by concurrency, as JSON: for those who want to draw it."""
    rows: dict[int, dict[str, Any]] = {}
    for (second, name), count in counts.keys("at"):
        rows.setdefault(int(second), {})[name] = count
    for title, column in (
        ("users", load.users),
        ("pollution_detected", load.polluted),
        ("task_responses", load.responses),
    ):
        for moment, value in column.items():
            rows.setdefault(moment, {})[title] = value
    return dumps(
        {
            "seconds": [{"second": second, **rows[second]} for second in sorted(rows)],
            "by_users": by_users(counts, load),
            "failures": {key[0]: count for key, count in counts.keys("failed")},
            "latency_ms": dict(load.latency),
            "wall_seconds": round(load.seconds, 3),
            "cpu_seconds": round(load.cpu_seconds, 3),
            "verdict": str(_verdict(counts, load)),
            "counters": {
                name: counts.get(name) for name in ("sent", "abandoned", "decoded", "slow", "reconnected")
            }
            | {
                "checked": counts.sum("checked"),
                "leaks": counts.leaks(),
                "losses": counts.losses(),
                "failed": counts.sum("failed"),
                "missed_views": load.missed,
            },
        },
        indent=1,
    )


def _verdict(counts: Counts, load: Load) -> Verdict:
    found = []
    if counts.leaks():
        found.append(Verdict.LEAK)
    if counts.losses():
        found.append(Verdict.LOSS)
    if _error(counts, load):
        found.append(Verdict.ERROR)
    if load.troubles or load.missed or not counts.sum("checked"):
        found.append(Verdict.INCONCLUSIVE)
    return worst([*found, Verdict.PASS])
