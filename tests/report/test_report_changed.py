"""Report files that somebody changed: refused, or made harmless, never a traceback."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_samples import sample

from isolation_kit.errors import UsageError
from isolation_kit.report import dump, html, load, markdown, merge, terminal

Change = Callable[[dict[str, Any]], Any]
EVIL = "\x1b]0;owned\x07\x1b[2J"


def changed(change: Change) -> dict[str, Any]:
    """The sample after `change`."""
    document = copy.deepcopy(sample())
    change(document)
    return document


def stored(document: dict[str, Any], folder: Path) -> Path:
    """The document as a file."""
    path = folder / "report.json"
    path.write_text(dump(document), encoding="utf-8")
    return path


def smallest(document: dict[str, Any]) -> dict[str, Any]:
    """The first smallest case."""
    return next(row["smallest"] for row in document["fingerprints"] if row["smallest"])


BROKEN: dict[str, Change] = {
    "classes": lambda document: document.update(classes=[]),
    "tallies": lambda document: document.update(tallies={}),
    "extra-tally": lambda document: document["tallies"].update(x=next(iter(document["tallies"].values()))),
    "timing": lambda document: document["timing"].update(wall_seconds=1e308),
    "kind": lambda document: next(iter(document["tallies"].values()))["hits"][0].update(kind="PASS"),
    "case": lambda document: smallest(document).update(case=EVIL),
    **{
        f"file-{name}": lambda document, file=file: smallest(document).update(file=file)
        for name, file in {
            "absolute": "/tmp/cases/ab.json",
            "above": "../cases/ab.json",
            "option": "--to/cases/ab.json",
            "shell": "$(id)/cases/ab.json",
            "escape": f".isolation/{EVIL}/cases/ab.json",
            "other": ".isolation/report.json",
            "line": ".isolation/cases/ab.json\n",
        }.items()
    },
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_a_report_that_contradicts_itself_is_refused(change: Change, tmp_path: Path) -> None:
    """By `load` and by `merge`, with the way out and without the value."""
    document = changed(change)
    for refuse in (lambda: load(stored(document, tmp_path)), lambda: merge([document])):
        with pytest.raises(
            UsageError, match=r"this report was changed or is broken.*run the audit"
        ) as caught:
            refuse()
        assert "\x1b" not in str(caught.value)
        assert "owned" not in str(caught.value)


@pytest.mark.parametrize("face", [terminal, markdown, html])
def test_no_face_ends_in_a_traceback(face: Callable[[Any], str]) -> None:
    """A document that never passed `load` is refused by the faces as well."""
    with pytest.raises(UsageError, match="changed or is broken"):
        face(changed(BROKEN["classes"]) | {"filters": sample()["filters"]})


def test_case_files_that_build_writes_are_read(tmp_path: Path) -> None:
    """Any output folder will do, one too long to be shown whole among them."""
    for folder in ("cases", ".isolation/cases", "my out (2)/cases", "x" * 109 + "…~0123abcd"):
        document = changed(
            lambda given, at=folder: smallest(given).update(file=f"{at}/0123456789abcdef.json")
        )
        assert smallest(load(stored(document, tmp_path)))["file"].startswith(folder)


def poisoned(value: Any) -> Any:
    """Every text of tallies and fingerprints with an escape sequence behind it."""
    if isinstance(value, dict):
        fixed = ("id", "kind", "mode", "state", "status", "class", "file", "case")
        return {key: inner if key in fixed else poisoned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [poisoned(inner) for inner in value]
    return value + EVIL if isinstance(value, str) and value not in ("structural", "exposure") else value


@pytest.mark.parametrize("name", ["fingerprints", "tallies", "targets", "coverage", "scope", "items"])
def test_what_is_loaded_holds_no_escape(name: str, tmp_path: Path) -> None:
    """Names of a changed report are cleaned as those of a target are, and no face prints an escape."""
    document = sample()
    document[name] = poisoned(document[name])
    if name == "tallies":
        document[name] = {
            key: _keys_kept(sample()["tallies"][key], document[name][key]) for key in document[name]
        }
    if name == "items":
        document[name] = [
            {
                **row,
                **{key: poisoned(row[key]) for key in ("errors", "cuts", "notes", "not_tapped", "unreached")},
            }
            for row in sample()["items"]
        ]
    if name == "scope":
        document[name]["models"] = "puppets"
    read = load(stored(document, tmp_path))
    assert all(char.isprintable() or char == "\n" for char in _texts(read))
    text = terminal(read)
    assert all(char.isprintable() or char == "\n" for char in text)


def _keys_kept(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Counters by verdict, mode and oracle keep their names, hits their target: sums still mean something."""
    for hits in after["hits"]:
        hits["fingerprint"][0] = hits["fingerprint"][0].removesuffix(EVIL)
    return {**after, **{key: before[key] for key in ("cases", "verdicts", "oracles", "able", "block_sizes")}}


def _texts(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(key + _texts(inner) for key, inner in value.items())
    if isinstance(value, list):
        return "".join(map(_texts, value))
    return value if isinstance(value, str) else ""
