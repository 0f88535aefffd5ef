"""Public reports of broken isolation, each with the seeded defect or the test that is modelled on it.

Classes: 1 parent to child, 2 child to parent, 3 siblings, 4 users and sessions, 5 residue between runs, 6
tool noise, 7 boundary overflow, 8 logs and traces, 9 JSON and schema differentials, 10 loops, 11 encodings
that a naive matcher misses, 12 false alarms of detectors.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from isolation_kit.content import load_attacks
from isolation_kit.mutants import all_mutants

TESTS = Path(__file__).parent


class Report(NamedTuple):
    """One public report: its classes, and what stands for it here (defects by name, tests as file::name)."""

    ref: str
    classes: tuple[int, ...]
    here: tuple[str, ...]


REPORTS = (
    Report("google/adk-python#2324", (1,), ("m01_full_history",)),
    Report("anthropics/claude-code#32717", (1,), ("m104_base_prompt_joined",)),
    Report(
        "openai/openai-agents-python#1244",
        (1,),
        (
            "targets/test_openai_agents.py::test_a_handoff_shows_the_child_the_conversation",
            "targets/test_openai_agents.py::test_an_agent_as_tool_gets_its_task_alone",
        ),
    ),
    Report("anthropics/claude-code#18351", (2,), ("m123_transcript_of_the_second",)),
    Report(
        "NousResearch/hermes-agent#37356",
        (2, 5),
        (
            "oracles/test_oracle_destroy.py::test_what_holds_a_canary_is_a_leak_at_once",
            "attack:ended-session",
        ),
    ),
    Report("google/adk-python#2948", (3,), ("m135_prefix_of_a_name", "attack:prefix-agent-names")),
    Report(
        "anthropics/claude-code#87243", (3,), ("m141_shared_scratch_file", "attack:shared-scratch-folder")
    ),
    Report(
        "google/adk-python#3612",
        (3,),
        (
            "oracles/test_oracle_controls.py::test_a_dropped_task_is_a_loss",
            "attack:follow-up-carries-its-items",
        ),
    ),
    Report("redis/redis-py#2665", (4,), ("m37_unread_reply",)),
    Report("openclaw/openclaw#29250", (4,), ("m178_one_session_for_all",)),
    Report("google/adk-python#1019", (4,), ("attack:two-users-over-sessions", "m35_cache_without_user")),
    Report("langflow-ai/langflow#13059", (4,), ("attack:session-name-used-again",)),
    Report("agno-agi/agno#4663", (4, 5), ("attack:a-b-a-order", "m32_singleton_request")),
    Report("browser-use/browser-use#5205", (4, 5), ("m07_shared_default",)),
    Report("modelcontextprotocol/typescript-sdk#1429", (6,), ("m196_error_with_its_cause",)),
    Report("ollama/ollama#8531", (7,), ("m201_left_truncation",)),
    Report(
        "openai/openai-agents-python#4357",
        (7, 9),
        ("test_strictjson.py::test_ambiguous_documents_are_refused", "attack:deep-nesting"),
    ),
    Report("ogx-ai/ogx#3499", (8,), ("m217_calls_on_the_console",)),
    Report("simonw/llm#1130", (9,), ("m223_appended_twice",)),
    Report(
        "MoonshotAI/kimi-code#2725",
        (10,),
        ("runtime/test_child.py::test_the_same_task_twice_in_one_chain_stops_with_an_alarm",),
    ),
    Report(
        "hivecommons/hive#6686",
        (11,),
        (
            "detect/test_public_alarms.py::test_what_passed_a_substring_test_is_found",
            "detect/test_recall.py::test_rendering_is_found",
        ),
    ),
    Report(
        "msaad00/agent-bom#405",
        (11,),
        (
            "detect/test_public_alarms.py::test_what_passed_a_substring_test_is_found",
            "detect/test_splits.py::test_pieces_of_any_size_are_joined",
        ),
    ),
    Report(
        "OWASP/AISVS#208",
        (11,),
        ("detect/test_public_alarms.py::test_what_passed_a_substring_test_is_found",),
    ),
    *(
        Report(ref, (12,), ("detect/test_public_alarms.py::test_what_is_no_canary_raises_nothing",))
        for ref in (
            "zeroclaw-labs/zeroclaw#4832",
            "DobermanCore/Doberman-Core#56",
            "tinyhumansai/openhuman#1940",
        )
    ),
    Report(
        "stacklok/codegate#1228",
        (12,),
        ("detect/test_public_alarms.py::test_a_look_changes_no_byte_of_what_is_sent",),
    ),
)


@cache
def functions_in(file: str) -> frozenset[str]:
    """The names of a test file's functions."""
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_twenty_reports_over_all_classes_stand_here() -> None:
    """Each once."""
    assert len(REPORTS) >= 20
    assert len({report.ref for report in REPORTS}) == len(REPORTS)
    assert {number for report in REPORTS for number in report.classes} == set(range(1, 13))


@pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
def test_what_stands_for_a_report_exists(report: Report) -> None:
    """A defect or attack of that name, or a test function; what is modelled on the report links it."""
    defects = {mutant.name: mutant for mutant in all_mutants()}
    attacks = {attack.id for attack in load_attacks()}
    for name in report.here:
        kind, _, rest = name.partition(":")
        if kind == "attack":
            assert rest in attacks
        elif "::" in name:
            file, _, test = name.partition("::")
            assert test in functions_in(file)
        else:
            assert name in defects


def test_a_defect_numbered_after_a_report_links_one_of_the_table() -> None:
    """100 and more: modelled on a public report."""
    refs = {f"https://github.com/{report.ref.replace('#', '/issues/')}" for report in REPORTS}
    numbered = [mutant for mutant in all_mutants() if mutant.number > 100]
    assert len(numbered) >= 9
    assert {mutant.link for mutant in numbered} <= refs
