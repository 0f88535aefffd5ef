"""A green report: what it rests on, and nothing in it that sounds like red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from report_samples import CLASSES, LEAKS, RUN, Leak, Made, clean_twin, report

from isolation_kit.finding import Judgement, Mode
from isolation_kit.fingerprints import CaseOutcome, Tally
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.report import html, markdown, terminal

FACES = pytest.mark.parametrize("face", [terminal, markdown, html], ids=["terminal", "markdown", "html"])
Face = Callable[[Any], str]
EXPOSED = Leak("parent.text", "result", direction="up", mode=Mode.EXPOSURE)


def plain(text: str) -> str:
    """A face's text in one line, without its escapes."""
    return " ".join(text.replace("\\", "").replace("&#34;", '"').replace("&#39;", "'").split())


def compared(every: int, cases: int = 60) -> ItemOutcome:
    """A clean item in which every so-many-th case was compared with another run."""
    tally = Tally()
    for index in range(cases):
        names = ["canary", *(["noninterference"] if index % every == 0 else [])]
        judgements = tuple(map(Judgement, names))
        tally.add(CaseOutcome(0, index, f"{index:016x}", Mode.STRUCTURAL, judgements))
    return ItemOutcome(Item(0, "support", "noise-injection"), requested=cases, tally=tally)


@FACES
@pytest.mark.parametrize(("profile", "every", "looked"), [("quick", 30, 2), ("ci", 10, 6)])
def test_sampling_is_told_with_the_counts_of_the_run(
    face: Face, profile: str, every: int, looked: int
) -> None:
    """In how many cases runs were compared, and which profile compares all."""
    text = plain(face(report([compared(every)], run=replace(RUN, profile=profile))))
    told = f"Hashes, ciphers and order were looked for in {looked} of 60 cases"
    assert f"{told}; --isolation-profile deep looks in all that can be compared." in text
    assert f"planted tokens in all of them, and on compared runs in {looked}." in text


def test_a_deep_run_is_not_sent_to_deep() -> None:
    """All were compared: the line says so and names no other profile."""
    text = plain(terminal(report([compared(1)], run=replace(RUN, profile="deep"))))
    assert "looked for in 60 of 60 cases: " in text
    assert "--isolation-profile" not in text


def test_shards_add_up_what_they_compared() -> None:
    """The counts are those of all items."""
    parts = [compared(10), replace(compared(20), item=Item(1, "support", "cross-user"))]
    assert "looked for in 9 of 120 cases" in plain(terminal(report(parts)))


@FACES
def test_green_has_no_severity_for_what_only_parrots_did(face: Face) -> None:
    """The same class is high where it leaks, and without a severity where it was only exposed."""
    severe = (*CLASSES[:1], replace(CLASSES[1], severity="critical"))
    green = report([Made(cases=20, leaks=(EXPOSED,)).outcome()], classes=severe)
    red = report([Made(cases=20, leaks=(replace(EXPOSED, mode=Mode.STRUCTURAL),)).outcome()], classes=severe)
    assert "critical" not in face(green)
    assert ("critical" in face(red)) == (face is not terminal)


@FACES
def test_pollution_of_a_green_run_was_dropped(face: Face) -> None:
    """What was detected and did not leak was dropped; a red run does not claim that."""
    pollution = (("trace_id", "crm_search"),)
    green = report([Made(cases=24, pollution=pollution).outcome()])
    red = report([Made(cases=24, pollution=pollution, leaks=LEAKS[:1]).outcome()])
    assert "dropped at the bridge: 8 in 24 TaskResponses" in plain(face(green))
    assert "dropped at the bridge" not in face(red)


@FACES
def test_two_denominators_are_explained(face: Face) -> None:
    """Where a share of the quiet cases stands beside the number of all cases, the difference is named."""
    text = plain(face(report([Made(cases=24, leaks=LEAKS[:1]).outcome()])))
    assert "Leaks are counted in the 21 cases without parrots, exposures in the 3 parrot cases." in text
    assert "No leak in 21 cases (without 3 parrot cases): " in plain(face(report([Made(cases=24).outcome()])))
    assert "parrot" not in plain(terminal(report([compared(1)])))


def test_exposures_of_a_green_run_are_a_count_in_the_terminal() -> None:
    """No row of theirs, for nothing asks for attention; in a red run they fill the table."""
    green = terminal(report([Made(cases=20, leaks=(EXPOSED,)).outcome()]))
    red = terminal(report([Made(cases=20, leaks=(EXPOSED, LEAKS[0])).outcome()]))
    assert "1 exposure, not counted: in the report file" in green
    assert "parent.text" not in green.split("COVERAGE")[0]
    assert "parent.text" in red.split("COVERAGE")[0]
    assert "FINDING" not in terminal(report([clean_twin()]))


@FACES
def test_what_masks_left_out_is_told(face: Face) -> None:
    """A pass that rests on a mask names it; without one there is no word of it."""
    run = replace(RUN, masks=("messages[*].id: string", "x_request_id: uuid"))
    told = "Left out of all comparing by [policy] masks: messages[*].id: string, x_request_id: uuid."
    assert told in plain(face(report([clean_twin()], run=run)))
    assert "[policy] masks" not in plain(face(report([clean_twin()])))
