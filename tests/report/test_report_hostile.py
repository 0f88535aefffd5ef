"""Names and reasons come from hostile systems; no face may be hurt by them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from report_samples import RUN, Leak, Made, report

from isolation_kit.canary import Mint
from isolation_kit.outcome import Line
from isolation_kit.report import dump, html, load, markdown, terminal
from isolation_kit.report.clean import Scrub, clean
from isolation_kit.report.document import check
from isolation_kit.scenario import Place

EVIL = (
    "<script>alert(1)</script>",
    "\x1b[31mred\x1b]8;;http://evil\x07",
    "a|b\n| c",
    "[x](http://evil) ![y](http://evil/z.png)",
    "`code` ``` @everyone #1 $x$",
    "=HYPERLINK(1)",
    "\u202egnp.exe\u2066",
    "{{ 7*7 }}{% raw %}",
    "\ud800 lone",
    "x" * 5000,
    "帐单｜查询",
    "'\"><svg/onload=1>",
)
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking whole pages takes minutes
NAMES = st.sampled_from(EVIL) | st.text(max_size=30)
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "header", "article"),
    *("h1", "h2", "h3", "p", "b", "br", "span", "small", "code", "pre", "ul", "ol", "li", "dl", "dt", "dd"),
    *("div", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "details", "summary"),
}


def hostile(name: str, reason: str, tool: str) -> dict[str, Any]:
    """A report in which every name that a target chooses is hostile."""
    made = Made(
        target=name,
        cases=16,
        leaks=(Leak(f"field.{name}", "child.request", child=tool, tool=tool, oracle="contract"),),
        pollution=((name, tool),),
        reason=reason,
        more={"error": reason, "cut": reason, "unreached": ((name, reason),), "not_tapped": (tool,)},
    )
    outcome = made.outcome()
    case = outcome.smallest[0]
    lines = tuple(Line(who, text) for who, text in ((name, reason), (tool, name), (reason, tool)))
    object.__setattr__(case, "conversation", lines)
    return report([outcome])


class Page(HTMLParser):
    """Collects tags and attribute names of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one tag."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def cells(line: str) -> int:
    """The number of cells of a Markdown table line."""
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def check_markdown(text: str) -> None:
    """No table is torn, and outside code there is no tag, link, image or mention."""
    inside, width = "", 0
    for line in text.split("\n"):
        if re.match(r"`{3,}", line) and (not inside or line == inside):
            inside = "" if inside else re.match(r"`+", line)[0]  # type: ignore[index]
            continue
        if inside:
            continue
        width = 0 if not line.startswith("|") else (width or cells(line))
        assert not line.startswith("|") or cells(line) == width
        plain = re.sub(r"`[^`]*`", "", line)
        plain = re.sub(r"\\.", "", plain)
        assert not re.search(r"[<@]|\]\(|://|www\.", plain)
    assert not inside


@settings(max_examples=25, deadline=None, phases=QUICK)
@given(NAMES, NAMES, NAMES)
@example(*EVIL[:3])
@example(*EVIL[3:6])
@example(*EVIL[6:9])
@example(*EVIL[9:12])
def test_no_face_is_hurt(name: str, reason: str, tool: str) -> None:
    """JSON stays valid, HTML has our tags only, Markdown keeps its tables, no escape is printed."""
    document = hostile(name, reason, tool)
    assert check(document) == ""
    assert dump(document).isascii()
    page = Page()
    page.feed(html(document))
    assert page.tags <= TAGS
    assert not {attribute for attribute in page.attributes if attribute.startswith("on")}
    assert not page.attributes & {"style", "href", "src", "srcset", "action", "xlink:href"}
    check_markdown(markdown(document))
    text = terminal(document, color=False, width=100)
    assert all(char.isprintable() or char == "\n" for char in text)


@settings(max_examples=15, deadline=None, phases=QUICK)
@given(NAMES, NAMES)
def test_hostile_report_is_read_back(name: str, tool: str) -> None:
    """Lone surrogates and control characters do not make a file that the strict reader refuses."""
    document = hostile(name, name, tool)
    assert load_text(dump(document)) == document


def load_text(text: str) -> Any:
    """`load` without a file of its own for each example."""
    from isolation_kit.strictjson import loads

    document = loads(text)
    assert check(document) == ""
    return document


@given(st.text(), st.integers(20, 200))
def test_clean_is_one_short_printable_line_and_stays(text: str, limit: int) -> None:
    """Cleaning twice is cleaning once."""
    once = clean(text, limit)
    assert len(once) <= limit
    assert not set(once) & {"\n", "\x1b", "\u202e", "\ud800"}
    assert clean(once, limit) == once


def test_long_names_stay_distinct() -> None:
    """Two names that differ at the end are still two names."""
    assert clean("x" * 500 + "a") != clean("x" * 500 + "b")


def test_canary_in_any_name_is_masked() -> None:
    """A field name, an error, a reason, a tool or a line that holds a token shows none of it, in no face."""
    token = Mint(RUN.seed).mint("case", Place("user.current")).token
    document = hostile(f"pre_{token}_post", f"KeyError: {token.upper()}", f"t{token}t")
    faces = (dump(document), html(document), markdown(document), terminal(document))
    assert not any(token in face.lower() or token[4:] in face.lower() for face in faces)
    assert "‹canary›" in html(document)


def test_scrub_leaves_other_text_alone() -> None:
    """What only looks like a token stays."""
    mint = Mint(RUN.seed)
    text = f"{mint.prefix}0000000000000000 and more"
    assert Scrub(RUN.seed)(text) == text


def test_csv_holds_no_formula(tmp_path: Path) -> None:
    """A cell that a spreadsheet would run is made inert; a harmless one is not touched."""
    pytest.importorskip("pandas", reason="the extra [report] is not installed")
    from isolation_kit.report.frame import TABLES, to_csv

    document = hostile("=cmd|' /C calc'!A0", " +1", "@SUM(1)")
    for table in TABLES:
        to_csv(document, tmp_path / f"{table}.csv", table)
        text = (tmp_path / f"{table}.csv").read_text(encoding="utf-8")
        assert not re.search(r"(?m)(^|,)\"?\s*[=+@]", text)
    plain = report([Made(cases=8).outcome()])
    to_csv(plain, tmp_path / "plain.csv", "items")
    assert "'" not in (tmp_path / "plain.csv").read_text(encoding="utf-8")


def test_load_is_the_reader_that_is_meant(tmp_path: Path) -> None:
    """The file of a hostile report is read by `load` as well."""
    path = tmp_path / "report.json"
    document = hostile(*EVIL[:3])
    path.write_text(dump(document), encoding="utf-8")
    assert load(path) == document
