"""What a person reads: the verdict line, the order, the words, the size."""

from __future__ import annotations

import re
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import LEAKS, RUN, Leak, Made, clean_twin, leaky, report, sample

from isolation_kit import oracles
from isolation_kit.cli.reports import compare
from isolation_kit.errors import UsageError
from isolation_kit.finding import COMPARED
from isolation_kit.report import dump, html, markdown, terminal
from isolation_kit.report.columns import width_of
from isolation_kit.report.words import percent, share_words

ORDER = (
    "Findings that count",
    "Smallest case",
    "Coverage",
    "Not counted",
    "POLLUTION_DETECTED",
    "Filter rules",
    "Policy",
    "not show",
    "Run",
)


def test_first_lines_say_what_where_how_often_and_what_to_do() -> None:
    """Ten seconds at nine in the morning."""
    text = terminal(sample(), color=False, width=100)
    top = " ".join(text.split("\n\n")[0].split())
    assert top.startswith("LEAK 3 leaks and 1 loss")
    assert "Debug noise of the parent's tools reaches the model request of billing in 100 %" in top
    assert "Do first: Name the fields a tool may show" in top


def test_clean_run_says_at_most_and_never_none() -> None:
    """Zero of n is an upper bound."""
    document = report([clean_twin()])
    for face in (terminal(document), markdown(document), html(document)):
        assert "at most" in face
        assert not re.search(r"\bnone of|\b0 %|never leaks", face)


@pytest.mark.parametrize("face", [markdown, html], ids=["markdown", "html"])
def test_all_faces_keep_the_order(face: Any) -> None:
    """The same sections in the same order."""
    text = re.sub(r"(?s)<style>.*?</style>", "", face(sample()))
    heads = [line for line in text.splitlines() if line.startswith(("## ", "<h2>")) or "<h2>" in line]
    places = [next(at for at, line in enumerate(heads) if name in line) for name in ORDER]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [20, 60, 80, 100, 200])
def test_terminal_keeps_its_width(width: int) -> None:
    """No line is wider than asked for, between 60 and 110 columns."""
    wide = Made(cases=20, leaks=(Leak("field." + "账单" * 60, "child.request", child="查询" * 40),)).outcome()
    for document in (sample(), report([wide]), report([])):
        lines = terminal(document, color=False, width=width).splitlines()
        assert max(width_of(line) for line in lines) <= max(60, min(width, 110))


