"""The summary at the end of a run: ten seconds of reading, then the rest in the same order as elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.report.broken import broken_is_refused
from isolation_kit.report.columns import columns, cut, excess, pad, shortened, width_of, wrap
from isolation_kit.report.coverage import STATES
from isolation_kit.report.findings import remedies, size_of
from isolation_kit.report.view import view
from isolation_kit.report.words import count_words, share_brief

__all__ = ["terminal"]

_ROWS = 10
_QUIET_ROWS = 3
_CASES = 2
_REMEDIES = 3
_ALLOWED = 3
_FAILED = 4
_OTHER_CASES = 8
_LINES = 8
_TARGET = 8
_FAMILY = 7  # columns: what is left of a family must tell it apart
_HEAD = ("FINDING", "SHARE (95 %)", "WHAT", "SEEN AT", "CASES")
_NARROWEST = 60
_WIDEST = 110
_COLORS = {"LEAK": "31;1", "LOSS": "31;1", "ERROR": "33;1", "INCONCLUSIVE": "33;1", "PASS": "32;1"}


@broken_is_refused()
def terminal(report: Mapping[str, Any], *, color: bool = False, width: int = 100) -> str:
    """The report as plain text lines of at most `width` columns (60 to 110).

    Only ASCII punctuation of its own, so it survives any console; `color` adds ANSI colours to the verdict.
    """
    failing = any(row["counts"] for row in report["fingerprints"])
    page = view(report)
    width = min(max(width, _NARROWEST), _WIDEST)
    parts = [
        _top(page, color, width),
        _table(page, width, failing),
        _remedies(page, width),
        *_cases(page, width),
        _coverage(page, width),
        _items(page, width),
        _rest(page, report, width),
    ]
    lines = [line for part in parts if part for line in ("", *part)]
    return "\n".join(line.rstrip() for line in lines[1:]) + "\n"


def _top(page: Mapping[str, Any], color: bool, width: int) -> list[str]:
    verdict = page["verdict"]
    shown = f"\x1b[{_COLORS[verdict]}m{verdict}\x1b[0m" if color else verdict
    summary = cut(page["summary"], width - len(verdict) - 2)
    return [
        f"{shown}  {summary}",
        *wrap(page["headline"], width),
        *wrap("Do first: " + page["first_step"]["en"], width, hang=10),
        *(wrap(page["exposed"], width) if page["exposed"] else []),
    ]


def _table(page: Mapping[str, Any], width: int, failing: bool) -> list[str]:
    """The findings; where nothing fails, the exposures are a count alone."""
    shown = [row for row in page["rows"] if failing or row["state"] != "exposure"]
    shown, left = shown[: _ROWS if failing else _QUIET_ROWS], page["more_rows"]
    lines = _finding_lines(shown, page["targets"], width) if shown else []
    if any(row["also"] for row in shown):
        lines.append("  +n: more of the same class on the same way")
    quiet = 0 if failing else _exposures(page)
    left += size_of(page["rows"]) - size_of(shown) - quiet
    if quiet:
        lines.append(f"  {count_words(quiet, 'exposure')}, not counted: in the report file")
    if left > 0:
        lines.append(f"  ... and {left:,} more in the report file")
    if page["counted_in"] and lines:
        lines += wrap(f"  {page['counted_in']}", width, hang=2)
    return lines


def _exposures(page: Mapping[str, Any]) -> int:
    return sum(
        size_of(entry["rows"]) + entry["more"] for entry in page["folded"] if entry["state"] == "exposure"
    )


def _finding_lines(shown: Sequence[Mapping[str, Any]], targets: Sequence[str], width: int) -> list[str]:
    """What tells rows apart is cut last: first the families go, then the names of the targets."""
    counts = [f"{row['count']:,}/{row['n']:,}" if row["bar"] else "" for row in shown]
    last = max(map(len, (_HEAD[-1], *counts)))

    def rows(families: bool, names: Mapping[str, str]) -> list[tuple[str, ...]]:
        return [
            (
                row["mark"] + ("" if row["status"] == "new" or not row["counts"] else " (known)"),
                share_brief(row["bar"]) if row["bar"] else "not counted",
                row["what"] + (f" +{len(row['also'])}" if row["also"] else ""),
                f"{names[row['target']]}: {row['place']}" if names else row["place"],
                f"{count} {row['family']}".strip() if families else count,
            )
            for row, count in zip(shown, counts, strict=True)
        ]

    full = rows(True, _names(targets, width))
    room = max(0, max(width_of(line[-1]) for line in full) - last - _FAMILY)
    if excess(_HEAD, full, width) <= room:
        return columns(_HEAD, full, width, last=last + _FAMILY)
    over = excess(_HEAD, rows(False, _names(targets, width)), width)
    longest = max(map(width_of, targets), default=0)
    return columns(_HEAD, rows(False, _names(targets, longest - over)), width, last=last)


def _names(targets: Sequence[str], size: int) -> dict[str, str]:
    """How tables name the targets; not at all where there is one."""
    return shortened(targets, max(size, _TARGET)) if len(targets) > 1 else {}


def _remedies(page: Mapping[str, Any], width: int) -> list[str]:
    """What else to do about what counts; the first remedy stands at the top."""
    shown = page["counting"][:_ROWS]
    others = [
        entry["advice"]
        for entry in remedies(shown)
        if not page["first_step"]["en"].startswith(entry["advice"]["remedy"]["en"])
    ]
    lines = [f"REMEDY  {entry['title']['en']}: {entry['remedy']['en']}" for entry in others[:_REMEDIES]]
    return [piece for line in lines for piece in wrap(line, width, hang=8)]


def _coverage(page: Mapping[str, Any], width: int) -> list[str]:
    head, targets = ("COVERAGE", *STATES), page["targets"]

    def rows(names: Mapping[str, str]) -> list[tuple[str, ...]]:
        return [
            (
                f"{names[grid['target']]}: {grid['child']}" if grid["target"] in names else grid["child"],
                *(str(grid["counts"][state] or "-") for state in STATES),
            )
            for grid in page["grids"]
        ]

    if not page["grids"] or page["load"]:  # users plant what they say, and never all that a case could
        return []
    over = excess(head, rows(_names(targets, width)), width)
    longest = max(map(width_of, targets), default=0)
    return columns(head, rows(_names(targets, longest - over)), width, right=(1, 2, 3, 4, 5, 6))


def _cases(page: Mapping[str, Any], width: int) -> list[list[str]]:
    """One smallest case for each class of leak: the first ones told, the others named with their files."""
    first: dict[str, Mapping[str, Any]] = {}
    for row in page["cases"]:
        unknown = "field" if row["what"].startswith("field.") else row["what"]
        first.setdefault(f"{row['mark']} {row['class']['id'] if row['class'] else unknown}", row)
    told, named = list(first.values())[:_CASES], list(first.values())[_CASES:]
    lines = []
    for row in named[:_OTHER_CASES]:
        lines.append(cut(_title(row), width))
        lines += [cut(f"  replay: {row['replay']}", width)] if row["replay"] else []
    if len(named) > _OTHER_CASES:
        lines.append(f"  ... {len(named) - _OTHER_CASES} more classes in the report file")
    return [*(_case(row, width) for row in told), lines]


def _title(row: Mapping[str, Any]) -> str:
    word = "SMALLEST CASE" if row["case"]["reduced"] else "FIRST CASE, not reduced"
    return f"{word}  {row['what']} -> {row['channel']}"


def _case(row: Mapping[str, Any], width: int) -> list[str]:
    case = row["case"]
    lines = [cut(f"{_title(row)}  ({row['size']})", width)]
    told = case["conversation"][:_LINES]
    left = min(max((width_of(line["who"]) for line in told), default=0), width // 3)
    lines += [cut(f"  {pad(cut(line['who'], left), left)}  {line['text']}", width) for line in told]
    if case["lines"] > len(told):
        lines.append(f"  ... {case['lines'] - len(told)} more lines")
    lines += [f"  {piece}" for piece in wrap(row["judged"], width - 2, hang=2)]
    if case["pair"]:  # in braces, which a shell spells out: one line holds both names
        pair = f"{case['file'].rpartition('/')[0]}/{row['id']}-{{base,varied}}.json"
        lines.append(cut(f"  compare: diff {pair}", width))
    return [*lines, *([cut(f"  replay: {row['replay']}", width)] if row["replay"] else [])]


def _items(page: Mapping[str, Any], width: int) -> list[str]:
    names = _names(page["targets"], width // 3)
    rows = [
        (
            item["verdict"],
            f"{item['family']}[{names[item['target']]}]" if names else item["family"],
            item["cases"],
            item["why"],
        )
        for item in page["audited"]
    ]
    table = columns(("VERDICT", "ITEM", "CASES", "WHY"), rows, width, right=(2,)) if rows else []
    failed = [item for item in page["audited"] if item["replay"]][:_FAILED]
    told = [f"  replay the error of {item['id']}: {item['replay']}" for item in failed]
    return [*table, *(piece for line in told for piece in wrap(line, width, hang=4))]


def _rest(page: Mapping[str, Any], report: Mapping[str, Any], width: int) -> list[str]:
    lines = (
        ["POLLUTION_DETECTED  " + page["pollution"]["text"]] if report["pollution"]["task_responses"] else []
    )
    for entry in page["filters"]:
        title = f"{entry['rank']}. {entry['title']['en']} {entry['share_words']}"
        fields = ", ".join(entry["fields"])
        word = "filter (optional)" if page["verdict"] == "PASS" else "filter"
        lines.append(f"  {word} {title}" + (f": {fields}" if fields else ""))
    for entry in page["allow_lists"]:
        fields = ", ".join(entry["fields"]) or "no field"
        lines.append(f"  allow-list for {entry['tool']}: {fields} (rule to paste in report.md)")
    if page["policy"]["entries"]:
        lines.append("POLICY  " + page["policy"]["text"])
    lines += _allowed(page)
    stale = [entry for entry in page["policy"]["entries"] if entry["expired"] or not entry["used"]]
    lines += [f"  {entry['label']}: {entry['fate']}" for entry in stale[:3]]
    lines += [f"NOT SHOWN  {page['not_shown']}"]
    lines += [f"  {text}" for text in page["says"][3:]]
    run, seconds = report["run"], report["timing"]["wall_seconds"]
    lines.append(
        f"RUN  seed {run['seed']}, profile {run['profile']}, policy {run['policy_digest']}, {seconds:.1f} s"
    )
    return [piece for line in lines for piece in wrap(line, width, hang=2)]


def _allowed(page: Mapping[str, Any]) -> list[str]:
    """The first allowed findings in full: a count alone hides what an entry opened."""
    rows = [row for entry in page["folded"] if entry["state"] == "allowed" for row in entry["rows"]]
    lines = []
    for row in rows[:_ALLOWED]:
        what = row["what"] + (f" +{len(row['also'])}" if row["also"] else "")
        place = f"{row['channel']} ({row['direction']}) at {row['edge']}"
        lines.append(f"  allowed: {what} -> {place}, by {row['allowed_by']}")
    return lines
