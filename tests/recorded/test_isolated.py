"""`assert_isolated`: terms of the parent's history at a child fail in any form; a clean child passes."""

from __future__ import annotations

import base64
import codecs
import gzip
import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit import UsageError, assert_isolated
from isolation_kit.recorded import overlaps

BRIEF = "Summarise the invoice INV-2041 for the customer."
HISTORY = [
    {"role": "user", "content": "Order 4711-A belongs to project Nightingale, 客户张伟 called."},
    {"role": "assistant", "content": "The warehouse manager seems to be hiding something."},
]
CLEAN = [{"role": "system", "content": "You are a billing assistant."}, {"role": "user", "content": BRIEF}]

FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "upper case": str.upper,
    "json": json.dumps,
    "json in json": lambda text: json.dumps(json.dumps({"history": text})),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of its gzip": lambda text: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
    "hex": lambda text: text.encode().hex(),
    "percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "html": lambda text: "".join(f"&#{ord(char)};" for char in html.escape(text)),
    "letters apart": "-".join,
    "fullwidth": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "reversed": lambda text: text[::-1],
}


@dataclass
class Message:
    """A message as a framework may keep it."""

    role: str
    content: str


class Typed:
    """A message that tells its own plain form."""

    def model_dump(self) -> dict[str, Any]:
        """As pydantic models do."""
        return {"role": "user", "content": [{"type": "text", "text": "about Nightingale"}]}


@pytest.mark.parametrize("form", FORMS)
def test_a_term_of_the_parent_is_found_in_every_form(form: str) -> None:
    """A name, alone and within a sentence, in whatever encoding."""
    for leaked in ("Nightingale", "project Nightingale of the warehouse manager"):
        child = [*CLEAN, {"role": "user", "content": f"note: {FORMS[form](leaked)}"}]
        with pytest.raises(AssertionError, match=r"term\(s\) that only the parent's history holds"):
            assert_isolated(child, brief=BRIEF, parent_history=HISTORY)


@pytest.mark.parametrize("form", FORMS)
def test_the_brief_may_stand_in_any_form(form: str) -> None:
    """What was handed over on purpose is no leak, however it is written."""
    assert_isolated([*CLEAN, FORMS[form](BRIEF)], brief=BRIEF, parent_history=HISTORY)


def test_a_name_without_spaces_around_it_is_found() -> None:
    """Scripts without spaces: pairs of neighbouring characters, also pulled apart."""
    for leaked in ("查张伟的账单", "张 伟"):
        assert overlaps([leaked], brief=BRIEF, parent_history=HISTORY)
    assert not overlaps(["请查询客户的账单"], brief=BRIEF, parent_history=HISTORY, allowed="客户账单")


@pytest.mark.parametrize(
    "child",
    [
        "about Nightingale",
        [Message("user", "about Nightingale")],
        [Typed()],
        {"model": "m", "messages": CLEAN, "metadata": {"state": "Nightingale"}},
        {"input": [{"role": "user", "content": "Nightingale"}]},
        [{"role": "assistant", "tool_calls": [{"function": {"arguments": '{"q": "Nightingale"}'}}]}],
        [b"about Nightingale"],
        [{"Nightingale": 1}],
    ],
    ids=["text", "data class", "model_dump", "request body", "responses", "tool call", "bytes", "key"],
)
def test_whatever_a_framework_keeps_is_read(child: Any) -> None:
    """Texts, mappings, data classes, typed messages and request bodies."""
    assert [found.length for found in overlaps(child, brief=BRIEF, parent_history=HISTORY)] == [11]


def test_the_message_names_no_term() -> None:
    """It says which messages, how long and in what form, and nothing of the parent's words."""
    with pytest.raises(AssertionError) as failed:
        assert_isolated([*CLEAN, *HISTORY], brief=BRIEF, parent_history=HISTORY)
    text = str(failed.value).casefold()
    assert "message 0 of the parent -> message 2 of the child" in text
    assert not any(word in text for word in ("nightingale", "4711", "warehouse", "张伟"))


def test_words_of_the_childs_own_prompt_are_allowed() -> None:
    """A system prompt that shares a word with the history needs naming, once."""
    child = [{"role": "system", "content": "You work for the warehouse."}, {"role": "user", "content": BRIEF}]
    with pytest.raises(AssertionError):
        assert_isolated(child, brief=BRIEF, parent_history=HISTORY)
    assert_isolated(child, brief=BRIEF, parent_history=HISTORY, allowed=child[0])


@pytest.mark.parametrize(
    ("child", "history", "said"),
    [
        ([], HISTORY, "child_messages holds no text"),
        ([{"role": "user", "content": "  "}], HISTORY, "child_messages holds no text"),
        (CLEAN, [], "parent_history holds no term"),
        (CLEAN, [BRIEF, "please do this"], "parent_history holds no term"),
        ([object()], HISTORY, "holds a object"),
    ],
)
def test_nothing_to_judge_is_no_pass(child: Any, history: Any, said: str) -> None:
    """An assertion that compares nothing is an error of its use, and says what to give."""
    with pytest.raises(UsageError, match=said):
        assert_isolated(child, brief=BRIEF, parent_history=history)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), min_size=1, max_size=4))
def test_the_parts_of_a_history_are_found_and_a_brief_never_is(history: list[str]) -> None:
    """Any history at the child is found if it holds a term; the same words as brief are not."""
    try:
        found = overlaps(history, brief=BRIEF, parent_history=history)
    except UsageError:
        return
    assert found
    assert not overlaps([BRIEF], brief=BRIEF, parent_history=history)
    with pytest.raises(UsageError):
        overlaps(history, brief=history, parent_history=history)
