"""The report as Markdown. Whatever a template prints is escaped unless it is marked as made here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from isolation_kit.content import content_root
from isolation_kit.report.broken import broken_is_refused
from isolation_kit.report.view import view

__all__ = ["markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$])")
_MENTIONS = str.maketrans({"@": "&#64;", "&": "&amp;"})
_CASES = 20


class _Raw(str):
    """Markdown that was made here and needs no escaping."""

    __slots__ = ()


@broken_is_refused()
def markdown(report: Mapping[str, Any]) -> str:
    """The report as GitHub-flavoured Markdown."""
    environment = Environment(  # noqa: S701  (no HTML: `finalize` escapes every value for Markdown)
        loader=FileSystemLoader(content_root("reports")),
        finalize=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["code"] = code
    environment.filters["fence"] = fence
    environment.filters["conversation"] = conversation
    text = environment.get_template("report.md.j2").render(page=view(report), cases_shown=_CASES)
    return re.sub(r"\n{3,}", "\n\n", text)


def escape(value: Any) -> _Raw:
    """`value` as text that Markdown shows as it is: no links, no mentions, no tables, no HTML."""
    if isinstance(value, _Raw):
        return value
    text = _SPECIAL.sub(r"\\\1", str(value).translate(_MENTIONS))
    text = text.replace("://", "&#58;//").replace("www.", "www&#46;")
    return _Raw(" ".join(text.split()))


def code(value: Any) -> _Raw:
    """`value` as a code span that is safe in a table cell too."""
    text = " ".join(str(value).replace("`", "'").replace("|", "¦").split())
    return _Raw(f"`{text}`" if text else "")


def fence(value: Any, language: str = "") -> _Raw:
    """`value` as a code block whose fence is longer than any run of backticks in it."""
    text = str(value)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    bar = "`" * max(3, longest + 1)
    return _Raw(f"{bar}{language}\n{text}\n{bar}")


def conversation(row: Mapping[str, Any]) -> _Raw:
    """The smallest case of a row as a block of lines `who: text`."""
    case = row["case"]
    lines = [f"{line['who']}: {line['text']}" for line in case["conversation"]]
    if case["lines"] > len(lines):
        lines.append(f"... {case['lines'] - len(lines)} more lines")
    return fence("\n".join(lines), "text")
