"""What a load run was: sentences for the report, and figures by second and by concurrency."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Any

from isolation_kit.finding import Verdict, worst
from isolation_kit.load.counts import VIEWS, Counts

__all__ = ["Load", "series", "told", "too_many_failed"]

_ROWS = 16  # numbers of users: a ramp to a thousand has no more


@dataclass(frozen=True, slots=True)
class Load:
    """What a run was, beside its counters.

    Attributes:
        users: by second of the run, how many there were at most.
        leaks_from: the smallest number of users that a ramp saw leaking; 0 without.
        latency: milliseconds by name, for example `p95`; requests a second as `rate`.
        polluted: POLLUTION_DETECTED by second, as the service's own metrics tell.
        responses: TaskResponses by second.
        missed: views of children that did not arrive.
        troubles: why nothing, or not all, was proved.
        cut: why it is a part of a run only: nothing is proved of the rest.
        killed: why the run did not come to its end: only what was found is known then, no share of it.
        notes: further sentences for the report.
        seconds: of the wall clock.
        cpu_seconds: of this process; workers are others.
    """

    users: Mapping[int, int] = field(default_factory=dict)
    leaks_from: int = 0
    latency: Mapping[str, float] = field(default_factory=dict)
    polluted: Mapping[int, int] = field(default_factory=dict)
    responses: Mapping[int, int] = field(default_factory=dict)
    missed: int = 0
    tolerance: float = 0.0
    troubles: tuple[str, ...] = ()
    cut: str = ""
    killed: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def told(counts: Counts, load: Load) -> tuple[str, ...]:
    """The run in sentences: load, latency, what was looked at, and what came out by concurrency."""
    if load.killed:
        return (
            f"{load.killed}; restored from the findings log: {counts.leaks()} leaks and {counts.losses()} "
            "losses were found; what showed nothing was not counted, so neither rates nor shares are known",
        )
    checked = counts.sum("checked")
    named = [name for name in ("p50", "p95", "p99") if name in load.latency]
    times = ", ".join(f"{name} {load.latency[name]:.0f} ms" for name in named)
    lines = [load.cut] if load.cut else []
    lines += [
        f"load: {counts.get('sent')} requests, {load.latency.get('rate', 0):.0f}/s, {times or 'no latency'}; "
        f"{counts.sum('failed')} failed, {counts.get('abandoned')} broken off on purpose",
        f"{checked} {_judged(counts)} were searched for whole tokens; in {counts.get('decoded')} of them "
        "all encodings were undone as well (what was odd, one in 100, and all after one that leaked "
        "so), to look for tokens that the same process had made or seen",
        f"{counts.leaks()} of these {checked} showed a leak, {counts.losses()} a loss{_several(counts)}",
    ]
    if counts.sum("failed"):
        lines.append(f"failed requests: {counts.sum('failed')} ({_failures(counts)})")
    if sum(load.responses.values()):
        detected, responses = sum(load.polluted.values()), sum(load.responses.values())
        lines.append(
            f"POLLUTION_DETECTED per TaskResponse: {detected} of {responses} = {detected / responses:.4f}"
        )
    lines += [
        f"at {row['users']} user{'' if row['users'] == 1 else 's'}: "
        f"{row['leaks']} leaks in {row['checked']} checked ({row['share']:.4%})"
        for row in _by_users(counts, load)
    ]
    if counts.sum("unread"):
        lines.append(
            f"{counts.sum('unread')} bytes were not read: answers that were too long or not readable"
        )
    return tuple(lines)


def _several(counts: Counts) -> str:
    """Why findings are another number."""
    return ": each may show several kinds, and the findings count the kinds" if [*counts.hits()] else ""


def _judged(counts: Counts) -> str:
    """What was looked at: views of children only where the service recorded some."""
    views = any(family == VIEWS for (family, _), _ in counts.keys("checked"))
    return "responses and views" if views else "responses"


def _failures(counts: Counts) -> str:
    return ", ".join(f"{key[0]} {count}" for key, count in counts.keys("failed"))


def _by_users(counts: Counts, load: Load) -> list[dict[str, Any]]:
    """Leaks against concurrency: one row for each number of users, those with the most requests.

    What came in after the last user had gone, or before anybody was counted, belongs to the second beside it.
    """
    rows: dict[int, Counter[str]] = {}
    known = sorted(second for second, users in load.users.items() if users)
    for (moment, name), count in counts.keys("at") if known else ():
        second = known[max(0, bisect_right(known, int(moment)) - 1)]
        rows.setdefault(load.users[second], Counter())[name] += count
    most = sorted(rows, key=lambda users: (-rows[users]["requests"], users))[:_ROWS]
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
            "by_users": _by_users(counts, load),
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
    if too_many_failed(counts, load):
        found.append(Verdict.ERROR)
    if load.troubles or load.cut or load.missed or not counts.sum("checked"):
        found.append(Verdict.INCONCLUSIVE)
    return worst([*found, Verdict.PASS])


def too_many_failed(counts: Counts, load: Load) -> str:
    """The sentence that says so, or "" while no more requests failed than are tolerated."""
    failed, sent = counts.sum("failed"), counts.get("sent")
    if failed > load.tolerance * max(sent, 1):
        return f"{failed} of {sent} requests failed ({_failures(counts)}); at most {load.tolerance:.2%} may"
    return ""
