"""Rules that route: which words of a user lead to which child, and who signed that off (article 000, 4.3).

All of the user's text that no rule captures is ignored. Rules are checked before the first turn: one without
an owner, one whose child does not exist, or two that contend for the same words are refused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations

from isolation_kit.errors import UsageError

__all__ = ["Routed", "Rule", "RuleError", "checked_rules", "parse"]


class RuleError(UsageError):
    """A routing rule that cannot be followed; names rules and children, never a user's words."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A routing rule. `owner` signed it off. `cue` is a literal that its pattern cannot match without.

    The pattern's named groups become inputs of the child, which its schema must declare:

    - `(?P<subject>...)`, whom it is about, becomes `person`, which is always handed down, "" without one;
    - `(?P<text>...)`, free text, becomes `request`;
    - `(?P<id>...)`, an identifier, becomes `bill_id`, refused if it is malformed, never cut.

    A rule with a `question` is a follow-up: its child gets the inputs of the newest earlier step about that
    subject again, with `person`, and the rule's own words as the input `question`.

    Args:
        precedence: where two rules claim the same words, the lower number has them; among equals that merely
            overlap, the one stated first.
        examples: texts that the owner signed off with it; each must match this rule alone.
    """

    name: str
    owner: str
    child: str
    pattern: re.Pattern[str]
    cue: str
    question: str = ""
    precedence: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Routed:
    """One task that a rule found in the user's text."""

    rule: Rule
    subject: str
    inputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Found:
    """A task and the place of its words."""

    start: int
    end: int
    routed: Routed

    def meets(self, match: re.Match[str]) -> bool:
        return match.start() < self.end and self.start < match.end()

    def contends(self, match: re.Match[str], rule: Rule) -> bool:
        return (self.start, self.end) == match.span() and self.routed.rule.precedence == rule.precedence


def checked_rules(rules: tuple[Rule, ...], children: Collection[str]) -> tuple[Rule, ...]:
    """`rules` in their order of precedence.

    Raises:
        RuleError: for a rule without owner, child, cue or a name of its own, for an example that its rule
            does not match, and for two rules of one precedence that match the same words, as far as their
            patterns and examples tell. (`parse` refuses what only a user's text brings to light.)
    """
    names = Counter(rule.name for rule in rules)
    for rule in rules:
        if not rule.owner.strip():
            raise RuleError(
                f"rule {rule.name!r} has no owner; name who signed it off, for example owner='billing'"
            )
        if rule.child not in children:
            known = ", ".join(sorted(children)) or "none"
            raise RuleError(f"rule {rule.name!r} routes to {rule.child!r}; the children are: {known}")
        if names[rule.name] > 1 or not rule.name:
            raise RuleError(f"{names[rule.name]} rules are named {rule.name!r}; give each a name of its own")
        if not rule.cue:
            raise RuleError(
                f"rule {rule.name!r} has no cue; give a word that each match contains, like cue='编号'"
            )
        if not all(rule.cue in text and rule.pattern.search(text) for text in rule.examples):
            raise RuleError(
                f"rule {rule.name!r} does not match its own example; correct the pattern or the cue"
            )
    for one, other in combinations(rules, 2):
        if one.precedence == other.precedence and _meet(one, other):
            raise RuleError(
                f"rules {one.name!r} and {other.name!r} match the same text with precedence "
                f"{one.precedence}; give the one that must win a lower number, like precedence=-1"
            )
    return tuple(sorted(rules, key=lambda rule: rule.precedence))


def _meet(one: Rule, other: Rule) -> bool:
    if one.pattern == other.pattern:
        return True
    return any(_spans(one, text) & _spans(other, text) for rule in (one, other) for text in rule.examples)


def _spans(rule: Rule, text: str) -> set[tuple[int, int]]:
    return {match.span() for match in rule.pattern.finditer(text)} if rule.cue in text else set()


def parse(text: str, rules: tuple[Rule, ...]) -> tuple[Routed, ...]:
    """The tasks in `text` in order of appearance; where two rules meet, the earlier one has precedence.

    Raises:
        RuleError: if two rules of one precedence match exactly the same words: nobody signed off a guess.
    """
    found: list[_Found] = []
    for rule in rules:
        if rule.cue not in text:
            continue
        for match in rule.pattern.finditer(text):
            # What was found is disjoint and in order, so only the two neighbours can meet the match.
            place = bisect_right(found, match.start(), key=lambda each: each.start)
            met = [each for each in found[max(place - 1, 0) : place + 1] if each.meets(match)]
            if any(each.contends(match, rule) for each in met):
                raise RuleError(f"rule {rule.name!r} and another one of its precedence match the same words")
            if not met:
                found.insert(place, _Found(*match.span(), _routed(rule, match)))
    return tuple(each.routed for each in found)


def _routed(rule: Rule, match: re.Match[str]) -> Routed:
    groups = match.groupdict()
    inputs: dict[str, str] = {}
    if groups.get("text") is not None:
        inputs["request"] = groups["text"]
    if groups.get("id") is not None:
        inputs["bill_id"] = groups["id"]
    return Routed(rule, (groups.get("subject") or "").strip(), inputs)
