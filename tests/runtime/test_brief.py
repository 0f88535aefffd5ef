"""Briefs: identifiers are refused, free text is cut with a mark, no text leaves its own field."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import BriefError, TaskBrief, build_child_context
from isolation_kit.runtime.brief import checked_brief, is_identifier_field
from isolation_kit.runtime.text import canonical, cut

readable = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


def brief(**changes: object) -> TaskBrief:
    """A sound brief with some fields changed."""
    return TaskBrief(**{"task_id": "t_1", "goal": "do it", **changes})  # type: ignore[arg-type]


@given(readable, st.integers(20, 120))
def test_a_cut_is_marked_and_within_the_limit(text: str, limit: int) -> None:
    """Whole texts stay whole; cut ones say how much is gone."""
    seen = cut(text, limit)
    assert len(seen) <= limit
    if len(text) <= limit:
        assert seen == text
    else:
        kept, mark = seen.rsplit("…[cut ", 1)
        assert text.startswith(kept)
        assert int(mark[:-1]) == len(text) - len(kept)


@given(readable, readable, readable, st.integers(30, 100))
def test_no_text_spills_into_another_field(goal: str, request: str, constants: str, window: int) -> None:
    """The context reads back as the fields that went in, each cut on its own."""
    checked = checked_brief(
        brief(goal=goal or "g", inputs={"request": request}, global_context=constants), window
    )
    system, user = build_child_context(checked)
    terms = json.loads(system.content.split("\n", 1)[1])
    assert terms["goal"] == cut(goal or "g", window)
    assert terms.get("global_context", "") == cut(constants, window)
    assert json.loads(user.content) == {"request": cut(request, window)}
    assert (system.content + user.content).encode()


@given(readable, readable, st.integers(0, 100))
def test_a_retry_sends_the_cut_brief(request: str, rule: str, window: int) -> None:
    """A checked brief checks as itself, down to a window that only the mark fills."""
    checked = checked_brief(brief(inputs={"request": request}, constraints=(rule,)), window)
    assert checked_brief(checked, window) == checked


anything = st.recursive(
    st.none() | st.integers() | st.text(max_size=9) | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from([field.name for field in fields(TaskBrief)]),
        anything,
    )
)
def test_a_malformed_brief_is_refused_or_can_be_sent(changes: dict[str, object]) -> None:
    """Whatever stands in it: the kit's own error, or bytes that can cross."""
    try:
        checked = checked_brief(brief(**changes), 100)
    except BriefError:
        return
    assert canonical(checked.to_dict()).encode()


@pytest.mark.parametrize(
    "identifier",
    ["U_" + "a" * 1000, "", "a b", "U_1\n", "张伟", "a:b", "../x"],
    ids=["long", "empty", "space", "newline", "letters", "colon", "path"],
)
def test_a_malformed_identifier_is_refused_and_not_quoted(identifier: str) -> None:
    """A cut identifier could be another user's, so there is no cut."""
    with pytest.raises(BriefError) as caught:
        checked_brief(brief(inputs={"user_id": identifier}), 4000)
    assert "inputs.user_id" in str(caught.value)
    assert not identifier.strip() or identifier not in str(caught.value)


def test_a_sound_identifier_passes() -> None:
    """The clean twin: 64 characters of the allowed alphabet."""
    sound = "U_" + "a" * 62
    assert checked_brief(brief(inputs={"user_id": sound}), 10).inputs == {"user_id": sound}


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("id", True),
        ("user_id", True),
        ("order_ids", True),
        ("idea", False),
        ("paid", False),
        ("request", False),
    ],
)
def test_identifier_fields_are_known_by_name(name: str, is_one: bool) -> None:
    """Only whole words count: `paid` is no identifier."""
    assert is_identifier_field(name) is is_one


@pytest.mark.parametrize(
    "changes",
    [{"goal": ""}, {"goal": "\ud83d"}, {"inputs": {"request": "a\udc00"}}, {"inputs": {"request": 3}}],
    ids=["no goal", "surrogate goal", "surrogate input", "number"],
)
def test_a_brief_that_is_no_text_is_refused(changes: dict[str, object]) -> None:
    """What cannot be encoded does not start a child."""
    with pytest.raises(BriefError):
        checked_brief(brief(**changes), 4000)


def test_a_tool_cannot_be_allowed_and_forbidden() -> None:
    """Contradicting lists are refused."""
    with pytest.raises(BriefError, match="task"):
        checked_brief(brief(allowed_tools=("task",), forbidden_tools=("task",)), 4000)


def test_the_context_does_not_tell_the_task_id() -> None:
    """Two briefs that differ in their id alone give one context."""
    assert build_child_context(brief(task_id="t_1")) == build_child_context(brief(task_id="t_2"))
