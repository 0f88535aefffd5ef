"""What every face shows, in one order and in the same words; the faces only lay it out and escape it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.fingerprints import effective_interval
from isolation_kit.report.coverage import FIELDS, STATES
from isolation_kit.report.rows import child_of, worst_family
from isolation_kit.report.words import count_words, listed, percent, share_words, story, what_words
from isolation_kit.trace import Channel

__all__ = ["GLYPHS", "view"]

GLYPHS: Mapping[str, str] = {
    "leaking": "✗",
    "suspect": "?",
    "exposed": "○",
    "allowed": "a",
    "clean": "✓",
    "untested": "·",
    "": "",
}
LEGEND: Mapping[str, str] = {
    "leaking": "leaking",
    "suspect": "suspect, not counted",
    "exposed": "exposed: only if a model copies its context",
    "allowed": "allowed by the policy",
    "clean": "tested, clean",
    "untested": "untested",
}
_MARKS: Mapping[str, str] = {
    "leak": "LEAK",
    "loss": "LOSS",
    "exposure": "exposure",
    "suspect": "suspect",
    "allowed": "allowed",
}
_BLANK = "blank: the default policy lets it be seen there"
_SLOTS_SHOWN = 40
_GRIDS_SHOWN = 12

Report = Mapping[str, Any]


def view(report: Report, *, most: int = 50) -> dict[str, Any]:
    """The document as text blocks. `most` caps the fingerprints shown; the file holds them all."""
    classes = {entry["id"]: entry for entry in report["classes"]}
    several = len({row["target"] for row in report["items"]}) > 1
    rows = _grouped([_row(row, classes, several) for row in report["fingerprints"]])
    shown = rows[:most]
    grids = _grids(report["coverage"])
    return {
        "verdict": report["verdict"],
        "headline": _headline(report),
        "summary": _summary(report),
        "first_step": _first_step(report, classes),
        "rows": shown,
        "more_rows": sum(1 + len(row["also"]) for row in rows[most:]),
        "remedies": _remedies(shown),
        "causes": [_cause(cause) for cause in report["causes"] if len(cause["edges"]) > 1][:10],
        "grids": grids[:_GRIDS_SHOWN],
        "more_grids": max(0, len(grids) - _GRIDS_SHOWN),
        "legend": [(GLYPHS[state], state, LEGEND[state]) for state in STATES],
        "blank": _BLANK,
        "cases": [row for row in shown if row["case"] and row["state"] in ("leak", "loss", "exposure")],
        "audited": [_item(item) for item in report["items"]],
        "pollution": _pollution(report["pollution"]),
        "filters": [_filter(entry, classes) for entry in report["filters"]],
        "policy": _policy(report["policy"]),
        "says": report["scope"]["says"],
        "run": _run(report),
    }


def _counted(report: Report, kind: str = "") -> list[Mapping[str, Any]]:
    return [row for row in report["fingerprints"] if row["counts"] and kind in ("", row["kind"])]


def _headline(report: Report) -> str:
    """What leaks, where to and how often, in one sentence."""
    if not report["items"]:
        return "Nothing was tested, so nothing is known."
    top = next(iter(_counted(report)), None)
    if top is not None:
        where = f" (target {top['target']})" if len({item["target"] for item in report["items"]}) > 1 else ""
        return f"{_capital(story(top))}{where}{_often(worst_family(top))}."
    if report["verdict"] == "PASS":
        n = sum(item["cases_by_mode"].get("structural", 0) for item in report["items"])
        high = effective_interval(0, n, [])[1]
        return f"No leak in {count_words(n, 'case')}: at most {percent(high)} of such generated cases leak."
    item = next(item for item in report["items"] if item["verdict"] == report["verdict"])
    reason = item["reasons"][0] if item["reasons"] else "an oracle says so, and names no fingerprint"
    return f"{item['id']}: {reason}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _often(share: Mapping[str, Any]) -> str:
    if not share["n"]:
        return "; how often is unknown"
    if share["family"] == "sweep":
        return f" in {share['count']:,} of the {count_words(share['n'], 'sweep case')}"
    return f" in {share_words(share)} of the generated {share['family']} cases"


def _summary(report: Report) -> str:
    leaks, losses = len(_counted(report, "LEAK")), len(_counted(report, "LOSS"))
    fresh = sum(row["status"] == "new" for row in _counted(report))
    items = report["items"]
    found = count_words(leaks, "leak") + (f" and {count_words(losses, 'loss', 'losses')}" if losses else "")
    parts = [found + (f" ({fresh} new)" if fresh != leaks + losses else "")]
    for state, one, many in (("exposure", "exposure", ""), ("allowed", "allowed", "allowed")):
        count = sum(row["state"] == state for row in report["fingerprints"])
        if count:
            parts.append(count_words(count, one, many))
    cases = sum(item["cases"] for item in items)
    targets = len({item["target"] for item in items})
    return (
        f"{', '.join(parts)} in {count_words(cases, 'case')}, {count_words(len(items), 'item')}, "
        f"{count_words(targets, 'target')}"
    )


def _first_step(report: Report, classes: Report) -> dict[str, str]:
    """What to do first."""
    top = next(iter(_counted(report)), None)
    if top is not None and top["class"]:
        remedy: dict[str, str] = classes[top["class"]]["remedy"]
        return remedy
    if top is not None and top["smallest"]:
        return _both(f"Replay the smallest case: isolation-kit replay {top['smallest']['file']}")
    if top is not None:
        return _both("Look at the first case named below; it shows the leak.")
    if report["verdict"] == "PASS":
        untested = sum(report["scope"]["untested"].values())
        return _both(f"Nothing; {count_words(untested, 'cell')} of the coverage table stay untested.")
    if report["verdict"] == "INCONCLUSIVE" and not report["items"]:
        return _both("Name a target and a family in isolation.toml, then run again.")
    return _both("Remove this reason and run again; until then the run proves nothing.")


def _both(text: str) -> dict[str, str]:
    return {"en": text, "zh": ""}


def _grouped(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
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


def _row(row: Mapping[str, Any], classes: Report, several: bool) -> dict[str, Any]:
    share = worst_family(row)
    entry = classes.get(row["class"])
    return {
        "id": row["id"],
        "ids": [row["id"]],
        "also": [],
        "place": (f"{row['target']}: " if several else "") + f"{child_of(row['edge'])} {row['channel']}",
        "state": row["state"],
        "mark": _MARKS[row["state"]],
        "counts": row["counts"],
        "status": row["status"],
        "target": row["target"],
        "edge": row["edge"],
        "what": row["what"],
        "channel": row["channel"],
        "direction": row["direction"],
        "story": _capital(story(row)),
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
        "case": row["smallest"],
        "size": _size(row["smallest"]) if row["smallest"] else "",
        "how": _how(row["smallest"]) if row["smallest"] else "",
    }


def _part(part: Mapping[str, Any]) -> str:
    parrots = " with parrots" if part["mode"] == "exposure" else ""
    return f"{part['family']} {part['count']:,} of {part['n']:,}{parrots}"


def _size(case: Mapping[str, Any]) -> str:
    return ", ".join(count_words(case[f"{name}s"], name) for name in ("user", "turn", "secret"))


def _how(case: Mapping[str, Any]) -> str:
    return f"reduced in {count_words(case['executions'], 'execution')}" if case["reduced"] else "not reduced"


def _remedies(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each pollutant class once, with the leaks that it removes, in the order of the table."""
    out: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["class"] is not None and row["state"] != "allowed":
            out.setdefault(row["class"]["id"], {"class": row["class"], "rows": []})["rows"] += row["ids"]
    return list(out.values())


