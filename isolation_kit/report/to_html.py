"""The report as one self-contained HTML page: no script, nothing external, everything escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from isolation_kit.content import content_root
from isolation_kit.report.broken import broken_is_refused
from isolation_kit.report.view import view

__all__ = ["html"]

_CASES = 20
_LINES = 12
_LINE_LENGTH = 240


@broken_is_refused()
def html(report: Mapping[str, Any]) -> str:
    """The report as a page of under 200 kB that works on a phone, in light and in dark."""
    root = content_root("reports")
    environment = Environment(
        loader=FileSystemLoader(root),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style = (root / "report.css").read_text(encoding="utf-8").strip()
    # The policy admits this one style sheet by its hash, and nothing else at all.
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return environment.get_template("report.html.j2").render(
        page=view(report),
        style=Markup(style),  # noqa: S704  (our own file, no value of a report)
        style_hash=digest,
        cases_shown=_CASES,
        lines_shown=_LINES,
        line_length=_LINE_LENGTH,
    )
