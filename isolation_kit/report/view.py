"""What every face shows, in one order and in the same words; the faces only lay it out and escape it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.report.coverage import STATES
from isolation_kit.report.findings import (
    EXPOSURES_COUNT,
    exposure_words,
    finding_row,
    folded,
    grouped,
    remedies,
    size_of,
)
from isolation_kit.report.grids import GLYPHS, LEGEND, grids
from isolation_kit.report.headline import first_step, headline, roots_of, summary
from isolation_kit.report.sampling import counted_in
from isolation_kit.report.words import count_words, listed, of_load, percent, replay_failed, what_words

__all__ = ["view"]

_BLANK = "blank: the default policy lets it be seen there"
_GRIDS_SHOWN = 12

Report = Mapping[str, Any]


def view(report: Report, *, most: int = 50) -> dict[str, Any]:
    """The document as text blocks. `most` caps the findings shown; the file holds them all."""
    classes = {entry["id"]: entry for entry in report["classes"]}
    roots = roots_of(report)
    rows = grouped([finding_row(row, report, classes, roots) for row in report["fingerprints"]])
    counting, rest = [row for row in rows if row["counts"]], folded(rows)
    tables = grids(report["coverage"])
    return {
        "verdict": report["verdict"],
        "headline": headline(report),
        "summary": summary(report),
        "first_step": first_step(report, classes),
        "exposed": exposure_words(report),
        "counted_in": counted_in(report["items"]),
        "targets": sorted(
            {row["target"] for row in (*report["items"], *report["fingerprints"], *report["coverage"])}
        ),
        "rows": rows[:most],
        "more_rows": size_of(rows[most:]),
        "counting": counting[:most],
        "more_counting": size_of(counting[most:]),
        "remedies": remedies(counting[:most]),
        "folded": rest,
        "nothing": _nothing(rest),
        "causes": [
            _cause(cause) for cause in report["causes"] if cause["counts"] and len(cause["edges"]) > 1
        ][:10],
        "grids": tables[:_GRIDS_SHOWN],
        "more_grids": max(0, len(tables) - _GRIDS_SHOWN),
        "legend": [(GLYPHS[state], state, LEGEND[state]) for state in STATES],
        "blank": _BLANK,
        "cases": [row for row in counting[:most] if row["case"]],
        "load": of_load(report),
        "audited": [_item(item, report) for item in report["items"]],
        "notes": [note for item in report["items"] for note in item["notes"]],
        "pollution": _pollution(report["pollution"], report["verdict"] == "PASS"),
        "filters": [_filter(entry, classes) for entry in report["filters"]],
        "allow_lists": report["allow_lists"],
        "policy": _policy(report["policy"]),
        "says": report["scope"]["says"],
        "not_shown": (
            "Shares are of generated cases, not of production traffic; models were puppets."
            if report["scope"]["models"] == "puppets"
            else " ".join(report["scope"]["says"][:3])
        ),
        "run": _run(report),
    }


def _nothing(rest: Sequence[Mapping[str, Any]]) -> str:
    """What stands where no finding counts."""
    below = " What was seen and does not count stands below the coverage table." if rest else ""
    return f"No finding counts.{below}"


def _cause(cause: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "what": what_words(cause["what"]),
        "channel": cause["channel"],
        "edges": listed(cause["edges"], 6),
    }


def _item(item: Mapping[str, Any], report: Report) -> dict[str, Any]:
    asked = f" of {item['requested']:,}" if item["requested"] > item["cases"] else ""
    reasons = item["reasons"][:3] + ([f"cut: {item['cut']}"] if item["cut"] else [])
    return {
        "id": item["id"],
        "target": item["target"],
        "family": item["family"],
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
        "replay": replay_failed(report, item),
    }


def _pollution(block: Mapping[str, Any], green: bool) -> dict[str, Any]:
    """In a green run all of it was dropped, or the run would not be green."""
    if block["rate"] is None:
        text = "No TaskResponse was seen, so there is no rate."
    else:
        responses = count_words(block["task_responses"], "TaskResponse")
        rate = f"{block['rate']:.2f}"
        dropped = "dropped at the bridge: " if green and block["detected"] else ""
        text = f"{dropped}{block['detected']:,} in {responses}, {rate} per TaskResponse."

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
            else EXPOSURES_COUNT
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
