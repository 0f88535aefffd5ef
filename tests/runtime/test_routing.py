"""Routing rules: each with an owner, none contended, and none that leads nowhere."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import UsageError
from isolation_kit.runtime import MemoryStore, ParentScope, Rule, RulesParent, rules_turn
from isolation_kit.runtime.failures import Language, in_language
from isolation_kit.runtime.routing import RuleError, checked_rules, parse
from isolation_kit.targets.reference import BILL_QUERY, PDF_EXPORT, RULES

QUERY = Rule(
    "query", "billing", "bill_query", re.compile(r"bill (?P<id>\w+)"), cue="bill", examples=("bill a1",)
)
EXPORT = Rule(
    "export", "billing", "pdf_export", re.compile(r"pdf (?P<id>\w+)"), cue="pdf", examples=("pdf a1",)
)
CHILDREN = {"bill_query": BILL_QUERY, "pdf_export": PDF_EXPORT}


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (replace(EXPORT, owner=""), "no owner"),
        (replace(EXPORT, owner=" \t"), "no owner"),
        (replace(EXPORT, child="pdf_exporter"), "the children are: bill_query, pdf_export"),
        (replace(EXPORT, name="query"), "2 rules are named 'query'"),
        (replace(EXPORT, cue=""), "no cue"),
        (replace(EXPORT, examples=("print a1",)), "does not match its own example"),
        (replace(EXPORT, examples=("PDF a1",), pattern=re.compile("PDF .*")), "its own example"),
        (replace(EXPORT, pattern=QUERY.pattern, cue="bill", examples=()), "same text with precedence 0"),
        (
            replace(EXPORT, pattern=re.compile(r"bill (?P<text>\S+)"), cue="bill", examples=()),
            "same text with precedence 0",
        ),
    ],
    ids=["empty", "blank", "child", "name", "cue", "example", "example-cue", "pattern", "overlap"],
)
def test_a_rule_that_nobody_can_follow_is_refused(rule: Rule, problem: str) -> None:
    """At construction, before the first turn, with the way out."""
    with pytest.raises(RuleError, match=re.escape(problem)):
        RulesParent("parent", (QUERY, rule), CHILDREN, MemoryStore())
    assert issubclass(RuleError, UsageError)


@given(st.permutations([QUERY, EXPORT, *RULES]))
def test_sound_rules_pass_in_any_order(rules: list[Rule]) -> None:
    """The reference rules, and others beside them under names of their own."""
    named = tuple(replace(rule, name=f"{rule.name}_{number}") for number, rule in enumerate(rules))
    assert checked_rules(named, CHILDREN) == named


@given(st.permutations([3, -1, 0]))
def test_precedence_decides_between_rules_for_the_same_words(order: list[int]) -> None:
    """The lower number wins, in whatever order the rules are stated."""
    rules = tuple(replace(QUERY, name=f"r{level}", precedence=level) for level in order)
    (found,) = parse("bill a1", checked_rules(rules, CHILDREN))
    assert found.rule.name == "r-1"


GREEDY = replace(QUERY, name="greedy", pattern=re.compile(r"bill (?P<text>z\S*)"), examples=())


def test_contended_words_that_no_example_foresaw_are_not_guessed(rig: Any) -> None:
    """Two rules for exactly the same words of one user: no child, a fixed text, state error."""
    made = rig({})
    parent = RulesParent("parent", (QUERY, GREEDY), CHILDREN, MemoryStore())

    answer = asyncio.run(rules_turn(made.runtime, parent, ParentScope("u", "s"), "bill z1"))
    assert answer == in_language("ambiguous", Language.CHINESE)
    assert str(made.watcher.named("state_entered")[-1][1]) == "error"
    assert made.watcher.named("delegation_began") == []


texts = st.lists(st.sampled_from(["bill a1", "pdf b2", "bill z1", " ", "x", "编号"]), max_size=8).map("".join)


@given(texts)
def test_tasks_are_disjoint_and_in_the_order_of_the_text(text: str) -> None:
    """However triggers meet, each word belongs to one task at most."""
    rules = checked_rules((replace(GREEDY, precedence=-1), QUERY, EXPORT), CHILDREN)
    found = parse(text, rules)
    at = 0
    for routed in found:
        value = next(iter(routed.inputs.values()))
        at = text.index(value, at) + len(value)
    assert len(found) <= text.count("bill") + text.count("pdf")


def test_a_text_full_of_triggers_is_parsed_in_time() -> None:
    """Ten times the tasks take about ten times as long: places are searched, not compared."""

    def seconds(count: int) -> float:
        began = time.process_time()
        parse("bill a1 pdf b2 " * count, (QUERY, EXPORT))
        return time.process_time() - began

    seconds(100)
    assert seconds(10_000) < 40 * seconds(1_000) + 0.1
