"""`policy suggest`: drafts `[[allow]]` entries from a report, for a person to give reasons or strike out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from isolation_kit.errors import UsageError
from isolation_kit.faces import shown
from isolation_kit.report import load

__all__ = ["draft", "suggest"]

_NEVER = ("across", "after")
_HEAD = """# Drafted from a report: one entry for each leak that the policy does not open yet.
# An entry is an exception that somebody answers for. Give each a reason and an owner, or strike it out and
# mend the leak; isolation.toml refuses an entry whose reason is empty.
"""


def suggest(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Write drafts for the leaks of a report to standard output, or to a new file."""
    text = draft(load(arguments.file))
    if not arguments.to:
        print(text, end="")
        return 0
    file = Path(arguments.to)
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(
            f"policy suggest cannot write {shown(file.absolute())} ({type(error).__name__}); give a file "
            "that is not there yet in a folder that is, for example --to allow.toml"
        ) from None
    print(f"wrote {shown(file.absolute())}")
    return 0


def draft(report: Mapping[str, Any]) -> str:
    """The drafts as TOML, grouped by child and channel; the reasons are left empty.

    Another user's data (`across`) and residue (`after`) are named and never drafted: nobody should open those
    by filling in a form.
    """
    rows = [row for row in report["fingerprints"] if row["counts"] and row["kind"] == "LEAK"]
    rows.sort(key=lambda row: (_child(row), row["channel"], row["what"], row["direction"]))
    lines = [_HEAD]
    group = ("", "")
    for row in (row for row in rows if row["direction"] not in _NEVER):
        if group != (group := (_child(row), row["channel"])):
            lines.append(f"\n# {group[0]}: what reaches {group[1]}\n")
        lines += _entry(row)
    refused = [row for row in rows if row["direction"] in _NEVER]
    if refused:
        lines.append("\n# Not drafted, for nobody should allow them unread: other users' data and residue.\n")
        lines += [f"#   {_told(row)}\n" for row in refused]
    if not rows:
        lines.append("# The report has no leak to allow.\n")
    return "".join(lines)


def _entry(row: Mapping[str, Any]) -> Iterator[str]:
    smallest = row.get("smallest") or {}
    replay = f"; replay {smallest['file']}" if smallest.get("file") else ""
    yield f"\n# {_told(row)}{replay}\n[[allow]]\n"
    for key, value in (("slot", row["what"]), ("channel", row["channel"]), ("child", _child(row))):
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
    yield 'reason = ""\nowner = ""\n'


def _child(row: Mapping[str, Any]) -> str:
    return str(row["edge"]).rpartition(">")[2]


def _told(row: Mapping[str, Any]) -> str:
    counts = [f["count"] for f in row["families"] if f["mode"] == "structural"]
    return f"{row['what']} -> {row['channel']} ({row['direction']}) at {row['edge']}, in {sum(counts)} cases"
