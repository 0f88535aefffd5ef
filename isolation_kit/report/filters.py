"""The pollution rate beside the fingerprints, and the top pollutants as filter rules ready to paste."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.report.facts import Facts
from isolation_kit.report.gather import FIELD
from isolation_kit.scenario import Slot

__all__ = ["allow_lists", "filter_rules", "pollution_block"]

_NOISE = (Slot.PARENT_TOOL_NOISE, Slot.CHILD_TOOL_NOISE)
_TOP = 3
_FIELDS = 8
_ENTRIES = 100


def pollution_block(facts: Facts) -> dict[str, Any]:
    """POLLUTION_DETECTED per TaskResponse, and where it comes from (article 000 section 5.4)."""
    events: Counter[tuple[str, str]] = Counter()
    responses = 0
    for item in facts.items.values():
        events.update(item.tally.pollution)
        responses += item.tally.task_responses
    class_of = _class_of(facts)
    fields: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    for (field, tool), count in events.items():
        fields[field] += count
        tools[tool] += count
    detected = sum(events.values())
    return {
        "detected": detected,
        "task_responses": responses,
        "rate": round(detected / responses, 6) if responses else None,
        "by_field": [
            {"field": field, "class": class_of.get(FIELD + field, ""), "count": count}
            for field, count in _ranked(fields)[:_ENTRIES]
        ],
        "by_tool": [{"tool": tool, "count": count} for tool, count in _ranked(tools)[:_ENTRIES]],
    }


def filter_rules(facts: Facts, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The three classes that pollute most; share is that of all polluting occurrences in tools' fields."""
    class_of = _class_of(facts)
    seen = _occurrences(facts, rows)
    weights: Counter[str] = Counter()
    for what, count in seen.items():
        weights[class_of.get(what, what if what.startswith(FIELD) else "")] += count
    del weights[""]
    total = sum(weights.values())
    out = []
    for rank, (name, count) in enumerate(_ranked(weights)[:_TOP], start=1):
        fields = [
            what for what, _ in _ranked(seen) if class_of.get(what, what) == name and what.startswith(FIELD)
        ]
        fields = list(dict.fromkeys(map(_leaf, fields)))[:_FIELDS]
        known = name in facts.classes
        out.append(
            {
                "rank": rank,
                "class": name if known else "",
                "fields": fields,
                "count": count,
                "share": round(count / total, 6),
                "rule": facts.classes[name].text["rule"].strip() if known else _own_rule(fields),
            }
        )
    return out


def allow_lists(facts: Facts, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each tool whose reply reached a child with more than it declares: what it declares, as a rule."""
    leaking = {
        (row["target"], tool)
        for row in rows
        if row["kind"] == "LEAK" and not row["allowed_by"] and row["structural"]["count"]
        for tool in row["source_tools"]
        if row["what"].startswith(FIELD) or row["what"] == Slot.CHILD_TOOL_NOISE
    }
    return [
        {
            "target": name,
            "tool": tool,
            "fields": list(fields),
            "rule": f"[[filter]]\ntool = {_quoted(tool)}\nfield = [{', '.join(map(_quoted, fields))}]\n"
            'action = "keep"\nreason = "the fields that the tool declares"',
        }
        for name, target in sorted(facts.targets.items())
        for tool, fields in sorted(target.declared)
        if (name, tool) in leaking
    ]


def _occurrences(facts: Facts, rows: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Cases and POLLUTION_DETECTED events by slot or field; allowed and lost data are no pollution."""
    out: Counter[str] = Counter()
    for row in rows:
        # No filter of fields keeps away what is no tool's field: the user's words, the parent's history.
        # And what a contract says of a whole text, as `field.(not strict JSON)`, is no field at all.
        in_a_field = row["what"].startswith(FIELD) or row["what"] in _NOISE
        in_a_field = in_a_field and not row["what"].startswith(f"{FIELD}(")
        if row["kind"] == "LEAK" and not row["allowed_by"] and in_a_field:
            out[row["what"]] += row["structural"]["count"]
    for item in facts.items.values():
        for (field, _), count in item.tally.pollution.items():
            out[FIELD + field] += count
    return +out


def _leaf(what: str) -> str:
    """The name that a filter rule needs: `field.items[].trace_id` gives `trace_id`."""
    return re.sub(r"(\[\d*\])+\Z", "", what.removeprefix(FIELD)).rpartition(".")[2] or what.removeprefix(
        FIELD
    )


def _own_rule(fields: Sequence[str]) -> str:
    names = ", ".join(map(_quoted, fields))
    return f'[[filter]]\nfield = [{names}]\naction = "drop"\nreason = "no contract declares it"'


def _quoted(text: str) -> str:
    # A JSON string without escapes above U+FFFF is a TOML basic string too.
    return json.dumps(text, ensure_ascii=False)


def _class_of(facts: Facts) -> dict[str, str]:
    return {what: name for name, entry in facts.classes.items() for what in entry.whats}


def _ranked(counter: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))
