"""What each key of a content file may hold, with an example for whoever gets it wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from isolation_kit.content.model import TOKEN
from isolation_kit.errors import UsageError
from isolation_kit.scenario import Slot, check_slot

__all__ = ["RULES", "Rule"]

_CHANNELS = (
    *(
        "child.request",
        "child.headers",
        "child.tools",
        "child.tool.args",
        "child.tool.result",
        "child.context",
    ),
    *("result", "parent.request", "final.output", "stream"),
    *("store", "log", "span", "artifact", "environment", "process.memory"),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value may be, an example, and the test that holds for it."""

    allowed: str
    example: str
    holds: Callable[[Any], bool]


def _is_slot(name: str) -> bool:
    try:
        check_slot(name)
    except UsageError:
        return False
    return True


def _is_anchored(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return pattern.startswith(r"\A") and pattern.endswith(r"\Z")


def _is_rule(text: str) -> bool:
    try:
        entries = tomllib.loads(text).get("filter")
    except ValueError:
        return False
    required = {"field", "action", "reason"}
    return (
        isinstance(entries, list)
        and bool(entries)
        and all(isinstance(entry, dict) and required <= set(entry) for entry in entries)
    )


def _one_of(*names: str) -> Rule:
    return Rule(" | ".join(repr(name) for name in names), repr(names[0]), lambda value: value in names)


def _shaped(pattern: str, allowed: str, example: str) -> Rule:
    return Rule(allowed, repr(example), lambda value: re.fullmatch(pattern, value) is not None)


def _text(example: str) -> Rule:
    return Rule("a text that is not blank", repr(example), lambda value: bool(value.strip()))


def _many(example: str) -> Rule:
    return Rule("a list with at least one entry", example, bool)


def _any(allowed: str, example: str) -> Rule:
    return Rule(allowed, example, lambda value: True)


_ID = _shaped(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", "lower case letters, digits, '-' and '_'", "two-subjects")
_LINK = _shaped(
    r"(?:https://\S+)?", "an https address, or '' if there is none", "https://example.org/issues/1"
)
_SLOT = Rule(f"{', '.join(Slot)}, or a name of your own under 'x.'", "'user.earlier'", _is_slot)
_SOURCE = _text("article 000 section 4.7")
_PAIR = _any("a table with the keys en and zh", '{ en = "Trace ids", zh = "追踪号" }')
_LONG = 100_000
_SEVERITIES = ("low", "medium", "high", "critical")

# One rule for each key. Where the value is a list of texts, the rule holds for each text in it.
RULES: Mapping[str, Rule] = {
    "Carrier.slot": _SLOT,
    "Carrier.text": Rule(
        f"a text of at most {_LONG} characters that holds {TOKEN}",
        f"'Look up the bill, reference {TOKEN}'",
        lambda value: TOKEN in value and len(value) <= _LONG,
    ),
    "Carrier.language": _one_of("zh", "en", "any"),
    "Carrier.shape": _one_of("text", "json"),
    "Structure.users": _text("agent_1"),
    "Structure.order": Rule("indices into users, from 0", "[0, 1, 0]", lambda value: value >= 0),
    "Structure.sessions": _text("default"),
    "Structure.subjects": _text("张伟"),
    "Structure.about": Rule("indices into subjects, or -1 for none", "[0, 1, -1]", lambda value: value >= -1),
    "Structure.follow_up": _any("true or false", "true"),
    "Structure.concurrent": _any("true or false", "true"),
    "Overflow.of": _one_of("task", "history", "tool.result", "tool.args", "identifier", "rounds", "answer"),
    "Overflow.sizes": _one_of("limit-1", "limit", "limit+1", "10x"),
    "Overflow.atoms": Rule("texts that are not empty", "['word ', '账单']", bool),
    "Overflow.twist": _one_of("", "deep-nesting", "many-keys", "lone-surrogate", "duplicate-keys", "newline"),
    "Example.slot": _SLOT,
    "Example.channel": _one_of(*_CHANNELS),
    "Example.text": _text(f"trace_id={TOKEN}"),
    "Example.counts": _any("true or false", "true"),
    "Example.why": _text("a child needs its task, not the parent's history"),
    "Attack.id": _ID,
    "Attack.family": _ID,
    "Attack.title": _text("Two people in one conversation"),
    "Attack.models": _text("A follow-up about the first person is answered with the second one's data."),
    "Attack.source": _SOURCE,
    "Attack.link": _LINK,
    "Attack.carriers": _many(f"[[carrier]] with slot = 'user.current', text = '{TOKEN}'"),
    "Attack.examples": _many("[[example]] with slot, channel, text, counts and why"),
    "Attack.structure": _any("a table", "[structure] with users = ['u_0', 'u_1'] and order = [0, 1, 0]"),
    "Attack.overflow": _any("a table", "[overflow] with of = 'task', sizes = ['limit+1'], atoms = ['账单']"),
    "Attack.maps": _shaped(r"CWE-\d{1,5}|LLM\d\d:20\d\d|ASI\d\d", "CWE or OWASP identifiers", "CWE-488"),
    "Bilingual.en": _text("Trace ids"),
    "Bilingual.zh": _text("追踪号"),
    "Remedies.nowhere": _PAIR,
    "Remedies.remedies": _many("[[remedy]] with id, title, symptom, cause and remedy"),
    "Remedy.id": _ID,
    "Remedy.severity": _one_of("", *_SEVERITIES),
    "Remedy.kinds": _one_of("LEAK", "LOSS"),
    "Remedy.directions": _one_of("after", "across", "sideways", "up", "down", "out"),
    "Remedy.channels": _one_of(*_CHANNELS),
    "Remedy.whats": _text("field.left_thread"),
    "Remedy.oracles": _text("conservation"),
    "Remedy.runs": _one_of("audit", "load"),
    **{f"Remedy.{name}": _PAIR for name in ("title", "symptom", "cause", "remedy")},
    "FingerprintClass.id": _ID,
    "FingerprintClass.title": _PAIR,
    "FingerprintClass.names": Rule(
        "lower-case names that are not blank",
        "'trace_id'",
        lambda value: value.strip() == value.lower() != "",
    ),
    "FingerprintClass.slots": _SLOT,
    "FingerprintClass.values": Rule(
        r"regular expressions between \A and \Z", r"'\A[0-9a-f]{32}\Z'", _is_anchored
    ),
    "FingerprintClass.severity": _one_of(*_SEVERITIES),
    "FingerprintClass.symptom": _PAIR,
    "FingerprintClass.cause": _PAIR,
    "FingerprintClass.remedy": _PAIR,
    "FingerprintClass.rule": Rule(
        "TOML with [[filter]] tables that have field, action and reason",
        "[[filter]] with field = ['trace_id'], action = 'drop', reason = 'infrastructure'",
        _is_rule,
    ),
    "FingerprintClass.matches": _text("traceId"),
    "FingerprintClass.misses": _text("amount"),
    "FingerprintClass.source": _SOURCE,
    "FingerprintClass.link": _LINK,
}
