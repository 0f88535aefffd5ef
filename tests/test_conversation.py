"""A case as a conversation: every act has its line, canaries have names, and nothing floods the reader."""

from __future__ import annotations

from hypothesis import given
from strategies import scenarios

from isolation_kit.conversation import conversation
from isolation_kit.scenario import Answer, Delegate, Place, Say, Scenario, TurnPlan, UseTool

SECRET = Place("user.current", 0, -1, 0).placeholder


def test_each_act_is_told_in_order() -> None:
    """Who speaks and what, the child's own acts between its task and the parent's answer."""
    acts = (
        Say("a plan"),
        UseTool(1, "q", "r"),
        Delegate(0, "find", (Say("hm"), Answer("42")), "in CNY"),
        Answer("done"),
    )
    turn = TurnPlan(0, f"hello {SECRET}", acts, "s1", 0)
    lines = conversation(Scenario("f", "a", 1, (turn,), subjects=("张伟",)))
    assert [(line.who, line.text) for line in lines] == [
        ("user u_0 (session s1, about 张伟)", "hello ‹user.current/u0/t0›"),
        ("parent thinks", "a plan"),
        ("parent calls tool 1", "q"),
        ("tool replies", "r"),
        ("parent to child 0", "find in CNY"),
        ("child 0 thinks", "hm"),
        ("child 0 answers", "42"),
        ("parent answers", "done"),
    ]


@given(scenarios())
def test_any_case_can_be_shown(scenario: Scenario) -> None:
    """No placeholder is left, every line can be written as UTF-8 and is short."""
    lines = conversation(scenario)
    assert len(lines) >= len(scenario.turns)
    for line in lines:
        assert "{{canary:" not in line.text
        assert len(line.text.encode("utf-8")) < 4 * 460


def test_a_long_text_is_cut_with_the_number_of_what_is_left_out() -> None:
    """The reader sees that there is more, and how much."""
    (line,) = conversation(Scenario("f", "a", 1, (TurnPlan(0, "x" * 1000),)))
    assert line.text == "x" * 400 + "… [600 more characters]"


def test_a_lone_surrogate_is_shown_escaped() -> None:
    """It cannot be encoded, so it is spelled out."""
    (line,) = conversation(Scenario("f", "a", 1, (TurnPlan(0, "odd \ud83d"),)))
    assert line.text == "odd \\ud83d"
