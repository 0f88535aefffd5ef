"""Whether a record itself can be believed: what the kit got wrong must never look like a clean target."""

from __future__ import annotations

from isolation_kit.scenario import Place
from isolation_kit.trace import Channel, Trace

__all__ = ["doubt_of_record", "same_secrets"]


def doubt_of_record(trace: Trace) -> str:
    """Why this record proves nothing, or "": events that are missing from it, or tokens that are no names."""
    rows = (trace.events, trace.lives, trace.planted)
    last = max((part[-1].seq for part in rows if part), default=-1)
    if last + 1 != sum(map(len, rows)):
        return "the record has a gap: events were numbered and then dropped"
    if sum(trace.answered) > len(trace.seen(Channel.FINAL_OUTPUT)):
        return "a turn was answered and its answer is not in the record"
    owners: dict[str, Place] = {}
    for item in trace.planted:
        if owners.setdefault(item.token, item.place) != item.place:
            return f"{item.place.label} and {owners[item.token].label} share one canary, so it names neither"
    return ""


def same_secrets(one: Trace, other: Trace) -> bool:
    """True if two runs that are to differ in their secrets planted the same ones everywhere."""
    tokens = {item.place: item.token for item in one.planted}
    both = [(tokens[item.place], item.token) for item in other.planted if item.place in tokens]
    return bool(both) and all(mine == theirs for mine, theirs in both)