def test_color_only_when_asked() -> None:
    """Escapes are ours alone, and only on a terminal."""
    assert "\x1b" not in terminal(sample(), color=False)
    coloured = terminal(sample(), color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == terminal(sample(), color=False)


def test_page_with_fifty_leaks_is_small_and_closed() -> None:
    """Under 200 kB, no script, nothing external, and a policy that forbids both."""
    leaks = [Leak(f"field.debug.name_{number}", "child.request", tool="crm_search") for number in range(50)]
    page = html(report([Made(cases=50, leaks=leaks).outcome()]))
    assert len(page.encode()) < 200_000
    assert "default-src 'none'" in page
    assert not re.search(r"<script|https?:|url\(|@import", page)


def test_more_than_fifty_are_counted() -> None:
    """What is not shown is counted, not dropped."""
    leaks = [Leak(f"field.name_{number}", "child.request") for number in range(60)]
    document = report([Made(cases=8, leaks=leaks).outcome()])
    assert len(document["fingerprints"]) == 60
    assert "10 more are in the report file" in markdown(document)
    assert "50 more in the report file" in terminal(document)


def test_coverage_differs_without_colour() -> None:
    """Each state has a sign of its own, and the legend names it."""
    text = markdown(report([leaky()]))
    for sign in "✗?○a✓·":
        assert f"`{sign}`" in text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_percent_never_rounds_to_all_or_nothing(share: float) -> None:
    """A share strictly between 0 and 1 is never shown as 0 or 100 percent."""
    assert percent(share) not in ("0 %", "0.0 %", "100 %", "100.0 %")


def test_zero_of_a_thousand_is_at_most() -> None:
    """The interval speaks, not the zero."""
    share = {"count": 0, "n": 1000, "share": 0.0, "low": 0.0, "high": 0.0038}
    assert share_words(share) == "at most 0.4 %"


def test_empty_report_says_what_to_do() -> None:
    """A report over nothing is no blank page."""
    text = terminal(report([]), color=False)
    assert text.startswith("INCONCLUSIVE")
    assert "isolation.toml" in text


def test_frame_has_one_row_a_fingerprint() -> None:
    """The tables of the report as data frames."""
    pytest.importorskip("pandas", reason="the extra [report] is not installed")
    from isolation_kit.report.frame import frame

    assert len(frame(sample())) == len(sample()["fingerprints"]) == len(LEAKS) + 1
    with pytest.raises(UsageError, match="fingerprints, items, coverage, pollution"):
        frame(sample(), "plots")


def test_fields_of_one_class_on_one_way_are_one_row() -> None:
    """Three names of a trace id that take the same way stand together; another way stands alone."""
    leaks = (
        Leak("field.trace_id", "child.request"),
        Leak("field.meta.traceId", "child.request"),
        Leak("field.request_id", "child.request"),
        Leak("field.trace_id", "result", direction="up"),
    )
    text = terminal(report([Made(cases=20, leaks=leaks).outcome()]), color=False)
    assert re.search(r"field\.\S+ \+2 +billing child\.request", text)
    assert re.search(r"field\.trace_id +billing result", text)


def test_compare_tells_the_share_of_the_report(tmp_path: Path, capsys: Any) -> None:
    """One number for one leak: `compare` rounds as the report does, interval and family included."""
    for name, document in (("before", report([clean_twin()])), ("after", report([leaky()]))):
        (tmp_path / f"{name}.json").write_text(dump(document), encoding="utf-8")
    files = {name: str(tmp_path / f"{name}.json") for name in ("before", "after")}
    assert compare(Namespace(**files), ()) == 1
    told = capsys.readouterr().out
    assert "at support>writer in 20 % (15 to 27 %) of the generated noise-injection cases" in told
    assert "20 % (15 to 27 %)" in markdown(report([leaky()]))


def test_target_is_named_where_there_are_several() -> None:
    """With two targets, the verdict line and the table say which one leaks."""
    two = [
        Made(target="support", cases=8).outcome(),
        Made(target="other", cases=8, leaks=LEAKS[:1]).outcome(),
    ]
    text = terminal(report(two), color=False)
    assert "(target other)" in text
    assert "other: billing child.request" in text
    assert "(target" not in terminal(report([leaky()]), color=False)


def test_generated_cases_speak_before_the_sweep() -> None:
    """One hit in one hand-laid case is no 100 % while a family shows it less often."""
    sweep = Made(family="sweep", cases=1, leaks=LEAKS[:1]).outcome()
    family = Made(order=1, leaks=(Leak("parent.tool.noise", "child.request", every=5),)).outcome()
    assert "reaches the model request of billing in 20 % " in terminal(report([sweep, family]))
    assert "of the generated sweep cases" not in terminal(report([sweep, family]))
    assert "of the 1 sweep case" in " ".join(terminal(report([sweep])).split())


def test_a_leak_that_leaves_no_token_says_where_to_look() -> None:
    """Only a comparison sees it: every face says what changes where, by which oracle, and names the pair."""
    seen = Leak(
        "parent.text", "child.request", oracle="noninterference", form="derived", path="messages[1].content"
    )
    document = report([Made(cases=20, leaks=(seen,)).outcome()])
    stem = f".isolation/cases/{document['fingerprints'][0]['id']}"
    for face in (terminal, markdown, html):
        text = " ".join(face(document).replace("\\", "").replace("&#39;", "'").split())
        assert "The parent's own text changes the model request of billing" in text
        assert "seen by noninterference at messages[1].content; no token is there: what is seen" in text
        assert f"diff {stem}-{{base,varied}}.json" in text or f"diff {stem}-base.json {stem}-va" in text
    plain = report([Made(cases=20, leaks=(replace(seen, oracle="canary", form="verbatim"),)).outcome()])
    for face in (terminal, markdown, html):
        assert "reaches the model request of billing" in " ".join(face(plain).split())
        assert "-varied.json" not in face(plain)
        assert "no token is there" not in face(plain)


def test_the_forms_without_a_token_are_those_of_the_comparing_oracles() -> None:
    """The report tells by the form whether a token is there."""
    source = "".join(path.read_text("utf-8") for path in Path(oracles.__file__).parent.glob("*.py"))
    assert all(f'"{form}"' in source for form in COMPARED)


def test_a_replay_names_the_configuration_if_it_has_another_name() -> None:
    """The command stands there to be pasted; a name that a shell would take apart does not."""
    for name, told in (("other.toml", " --config other.toml"), ("", ""), ("a;b.toml", ""), ("-x.toml", "")):
        run = replace(RUN, config=name)
        text = terminal(report([Made(cases=20, leaks=LEAKS[:1]).outcome()], run=run), width=200)
        (line,) = {line.strip() for line in text.splitlines() if line.startswith("  replay: ")}
        assert line.endswith(f".json{told}")


def test_a_report_of_a_load_run_speaks_of_no_puppet() -> None:
    """The service was used as it is: nothing was generated for it, and nothing of it can be replayed."""
    outcomes = [Made(family="load-cross-user", cases=20, leaks=LEAKS[:1]).outcome()]
    for made in (outcomes, [Made(family="load-cross-user", cases=20).outcome()]):
        for face in (terminal, markdown, html):
            text = face(report(made, run=replace(RUN, kind="load")))
            assert "service ran as it is" in " ".join(text.split())
            for word in ("puppet", "isolation-kit replay", "--isolation-profile", "compared runs"):
                assert word not in text


def test_all_of_a_few_cases_are_no_percentage() -> None:
    """3 of 3 says less than 100 %; the interval says how much."""
    few = report([Made(cases=3, leaks=LEAKS[:1]).outcome()])
    assert "3/3 (>" in terminal(few)
    assert " in 3 of 3 (at least " in " ".join(terminal(few).split())
    assert "100 % (" not in terminal(few)


def first_case(leak: Leak) -> dict[str, Any]:
    """A report of one leak whose case was not reduced."""
    outcome = Made(cases=20, leaks=(leak,)).outcome()
    return report([replace(outcome, smallest=tuple(replace(c, reduced=False) for c in outcome.smallest))])


def test_a_case_that_shows_nothing_alone_has_no_replay() -> None:
    """What an earlier case left behind is not in the later one: its replay would pass and comfort falsely."""
    left = Leak("user.current", "child.request", direction="after")
    for face in (terminal, markdown, html):
        text = " ".join(face(first_case(left)).split())
        assert "this case alone does not show it" in text
        assert "isolation-kit replay" not in text
        assert "isolation-kit replay" in face(first_case(replace(left, direction="down")))
        assert "isolation-kit replay" in face(report([Made(cases=20, leaks=(left,)).outcome()]))


def test_a_case_that_was_not_reduced_is_called_the_first_one() -> None:
    """Only what was reduced is called the smallest."""
    leak = Leak("user.current", "child.request")
    assert "FIRST CASE, not reduced  user.current" in terminal(first_case(leak))
    assert "SMALLEST CASE" not in terminal(first_case(leak))
    assert "SMALLEST CASE  user.current" in terminal(report([Made(cases=20, leaks=(leak,)).outcome()]))


def test_the_table_says_whose_data_it_is() -> None:
    """Two rows of one slot and channel differ by direction, which stands there where it is not plain."""
    leaks = [Leak("child.answer", "child.request", direction=way) for way in ("down", "across", "sideways")]
    text = terminal(report([Made(cases=20, leaks=leaks).outcome()]), width=120)
    assert "billing child.request across " in text
    assert "billing child.request sideways " in text


def test_no_rule_for_what_is_no_field() -> None:
    """A filter drops fields; of a reply that is no strict JSON it could drop nothing."""
    whole = Leak("field.(not strict JSON)", "child.request", oracle="contract", tool="lookup_invoice")
    assert "(not strict JSON)" not in str(report([Made(cases=20, leaks=(whole,)).outcome()])["filters"])
    named = replace(whole, what="field.trace_id")
    assert "trace_id" in str(report([Made(cases=20, leaks=(named,)).outcome()])["filters"])
