"""Reads the facts back from a report document, cleaned as `build` cleans them: what `merge` adds up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.finding import Fingerprint, Verdict
from isolation_kit.fingerprints import Tally
from isolation_kit.report.blocks import RunBlock, Timing
from isolation_kit.report.clean import (
    LINE_LENGTH,
    NAME_LENGTH,
    REASON_LENGTH,
    TEXT_LENGTH,
    Scrub,
    clean,
    scrub_tally,
)
from isolation_kit.report.facts import ClassFacts, Facts, ItemFacts, PolicyFacts, TargetFacts, canonical

__all__ = ["restore", "tallies_block"]

Document = Mapping[str, Any]

_SCRUB = Scrub(None)
_CASE = re.compile(r"[0-9a-f]{1,64}")
# A folder may have any name but one that leaves the place or means something to a shell.
_FOLDER = re.compile(r"(?!-)[^/\\;&|$`<>\"'*?!]+")
_LAST_FOLDER = re.compile(r"cases|.+…~[0-9a-f]{8}")  # a long path was cut by `clean`, with its last name


def tallies_block(facts: Facts) -> dict[str, Any]:
    """The stored counters by item id."""
    return {
        item_id(*key): json.loads(item.tally.to_json())
        for key, item in sorted(facts.items.items(), key=lambda pair: (pair[1].order, pair[0]))
    }


def item_id(target: str, family: str) -> str:
    """`family[target]`, as pytest names the item."""
    return f"{family}[{target}]"


def restore(report: Document) -> Facts:
    """The facts of a report that `load` accepted or `build` returned.

    Raises:
        LookupError, ValueError, TypeError: if parts of the report are missing or contradict each other.
    """
    classes = {clean(row["id"]): _class(row) for row in report["classes"]}
    _check_references(report, classes)
    return Facts(
        runs=tuple(map(_run, report["run"]["parts"])),
        timing=Timing(**report["timing"]),
        items={
            (clean(row["target"]), clean(row["family"])): _item(row, report["tallies"])
            for row in report["items"]
        },
        targets={clean(row["name"]): _target(row) for row in report["targets"]},
        classes=classes,
        policy=_policy(report["policy"]),
        smallest={
            _leak(row): _smallest(row["smallest"]) for row in report["fingerprints"] if row["smallest"]
        },
        known=frozenset(_leak(row)[0].id for row in report["fingerprints"] if row["status"] == "known"),
        merged=bool(report["scope"].get("missing_shards")),
    )


def _check_references(report: Document, classes: Mapping[str, ClassFacts]) -> None:
    if {row["class"] for row in report["fingerprints"]} - {"", *classes}:
        raise LookupError("a fingerprint is of a class that the report does not hold")
    if {row["id"] for row in report["items"]} != set(report["tallies"]):
        raise LookupError("the tallies are not those of the items")


def _run(part: Document) -> Document:
    names = {name: tuple(part[name]) for name in ("families", "masks")}
    return RunBlock(**{**part, **names}).document(_SCRUB)


def _item(row: Document, tallies: Document) -> ItemFacts:
    def texts(name: str) -> frozenset[str]:
        return frozenset(clean(text, REASON_LENGTH) for text in row[name])

    tally = Tally.from_json(json.dumps(tallies[row["id"]]))
    if any(kind not in (Verdict.LEAK, Verdict.LOSS) for _, kind, _ in tally.hits):
        raise ValueError("only leaks and losses have fingerprints")
    return ItemFacts(
        order=row["order"],
        requested=row["requested"],
        tally=scrub_tally(tally, _SCRUB),
        cut=texts("cuts"),
        errors=texts("errors"),
        failed=_failed(row.get("failed", ())),  # reports of an earlier version name none
        notes=texts("notes"),
        not_tapped=texts("not_tapped"),
        unreached=frozenset(
            (clean(entry["child"]), clean(entry["reason"], REASON_LENGTH)) for entry in row["unreached"]
        ),
    )


def _target(row: Document) -> TargetFacts:
    return TargetFacts(
        root=clean(row["root"]),
        edges=frozenset((clean(entry["name"]), clean(entry["edge"])) for entry in row["children"]),
        tools=frozenset(map(clean, row["tools"])),
        taps=frozenset(map(clean, row["taps"])),
        open_noise=frozenset(map(clean, row["open_noise"])),
        declared=frozenset(
            (clean(entry["tool"]), tuple(map(clean, entry["fields"]))) for entry in row["declared"]
        ),
    )


def _class(row: Document) -> ClassFacts:
    text = {name: _prose(value) for name, value in row.items() if name not in ("id", "whats")}
    return ClassFacts(text, frozenset(map(clean, row["whats"])))


def _prose(value: Any) -> Any:
    """A text of several lines, or one in two languages."""
    if isinstance(value, Mapping):
        return {name: _prose(text) for name, text in value.items()}
    return "\n".join(clean(line, TEXT_LENGTH) for line in value.split("\n"))


def _policy(block: Document) -> PolicyFacts:
    long = {"label": 400, "reason": REASON_LENGTH}
    entries = [
        {
            name: value if isinstance(value, bool) else clean(value, long.get(name, NAME_LENGTH))
            for name, value in entry.items()
            if name != "used"
        }
        for entry in block["entries"]
    ]
    return PolicyFacts(frozenset(map(canonical, entries)), block["reachable"], block["refused_share"])


def _leak(row: Document) -> tuple[Fingerprint, Verdict]:
    names = ("target", "edge", "what", "channel", "direction")
    return Fingerprint(*(clean(row[name]) for name in names)), Verdict(row["kind"])


def _smallest(case: Document) -> Document:
    """A face shows the file as a command to paste: nothing but a file of the case folder may stand there."""
    if not _CASE.fullmatch(case["case"]) or not _is_case_file(case["file"]):
        raise ValueError("a smallest case is no file of the case folder")
    return {
        **case,
        "family": clean(case["family"]),
        "oracle": clean(case["oracle"]),
        "path": clean(case.get("path", ""), REASON_LENGTH),  # reports of an earlier version name none
        "pair": case.get("pair", False),
        "conversation": [
            {"who": clean(line["who"], 60), "text": clean(line["text"], LINE_LENGTH)}
            for line in case["conversation"]
        ],
    }


def _failed(files: Sequence[str]) -> frozenset[str]:
    if not all(map(_is_case_file, files)):
        raise ValueError("a case that ended in an error is no file of the case folder")
    return frozenset(files)


def _is_case_file(path: str) -> bool:
    *folders, name = path.split("/")
    return (
        path == clean(path, 400)
        and bool(folders)
        and all(_FOLDER.fullmatch(folder) and folder != ".." for folder in folders)
        and _LAST_FOLDER.fullmatch(folders[-1]) is not None
        and name.endswith(".json")
        and _CASE.fullmatch(name.removesuffix(".json")) is not None
    )
