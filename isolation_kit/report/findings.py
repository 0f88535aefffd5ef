"""The findings as rows that a person reads: those that count, what to do about them, and the folded rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.finding import COMPARED
from isolation_kit.report.advice import advice
from isolation_kit.report.rows import recipient, worst_family
from isolation_kit.report.words import capital, count_words, listed, of_load, replay_line, share_words, story

__all__ = ["EXPOSURES_COUNT", "exposure_words", "finding_row", "folded", "grouped", "remedies", "size_of"]

_MARKS: Mapping[str, str] = {
    "leak": "LEAK",
    "loss": "LOSS",
    "exposure": "exposure",
    "suspect": "suspect",
    "allowed": "allowed",
}
EXPOSURES_COUNT = 'Exposures do not count unless [policy] reachable = "deny".'
_EXPOSURE = "An exposure is seen only under parrots: puppets that repeat all they see."
_NOTES: Mapping[str, tuple[str, str]] = {
    "exposure": ("exposure", f"{_EXPOSURE} {EXPOSURES_COUNT}"),
    "suspect": ("suspect", "Found by likeness and not confirmed: shown, never counted."),
    "allowed": ("allowed finding", "Opened by an [[allow]] entry of the policy: shown, not counted."),
}
_FOLDED_SHOWN = 25
_OTHERS = ("across", "after", "sideways")  # whose data it is; that a leak goes down or up, its place says
_UNSEEN: Mapping[str, str] = {
    "derived": "what is seen depends on the secret, as a hash does",
    "length or shape": "the length or shape of what is seen depends on it",
    "residue": "a fresh instance sees something else",
    "another View among others": "without the others something else is seen",
}

_NOT_ALONE = (
    "an earlier case of the same process left it behind, so this case alone does not show it: run the item"
)

Report = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]


def remedies(rows: Rows) -> list[dict[str, Any]]:
    """Each piece of advice once, with the findings that it removes, in the order of the table."""
    out: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["advice"] is not None:
            entry = out.setdefault(row["advice"]["id"], {"advice": row["advice"], "ids": []})
            entry["ids"] += row["ids"]
    return list(out.values())


def folded(rows: Rows) -> list[dict[str, Any]]:
    """What does not count, by state; advice only where nothing else asks for attention."""
    failing = any(row["counts"] for row in rows)
    out = []
    for state, (one, note) in _NOTES.items():
        mine = [row for row in rows if row["state"] == state and not row["counts"]]
        if mine:
            shown = mine[:_FOLDED_SHOWN]
            out.append(
                {
                    "state": state,
                    "title": count_words(size_of(mine), one),
                    "note": note,
                    "rows": shown,
                    "more": size_of(mine) - size_of(shown),
                    "remedies": [] if failing or state == "allowed" else _unhurried(remedies(shown)),
                }
            )
    return out


def _unhurried(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Advice on what does not count has no severity: nothing of it is urgent."""
    return [{**entry, "advice": {**entry["advice"], "severity": ""}} for entry in entries]


def exposure_words(report: Report) -> str:
    """What an exposure is and whether it counts; "" if there are none."""
    if not any(row["state"] == "exposure" for row in report["fingerprints"]):
        return ""
    counts = report["policy"]["reachable"] == "deny"
    return f"{_EXPOSURE} {'Here they count.' if counts else EXPOSURES_COUNT}"


def size_of(rows: Rows) -> int:
    """The fingerprints in grouped rows."""
    return sum(len(row["ids"]) for row in rows)


def grouped(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fields of one class that take the same way are one row: the most urgent, and what else goes there."""
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        name = row["what"] if row["class"] is None else row["class"]["id"]
        places = ("state", "status", "counts", "target", "edge", "channel", "direction")
        first = groups.setdefault((name, *(row[place] for place in places)), row)
        if first is not row:
            first["also"].append(row["what"])
            first["ids"].append(row["id"])
    for row in groups.values():
        row["also_words"] = listed(row["also"], 6)
    return list(groups.values())


def finding_row(
    row: Mapping[str, Any], report: Report, classes: Report, roots: Mapping[str, str]
) -> dict[str, Any]:
    share, at = worst_family(row), recipient(row, roots)
    entry = classes.get(row["class"])
    return {
        "id": row["id"],
        "ids": [row["id"]],
        "also": [],
        "at": at,
        "place": f"{at} {row['channel']}" + (f" {row['direction']}" if row["direction"] in _OTHERS else ""),
        "state": row["state"],
        "mark": _MARKS[row["state"]],
        "counts": row["counts"],
        "status": row["status"],
        "target": row["target"],
        "edge": row["edge"],
        "what": row["what"],
        "channel": row["channel"],
        "direction": row["direction"],
        "story": capital(story(row, roots)),
        "count": share["count"],
        "n": share["n"],
        "family": share["family"],
        "bar": share if row["state"] != "suspect" else None,
        "share_words": share_words(share) if row["state"] != "suspect" else "not counted",
        "exposure_words": share_words(row["exposure"]) if row["exposure"]["count"] else "",
        "tools": listed([f"{tool} ({count:,})" for tool, count in _ranked(row["source_tools"])]),
        "oracles": listed(sorted(row["oracles"])),
        "forms": listed(sorted(row["forms"])),
        "families": listed([_part(part) for part in row["families"]]),
        "allowed_by": row["allowed_by"],
        "first": row["first"],
        "class": None if entry is None else entry,
        "advice": advice(row, classes),
        "case": row["smallest"],
        "size": _size(row["smallest"]) if row["smallest"] else "",
        "how": _how(row["smallest"]) if row["smallest"] else "",
        **_evidence(row, report),
    }


def _evidence(row: Mapping[str, Any], report: Report) -> dict[str, str]:
    """How the smallest case is run again, who judged it and where, and how its pair is compared."""
    case = row["smallest"]
    if not case:
        return {"replay": "", "judged": "", "diff": ""}
    compared = COMPARED.issuperset(row["forms"])
    unseen = next((note for form, note in _UNSEEN.items() if compared and form in row["forms"]), "")
    place = f" at {case['path']}" if case["path"] else ""
    stem = f"{case['file'].rpartition('/')[0]}/{row['id']}"
    replay = replay_line(report, row)
    alone = replay or of_load(report)
    judged = f"seen by {case['oracle']}{place}" + (f"; no token is there: {unseen}" if unseen else "")
    return {
        "replay": replay,
        "judged": judged if alone else f"{judged}; {_NOT_ALONE}",
        "diff": f"diff {stem}-base.json {stem}-varied.json" if case["pair"] else "",
    }


def _part(part: Mapping[str, Any]) -> str:
    parrots = " with parrots" if part["mode"] == "exposure" else ""
    return f"{part['family']} {part['count']:,} of {part['n']:,}{parrots}"


def _size(case: Mapping[str, Any]) -> str:
    return ", ".join(count_words(case[f"{name}s"], name) for name in ("user", "turn", "secret"))


def _how(case: Mapping[str, Any]) -> str:
    return f"reduced in {count_words(case['executions'], 'execution')}" if case["reduced"] else "not reduced"


def _ranked(counter: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
