"""Reports: one versioned document that the audit fills, and its faces (HTML, Markdown, terminal, pandas).

`build` makes the document, `merge` adds documents of shards and days, `markdown`, `html` and `terminal` show
it. `isolation_kit.report.frame` (pandas) is imported by nobody but its user. Names load at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isolation_kit.report.assemble import build, merge
    from isolation_kit.report.baseline import Baseline, new
    from isolation_kit.report.blocks import RunBlock, Timing
    from isolation_kit.report.document import SCHEMA, dump
    from isolation_kit.report.reading import load
    from isolation_kit.report.to_html import html
    from isolation_kit.report.to_markdown import markdown
    from isolation_kit.report.to_terminal import terminal
    from isolation_kit.report.verdicts import exit_verdict

__all__ = [
    "SCHEMA",
    "Baseline",
    "RunBlock",
    "Timing",
    "build",
    "dump",
    "exit_verdict",
    "html",
    "load",
    "markdown",
    "merge",
    "new",
    "terminal",
]

_HOMES = {
    "SCHEMA": "document",
    "Baseline": "baseline",
    "RunBlock": "blocks",
    "Timing": "blocks",
    "build": "assemble",
    "dump": "document",
    "exit_verdict": "verdicts",
    "html": "to_html",
    "load": "reading",
    "markdown": "to_markdown",
    "merge": "assemble",
    "new": "baseline",
    "terminal": "to_terminal",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
