"""The summary at the end of a run: ten seconds of reading, then the rest in the same order as elsewhere."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isolation_kit.report.broken import broken_is_refused
from isolation_kit.report.coverage import STATES
from isolation_kit.report.findings import EXPOSURES_COUNT
from isolation_kit.report.view import view
from isolation_kit.report.words import share_brief

__all__ = ["terminal"]

_ROWS = 10
_EXPOSURES = 3
_CASES = 2
_REMEDIES = 3
_ALLOWED = 3
_LAST = 16
_LINES = 8
_NARROWEST = 60
_WIDEST = 110
_COLORS = {"LEAK": "31;1", "LOSS": "31;1", "ERROR": "33;1", "INCONCLUSIVE": "33;1", "PASS": "32;1"}


@broken_is_refused()
def terminal(report: Mapping[str, Any], *, color: bool = False, width: int = 100) -> str:
    """The report as plain text lines of at most `width` columns (60 to 110).

    Only ASCII punctuation of its own, so it survives any console; `color` adds ANSI colours to the verdict.
    """
    failing = any(row["counts"] for row in report["fingerprints"])
    # Where nothing fails, a few exposures are enough here; remedies and cases stand in the report file.
    page = view(report, most=_ROWS if failing else _EXPOSURES)
    width = min(max(width, _NARROWEST), _WIDEST)
    parts = [
        _top(page, color, width),
        _table(page, width),
        _remedies(page, width),
        *(_case(row, width) for row in page["cases"][:_CASES]),
        _coverage(page, width),
        _items(page, width),
        _rest(page, report, width),
    ]
    lines = [line for part in parts if part for line in ("", *part)]
    return "\n".join(line.rstrip() for line in lines[1:]) + "\n"


def _top(page: Mapping[str, Any], color: bool, width: int) -> list[str]:
    verdict = page["verdict"]
    shown = f"\x1b[{_COLORS[verdict]}m{verdict}\x1b[0m" if color else verdict
    summary = _cut(page["summary"], width - len(verdict) - 2)
    return [
        f"{shown}  {summary}",
        *_wrap(page["headline"], width),
        *_wrap("Do first: " + page["first_step"]["en"], width, hang=10),
    ]


def _table(page: Mapping[str, Any], width: int) -> list[str]:
    if not page["rows"]:
        return []
    rows = [
        (
            row["mark"] + ("" if row["status"] == "new" or not row["counts"] else " (known)"),
            share_brief(row["bar"]) if row["bar"] else "not counted",
            row["what"] + (f" +{len(row['also'])}" if row["also"] else ""),
            row["place"],
            f"{row['count']:,}/{row['n']:,} {row['family']}" if row["bar"] else row["family"],
        )
        for row in page["rows"]
    ]
    lines = _columns(("FINDING", "SHARE (95 %)", "WHAT", "SEEN AT", "CASES"), rows, width)
    if any(row["also"] for row in page["rows"]):
        lines.append("  +n: more of the same class on the same way")
    if any(row["state"] == "exposure" and not row["counts"] for row in page["rows"]):
        lines += _wrap(f"  {EXPOSURES_COUNT}", width, hang=2)
    if page["more_rows"]:
        lines.append(f"  ... and {page['more_rows']:,} more in the report file")
    return lines


def _remedies(page: Mapping[str, Any], width: int) -> list[str]:
    """What else to do about what counts; the first remedy stands at the top."""
    others = [
        entry["advice"]
        for entry in page["remedies"]
        if entry["advice"]["remedy"]["en"] != page["first_step"]["en"]
    ]
    lines = [f"REMEDY  {entry['title']['en']}: {entry['remedy']['en']}" for entry in others[:_REMEDIES]]
    return [piece for line in lines for piece in _wrap(line, width, hang=8)]


def _coverage(page: Mapping[str, Any], width: int) -> list[str]:
    rows = [
        (f"{grid['target']}: {grid['child']}", *(str(grid["counts"][state] or "-") for state in STATES))
        for grid in page["grids"]
    ]
    if not rows:
        return []
    return _columns(("COVERAGE", *STATES), rows, width, right=(1, 2, 3, 4, 5, 6))


def _case(row: Mapping[str, Any], width: int) -> list[str]:
    case = row["case"]
    how = row["size"] if case["reduced"] else f"{row['size']}, not reduced"
    lines = [_cut(f"SMALLEST CASE  {row['what']} -> {row['channel']}  ({how})", width)]
    told = case["conversation"][:_LINES]
    left = min(max((_width(line["who"]) for line in told), default=0), width // 3)
    lines += [_cut(f"  {_pad(_cut(line['who'], left), left)}  {line['text']}", width) for line in told]
    if case["lines"] > len(told):
        lines.append(f"  ... {case['lines'] - len(told)} more lines")
    return [*lines, _cut(f"  replay: isolation-kit replay {case['file']}", width)]


def _items(page: Mapping[str, Any], width: int) -> list[str]:
    rows = [(item["verdict"], item["id"], item["cases"], item["why"]) for item in page["audited"]]
    return _columns(("VERDICT", "ITEM", "CASES", "WHY"), rows, width, right=(2,)) if rows else []


def _rest(page: Mapping[str, Any], report: Mapping[str, Any], width: int) -> list[str]:
    lines = ["POLLUTION_DETECTED  " + page["pollution"]["text"]]
    for entry in page["filters"]:
        title = f"{entry['rank']}. {entry['title']['en']} {entry['share_words']}"
        fields = ", ".join(entry["fields"])
        lines.append(f"  filter {title}" + (f": {fields}" if fields else ""))
    for entry in page["allow_lists"]:
        fields = ", ".join(entry["fields"]) or "no field"
        lines.append(f"  allow-list for {entry['tool']}: {fields} (rule to paste in report.md)")
    if page["policy"]["entries"]:
        lines.append("POLICY  " + page["policy"]["text"])
    lines += _allowed(page)
    stale = [entry for entry in page["policy"]["entries"] if entry["expired"] or not entry["used"]]
    lines += [f"  {entry['label']}: {entry['fate']}" for entry in stale[:3]]
    lines += ["NOT SHOWN  Shares are of generated cases, not of production traffic; models were puppets."]
    lines += [f"  {text}" for text in page["says"][3:]]
    run, seconds = report["run"], report["timing"]["wall_seconds"]
    lines.append(
        f"RUN  seed {run['seed']}, profile {run['profile']}, policy {run['policy_digest']}, {seconds:.1f} s"
    )
    return [piece for line in lines for piece in _wrap(line, width, hang=2)]


def _allowed(page: Mapping[str, Any]) -> list[str]:
    """The first allowed findings in full: a count alone hides what an entry opened."""
    rows = [row for entry in page["folded"] if entry["state"] == "allowed" for row in entry["rows"]]
    lines = []
    for row in rows[:_ALLOWED]:
        what = row["what"] + (f" +{len(row['also'])}" if row["also"] else "")
        place = f"{row['channel']} ({row['direction']}) at {row['edge']}"
        lines.append(f"  allowed: {what} -> {place}, by {row['allowed_by']}")
    return lines


def _columns(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int, right: Iterable[int] = ()
) -> list[str]:
    """A table whose widest columns give way until it fits."""
    sizes = [max(_width(line[at]) for line in (head, *rows)) for at in range(len(head))]
    # The last column is the one that reads well when cut.
    sizes[-1] -= min(max(0, sum(sizes) + 2 * (len(sizes) - 1) - width), max(0, sizes[-1] - _LAST))
    while sum(sizes) + 2 * (len(sizes) - 1) > width and max(sizes) > 8:
        sizes[sizes.index(max(sizes))] -= 1
    ends = set(right)

    def line(cells: Sequence[str]) -> str:
        parts = [
            _pad(_cut(cell, size), size, at in ends)
            for at, (cell, size) in enumerate(zip(cells, sizes, strict=True))
        ]
        return _cut("  ".join(parts), width)

    return [line(head), *map(line, rows)]


def _width(text: str) -> int:
    """Columns on a terminal: East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    out, used = [], 0
    for char in text:
        used += _char_width(char)
        if used > width - 2:
            break
        out.append(char)
    return "".join(out).rstrip() + ".."


def _pad(text: str, width: int, right: bool = False) -> str:
    space = " " * max(0, width - _width(text))
    return space + text if right else text + space


def _wrap(text: str, width: int, hang: int = 0) -> list[str]:
    """Lines of at most `width` columns; a text without spaces is cut hard."""
    if _width(text) == len(text):
        return textwrap.wrap(text, width, subsequent_indent=" " * hang, break_on_hyphens=False) or [""]
    return [
        _cut(line, width)
        for line in textwrap.wrap(text, width // 2 if _is_wide(text) else width, subsequent_indent=" " * hang)
    ]


def _is_wide(text: str) -> bool:
    return _width(text) > 1.5 * len(text)
