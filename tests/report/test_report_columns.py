"""Tables of the terminal: what tells rows apart is cut last."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import SUPPORT, Leak, Made, report

from isolation_kit.report import terminal
from isolation_kit.report.columns import columns, cut, shortened, width_of

NAMES = st.lists(st.text("abc_账", min_size=1, max_size=30), min_size=1, max_size=4, unique=True)


@given(NAMES, st.integers(8, 40))
def test_shortened_names_keep_their_size(names: list[str], size: int) -> None:
    """No name is longer than asked for, and one that fits stays as it is."""
    short = shortened(names, size)
    assert all(width_of(text) <= size for text in short.values())
    assert all(short[name] == name for name in names if all(width_of(other) <= size for other in names))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("reference_task", "reference_rules"), [".._task", "..rules"]),
        (("alpha_target", "omega_target"), ["alpha..", "omega.."]),
    ],
    ids=["one head", "one tail"],
)
def test_shortened_names_differ(names: tuple[str, ...], told: list[str]) -> None:
    """Where the heads are alike, the tails tell them apart."""
    assert list(shortened(names, 7).values()) == told


@given(st.text(min_size=0, max_size=60), st.integers(8, 40))
def test_cut_keeps_the_width(text: str, width: int) -> None:
    """Never wider, and untouched where it fits."""
    assert width_of(cut(text, width)) <= width
    assert cut(text, width) == text or width_of(text) > width


def test_a_count_at_the_end_of_a_cell_survives() -> None:
    """`name +3` loses of its name, not of its count."""
    table = columns(("WHAT", "CASES"), [("child.tool.noise.that.is.long +11", "25/25")], 30, last=5)
    assert re.search(r"\.\. \+11  25/25", table[1])


LONG = "support_of_the_northern_branch"


def test_one_target_is_not_named_in_tables() -> None:
    """Its name tells no rows apart."""
    declared = {LONG: replace(SUPPORT, name=LONG)}
    leaks = (Leak("parent.tool.noise", "child.request"),)
    text = terminal(report([Made(target=LONG, cases=20, leaks=leaks).outcome()], declarations=declared))
    tables = re.sub(r"(?s)NOT SHOWN.*", "", text)
    assert LONG not in tables


def test_of_two_targets_the_name_gives_way_first() -> None:
    """Agent and channel stand in full; the targets' names are cut, and differ."""
    names = (f"{LONG}_task", f"{LONG}_rules")
    leaks = (Leak("parent.tool.noise", "child.request"),)
    made = [Made(target=name, order=at, cases=20, leaks=leaks).outcome() for at, name in enumerate(names)]
    declared = {name: replace(SUPPORT, name=name) for name in names}
    text = terminal(report(made, declarations=declared), width=80)
    for tail in ("_task", "_rules"):
        assert re.search(rf"LEAK .*\.\.\S*{tail}: billing child\.request +18/18", text)
        assert re.search(rf"\.\.\S*{tail}: billing +1 ", text)
        assert re.search(rf"noise-injection\[\.\.\S*{tail}\]", text)


def test_each_class_of_leak_names_a_smallest_case() -> None:
    """The first two are told, every other class by its file; one case a class."""
    leaks = [
        Leak(what, "child.request", child=child)
        for what in ("parent.text", "user.current", "parent.tool.noise", "child.tool.noise", "field.zz")
        for child in ("billing", "writer")
    ]
    text = terminal(report([Made(cases=20, leaks=leaks).outcome()]))
    heads = re.findall(r"SMALLEST CASE  (\S+) -> child\.request", text)
    assert sorted(heads) == [
        "child.tool.noise",
        "field.zz",
        "parent.text",
        "parent.tool.noise",
        "user.current",
    ]
    assert text.count("replay: isolation-kit replay ") == 5
