"""What the faces say to do: by kind and direction, about what counts, and where it was seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from report_samples import CLASSES, LEAKS, POLICY, Leak, Made, clean_twin, report, sample

from isolation_kit.content import Bilingual, load_remedies
from isolation_kit.finding import Mode, Verdict
from isolation_kit.oracles import all_oracles
from isolation_kit.report import html, markdown, terminal
from isolation_kit.report.advice import advice

UP: dict[str, Any] = {"child": "billing", "direction": "up"}


@pytest.mark.parametrize(
    ("leak", "told"),
    [
        (
            Leak("child.answer", "parent.request", **UP, kind=Verdict.LOSS),
            "child's answer does not reach the model request of support",
        ),
        (Leak("child.text", "parent.request", **UP), "scratch text reaches the model request of support"),
        (
            Leak("child.tool.args", "final.output", **UP),
            "Arguments of the child's tools reach the final answer of support",
        ),
        (Leak("child.text", "stream", **UP), "scratch text reaches the stream of support"),
        (Leak("child.text", "result", **UP), "reaches the result that billing hands back to support"),
        (
            Leak("task.constants", "child.request", kind=Verdict.LOSS),
            "The task's constants do not reach the model request of billing",
        ),
    ],
    ids=["lost answer", "parent request", "final answer", "stream", "result", "lost constants"],
)
def test_what_comes_up_is_seen_at_the_parent(leak: Leak, told: str) -> None:
    """An edge names the child; what comes up is seen, or missed, above it."""
    document = report([Made(cases=20, leaks=(leak,)).outcome()])
    text = " ".join(terminal(document, color=False).split())
    where = told.rpartition(" ")[2] if leak.channel != "result" else "billing"
    assert f"{told} in " in text
    assert f" {where} {leak.channel} " in text
    assert told in html(document).replace("&#39;", "'")


SIBLING = Leak("task.goal", "child.request", child="writer", direction="sideways")
LOST_DOWN = Leak("task.goal", "child.request", kind=Verdict.LOSS)
LOST_UP = Leak("child.answer", "parent.request", **UP, kind=Verdict.LOSS)


@pytest.mark.parametrize(
    ("leak", "told"),
    [
        (SIBLING, "Do first: Give each delegation its own context"),
        (LOST_DOWN, "Do first: The task's items do not reach the child: compare the brief"),
        (LOST_UP, "Do first: The child's answer does not come back: compare what the parent takes"),
        (Leak("task.goal", "child.request"), "Do first: Put the user into every key."),
        (
            Leak("user.current", "child.request", direction="across"),
            "Do first: Put user, session and subject",
        ),
        (Leak("user.current", "child.request", direction="after"), "Do first: Find what the two share"),
        (Leak("user.current", "log", direction="out"), "Do first: Log ids, lengths"),
        (
            Leak("user.earlier", "child.headers", path="x-said"),
            "Do not send the header x-said from the child",
        ),
        (
            Leak("child.text", "process.memory", direction="out", oracle="destroy", path="app > RUNS > list"),
            "Do first: Let go of it: app > RUNS > list holds it after the end.",
        ),
        (
            Leak("user.earlier", "child.request", oracle="conservation", form="length or shape"),
            "what the second holds more of must not be built from history",
        ),
    ],
    ids=["sideways", "lost down", "lost up", "down", "across", "after", "log", "header", "memory", "grows"],
)
def test_first_step_fits_the_way_before_the_datum(leak: Leak, told: str) -> None:
    """Kind, direction, channel and oracle choose first; only where none does, the class of the slot."""
    other_user = replace(
        CLASSES[0],
        id="other-user",
        slots=("task.goal", "child.answer"),
        remedy=Bilingual("Put the user into every key.", ""),
    )
    document = report([Made(cases=20, leaks=(leak,)).outcome()], classes=(other_user,))
    assert told in " ".join(terminal(document, color=False).split())
    for face in (markdown, html):
        assert ("Put the user" in face(document)) == ("Put the user" in told)


def test_two_holders_are_two_remedies() -> None:
    """A remedy that names its place is told for each place."""
    leaks = [
        Leak(
            f"child.{what}", "process.memory", direction="out", oracle="destroy", path=f"app > {what.upper()}"
        )
        for what in ("text", "answer")
    ]
    text = markdown(report([Made(cases=20, leaks=leaks).outcome()])).replace("\\", "")
    assert "app > TEXT holds it" in text
    assert "app > ANSWER holds it" in text


def test_an_earlier_answer_is_no_siblings() -> None:
    """Sideways is any other delegation of the same user, an earlier one of the same child too."""
    leak = Leak("child.answer", "child.request", direction="sideways")
    text = terminal(report([Made(cases=20, leaks=(leak,)).outcome()]))
    assert "Another delegation's data: the child's answer reaches" in " ".join(text.split())
    assert "sibling" not in text


def test_every_remedy_can_be_told() -> None:
    """No entry of the content stands behind one that always comes first, and all name what exists."""
    known = load_remedies()
    oracles = {oracle.name for oracle in all_oracles()}
    for entry in known.remedies:
        row = {
            "kind": (entry.kinds or ("LEAK",))[0],
            "direction": (entry.directions or ("down",))[0],
            "channel": (entry.channels or ("parent.request",))[0],
            "what": (entry.whats or ("user.current",))[0],
            "oracles": dict.fromkeys(entry.oracles or ("canary",), 1),
            "families": [{"family": "load-cross-user" if entry.runs == ("load",) else "cross-user"}],
            "smallest": None,
        }
        told = advice(row, {})
        assert told is not None
        assert told["title"]["en"] == entry.title.en
        assert "{" not in str(list(told["remedy"].values()))
        assert set(entry.oracles) <= oracles


def test_remedies_are_about_what_counts() -> None:
    """No exposure stands under a leak's remedy; where nothing counts, the terminal gives no advice."""
    exposure = Leak("parent.text", "result", direction="up", mode=Mode.EXPOSURE)
    both, alone = (
        report([Made(cases=20, leaks=leaks).outcome()]) for leaks in ((LEAKS[0], exposure), (exposure,))
    )
    assert "Parent history" not in markdown(both) + html(both) + terminal(both)
    assert "REMEDY" not in terminal(alone)
    assert html(alone).index("Parent history") > html(alone).index(
        '<details class="quiet"><summary>1 exposure</summary>'
    )
    assert "REMEDY" not in terminal(report([clean_twin()]))
    assert "<details" not in html(report([clean_twin()]))