def _cause(cause: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "what": what_words(cause["what"]),
        "channel": cause["channel"],
        "edges": listed(cause["edges"], 6),
    }


def _grids(coverage: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One grid for each target and agent: slots down, channels across."""
    order = [str(channel) for channel in Channel]
    groups: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for row in coverage:
        cells = groups.setdefault((row["target"], row["child"]), {})
        cells[row["slot"], row["channel"]] = row["state"]
    return [_grid(target, child, cells, order) for (target, child), cells in groups.items()]


def _grid(target: str, child: str, cells: Mapping[tuple[str, str], str], order: list[str]) -> dict[str, Any]:
    """Slots and channels of which nothing is known are named below the grid instead of filling it."""

    def known(place: int) -> set[str]:
        return {cell[place] for cell, state in cells.items() if state != "untested"}

    slots = list(dict.fromkeys(slot for slot, _ in cells))
    channels = sorted(
        {name for _, name in cells}, key=lambda name: (order.index(name) if name in order else 99, name)
    )
    shown = [slot for slot in slots if slot in known(0)]
    across = [name for name in channels if name in known(1)]
    counts = Counter(cells.values())
    return {
        "target": target,
        "child": child,
        "channels": across,
        "rows": [
            {"slot": _slot(slot), "cells": [_cell(cells.get((slot, name), "")) for name in across]}
            for slot in shown[:_SLOTS_SHOWN]
        ],
        "more": max(0, len(shown) - _SLOTS_SHOWN),
        "dark_slots": listed([_slot(slot) for slot in slots if slot not in known(0)], 30),
        "dark_channels": listed([name for name in channels if name not in known(1)], 30),
        "counts": {state: counts[state] for state in STATES},
    }


def _slot(slot: str) -> str:
    return "any undeclared field" if slot == FIELDS else slot


def _cell(state: str) -> tuple[str, str]:
    return state, GLYPHS[state]


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    asked = f" of {item['requested']:,}" if item["requested"] > item["cases"] else ""
    reasons = item["reasons"][:3] + ([f"cut: {item['cut']}"] if item["cut"] else [])
    return {
        "id": item["id"],
        "verdict": item["verdict"],
        "cases": f"{item['cases']:,}{asked}",
        "executions": item["executions"],
        "refused": item["refused"],
        "oracles": [
            {
                "name": oracle["oracle"],
                "n": oracle["n"],
                "not_applicable": oracle["not_applicable"],
                "reason": oracle["reasons"][0]["reason"] if oracle["reasons"] else "",
            }
            for oracle in item["oracles"]
        ],
        "why": "; ".join(reasons),
    }


def _pollution(block: Mapping[str, Any]) -> dict[str, Any]:
    if block["rate"] is None:
        text = "No TaskResponse was seen, so there is no rate."
    else:
        responses = count_words(block["task_responses"], "TaskResponse")
        rate = f"{block['rate']:.2f}"
        text = f"{block['detected']:,} in {responses}: {rate} per TaskResponse."

    def shares(name: str) -> list[dict[str, Any]]:
        return [
            {
                "name": entry[name] or "(no tool)",
                "count": entry["count"],
                "share": percent(entry["count"] / block["detected"]),
                "part": entry["count"] / block["detected"],
            }
            for entry in block[f"by_{name}"][:10]
        ]

    return {"text": text, "fields": shares("field"), "tools": shares("tool")}


def _filter(entry: Mapping[str, Any], classes: Report) -> dict[str, Any]:
    title = (
        classes[entry["class"]]["title"]
        if entry["class"]
        else {"en": "Fields of no known class", "zh": "未归类的字段"}
    )
    return {**entry, "title": title, "share_words": percent(entry["share"])}


def _policy(block: Mapping[str, Any]) -> dict[str, Any]:
    def fate(entry: Mapping[str, Any]) -> str:
        if entry["expired"]:
            return "expired: allows nothing any more"
        if not entry["used"]:
            return "unused: remove it"
        return f"used by {count_words(entry['used'], 'fingerprint')}"

    return {
        "entries": [{**entry, "fate": fate(entry)} for entry in block["entries"]],
        "text": (
            f"{count_words(block['strict']['leaks'], 'leak')} judged strictly, "
            f"{block['declared']['leaks']} that no entry allows."
        ),
        "reachable": (
            'Exposures fail the run (reachable = "deny").'
            if block["reachable"] == "deny"
            else "Exposures are shown and do not fail the run."
        ),
    }


def _run(report: Report) -> list[tuple[str, str]]:
    run, timing = report["run"], report["timing"]
    commit = run["commit"] + (" with uncommitted changes" if run["dirty"] else "")
    versions = listed([f"{name} {text}" for name, text in sorted(run["versions"].items())], 12)
    pairs = [
        ("command", run["command"]),
        ("seed", str(run["seed"])),
        ("profile", run["profile"]),
        ("families", listed(run["families"], 12)),
        ("cases asked for", f"{run['cases_requested']:,} per item"),
        ("versions", versions),
        ("commit", commit),
        ("policy", run["policy_digest"]),
        ("masks", listed(run["masks"], 12)),
        ("shard", run["shard"]),
        ("merged from", count_words(len(run["parts"]), "run") if len(run["parts"]) > 1 else ""),
        ("started", timing["started"]),
        ("took", f"{timing['wall_seconds']:.1f} s, {timing['cpu_seconds']:.1f} s of CPU time"),
    ]
    return [(name, text) for name, text in pairs if text]


def _ranked(counter: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
