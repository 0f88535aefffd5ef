"""Coverage, pollution, filters and causes."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from report_samples import LEAKS, Leak, Made, clean_twin, leaky, report

from isolation_kit.finding import Verdict


def states(document: dict[str, Any]) -> dict[tuple[str, str, str], str]:
    """(child, slot, channel) to state."""
    return {(row["child"], row["slot"], row["channel"]): row["state"] for row in document["coverage"]}


def test_states_of_the_leaky_target_differ() -> None:
    """Leaking, exposed, allowed, suspect, clean and untested are told apart."""
    found = states(report([leaky()]))
    assert found["billing", "parent.tool.noise", "child.request"] == "leaking"
    assert found["billing", "field.*", "child.request"] == "leaking"
    assert found["billing", "parent.system", "result"] == "exposed"
    assert found["writer", "user.current", "child.request"] == "allowed"
    assert found["billing", "user.earlier", "child.tools"] == "suspect"
    assert found["writer", "parent.tool.noise", "child.request"] == "clean"
    assert found["writer", "parent.memory", "child.request"] == "untested"  # never planted
    assert found["writer", "user.earlier", "child.headers"] == "untested"  # never seen


def test_clean_twin_has_clean_and_untested_cells_only() -> None:
    """The same table without leaks."""
    assert set(states(report([clean_twin()])).values()) == {"clean", "untested"}


def test_nothing_is_clean_without_a_case() -> None:
    """An item that ran no case tested no cell."""
    assert set(states(report([Made(cases=0).outcome()])).values()) == {"untested"}


def test_nothing_is_clean_where_no_oracle_concluded() -> None:
    """Cases that ran and could not be judged tested no cell."""
    blind = Made(cases=20, verdicts=[Verdict.INCONCLUSIVE] * 20).outcome()
    assert set(states(report([blind])).values()) == {"untested"}


def test_what_the_policy_allows_by_default_is_no_cell() -> None:
    """A child may see its task; only another's data there is a finding."""
    cell = ("billing", "task.goal", "child.request")
    assert cell not in states(report([clean_twin()]))
    foreign = Leak("task.goal", "child.request", direction="across")
    assert states(report([Made(cases=20, leaks=(foreign,)).outcome()]))[cell] == "leaking"


def test_loss_is_no_leak_in_the_table() -> None:
    """A task that does not arrive is in the verdict, and paints no cell."""
    lost = Leak("task.goal", "child.request", kind=Verdict.LOSS)
    assert set(states(report([Made(cases=20, leaks=(lost,)).outcome()])).values()) == {"clean", "untested"}


def test_what_comes_up_leaks_in_the_row_of_the_parent() -> None:
    """A child's text in the root's request is a leaking cell of the root, which is then not told as clean."""
    document = report(
        [Made(cases=20, leaks=(Leak("child.text", "parent.request", direction="up"),)).outcome()]
    )
    rows = [
        row
        for row in document["coverage"]
        if (row["slot"], row["channel"]) == ("child.text", "parent.request")
    ]
    assert [(row["child"], row["state"]) for row in rows] == [("support", "leaking")]


def test_what_only_the_root_logs_leaks_in_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child's text in a log that the root alone writes is no clean cell of the root."""
    monkeypatch.setattr("report_samples.SEEN", frozenset({("support", "log"), ("billing", "child.request")}))
    document = report([Made(cases=20, leaks=(Leak("child.text", "log", direction="out"),)).outcome()])
    rows = [row for row in document["coverage"] if (row["slot"], row["channel"]) == ("child.text", "log")]
    assert [(row["child"], row["state"]) for row in rows] == [("support", "leaking")]


def test_pollution_rate_per_task_response() -> None:
    """67 of 200 cases report two fields each, one TaskResponse a case."""
    block = report([leaky()])["pollution"]
    assert (block["detected"], block["task_responses"], block["rate"]) == (134, 200, 0.67)
    assert block["by_tool"] == [{"tool": "crm_search", "count": 134}]
    assert report([])["pollution"]["rate"] is None


def test_top_three_filters_are_toml_to_paste() -> None:
    """Each rule parses, and the shares are those of all pollution in tools' fields."""
    rules = report([leaky()])["filters"]
    assert [entry["rank"] for entry in rules] == [1, 2]
    assert rules[0]["class"] == "trace-ids"
    assert all(tomllib.loads(entry["rule"])["filter"][0]["action"] == "drop" for entry in rules)
    assert 0 < sum(entry["share"] for entry in rules) <= 1.00001


def test_what_is_no_tools_field_gets_no_filter() -> None:
    """The user's own words and earlier turns are kept away by the brief, not by a filter of fields."""
    words = report([Made(cases=20, leaks=(Leak("user.earlier", "child.request"),)).outcome()])
    field = report([Made(cases=20, leaks=(Leak("field.history", "child.request"),)).outcome()])
    assert words["fingerprints"][0]["class"] == "parent-history"
    assert words["filters"] == []
    assert [entry["class"] for entry in field["filters"]] == ["parent-history"]


def test_filter_names_leaves_once() -> None:
    """The rule is about a name at any depth, so three paths to one name are one field."""
    paths = ("trace_id", "items[].trace_id", "data.items[0].trace_id")
    made = Made(cases=20, pollution=tuple((path, "crm_search") for path in paths))
    assert [entry["fields"] for entry in report([made.outcome()])["filters"]] == [["trace_id"]]


def test_clean_target_needs_no_filter() -> None:
    """No pollution, no rule."""
    assert report([clean_twin()])["filters"] == []


def test_rule_for_an_unknown_hostile_field_is_still_toml() -> None:
    """A field that no class knows gets a rule of its own, whatever its name holds."""
    name = 'a"]\nb = 😀\\ \x00'
    rule = report([Made(cases=20, pollution=((name, ""),)).outcome()])["filters"][0]
    assert tomllib.loads(rule["rule"])["filter"][0]["field"] == rule["fields"]


def test_one_cause_over_two_edges() -> None:
    """The same datum on the same channel of two children is one cause."""
    two = (Leak("user.earlier", "child.request"), Leak("user.earlier", "child.request", child="writer"))
    causes = report([Made(cases=20, leaks=two).outcome()])["causes"]
    assert [len(cause["fingerprints"]) for cause in causes] == [2]
    assert causes[0]["edges"] == ["support: support>billing", "support: support>writer"]


def test_policy_entries_say_whether_they_are_used_and_expired() -> None:
    """An unused and an expired entry are reported."""
    entries = {entry["slot"]: entry for entry in report([leaky()])["policy"]["entries"]}
    assert (entries["user.current"]["used"], entries["user.current"]["expired"]) == (1, False)
    assert (entries["parent.state"]["used"], entries["parent.state"]["expired"]) == (0, True)


def test_scope_says_what_is_not_shown() -> None:
    """Untested cells, stubbed tools and puppets stand in every report."""
    scope = report([leaky()])["scope"]
    assert scope["models"] == "puppets"
    assert {entry["tool"] for entry in scope["tools_stubbed"]} == {"crm_search", "lookup_invoice"}
    assert scope["untested"]["support"] > 0
    assert any("not of production traffic" in text for text in scope["says"])


def test_first_case_is_named() -> None:
    """The first case that showed a leak, by family, block and index."""
    row = next(row for row in report([leaky()])["fingerprints"] if row["what"] == LEAKS[1].what)
    assert (row["first"]["family"], row["first"]["block"], row["first"]["index"]) == ("noise-injection", 0, 2)