def test_pass_says_what_untested_means_and_when_exposures_count() -> None:
    """A green run beside untested cells tells how to have fewer; a denied exposure is no longer excused."""
    leaks = (Leak("parent.system", "result", direction="up", mode=Mode.EXPOSURE),)
    document = report([Made(cases=20, leaks=leaks).outcome()])
    for face in (terminal, markdown, html):
        text = " ".join(face(document).replace("\\", "").replace("&#34;", '"').split())
        told = ("are untested: no case", "does not have asks for nothing", "stage.text", "stage.record")
        assert all(word in text for word in told)
        assert 'Exposures do not count unless [policy] reachable = "deny"' in text
        assert "An exposure is seen only under parrots: puppets that repeat all they see." in text
        assert "Nothing has to be done." in text
    denied = report([Made(cases=20, leaks=leaks).outcome()], policy=replace(POLICY, reachable="deny"))
    assert "do not count" not in terminal(denied) + html(denied)
    assert "<details" not in html(denied)


def test_allowed_findings_are_named() -> None:
    """Up to three allowed findings in full, by which entry; and where the rule of an allow-list lies."""
    allowed = [
        Leak(f"x.slot{number}", "child.request", every=2, allowed_by="entry of platform")
        for number in range(4)
    ]
    text = terminal(report([Made(cases=20, leaks=allowed).outcome()]), color=False)
    assert "allowed: x.slot0 -> child.request (down) at support>billing, by entry of platform" in " ".join(
        text.split()
    )
    assert text.count("  allowed: ") == 3
    assert "rule to paste in report.md" in terminal(sample(), color=False)
