"""Tokens: the default never says too few, and a cut at a number of them is marked, whole and final."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime.text import canonical, cut, mark
from isolation_kit.runtime.tokens import TokenCounter, cut_to_tokens, utf8_ceiling

atoms = st.sampled_from(
    ["a", " ", "账", "𒀀", "\u1100", "👩‍👩‍👧", "e\u0301", '"', "\\", "\x00", "…[cut 3]", "]"]
)
texts = st.lists(atoms, max_size=200).map("".join)
limits = st.integers(24, 400)


def pairs(text: str, /) -> int:
    """A counter that is neither bytes nor a sum of its parts: two characters are a token."""
    return (len(text) + 1) // 2


counters = pytest.mark.parametrize("count", [utf8_ceiling, pairs], ids=["bytes", "pairs"])


@given(st.text())
def test_the_default_counts_bytes(text: str) -> None:
    """Also where a text is no UTF-8: it is never refused here, and never counted as nothing."""
    assert utf8_ceiling(text) == len(text.encode("utf-8", "surrogatepass")) >= len(text)


@counters
@given(texts, limits)
def test_a_cut_fits_and_says_how_much_is_gone(count: TokenCounter, text: str, limit: int) -> None:
    """Kept text and mark together make up the whole; a text that fits is not touched."""
    seen = cut_to_tokens(text, limit, count)
    assert count(seen) <= limit
    assert seen.encode().decode() == seen
    if count(text) <= limit:
        assert seen == text
    elif not text.endswith("]"):
        kept, gone = seen.rsplit("…[cut ", 1)
        assert text == kept + text[len(kept) :]
        assert int(gone[:-1]) == len(text) - len(kept)


@counters
@given(texts, limits, limits)
def test_a_cut_is_final_and_adds_up(count: TokenCounter, text: str, one: int, two: int) -> None:
    """What is sent again is what was sent; a shorter limit later is as if it had held at once."""
    wide, narrow = max(one, two), min(one, two)
    seen = cut_to_tokens(text, wide, count)
    assert cut_to_tokens(seen, wide, count) == seen
    assert count is pairs or cut_to_tokens(seen, narrow, count) == cut_to_tokens(text, narrow, count)


@given(texts, st.integers(0, 200), st.integers(0, 200))
def test_a_cut_in_characters_is_final_and_adds_up(text: str, one: int, two: int) -> None:
    """Down to no room at all, where the bare mark stays as it is."""
    wide, narrow = max(one, two), min(one, two)
    seen = cut(text, wide)
    assert cut(seen, wide) == seen
    assert cut(seen, narrow) == cut(text, narrow)


@given(texts, limits)
def test_the_two_cuts_add_up(text: str, limit: int) -> None:
    """First characters of a field, then tokens of the window: one mark, and it tells the whole loss."""
    assert cut_to_tokens(cut(text, limit), 24) == cut_to_tokens(text, 24)


def test_the_cut_is_the_longest_that_fits() -> None:
    """Nothing is given away: one character more would be one token too many."""
    assert cut_to_tokens("a" * 100, 40) == "a" * 29 + mark(71)
    assert cut_to_tokens("账" * 100, 40) == "账" * 9 + mark(91)


@given(texts, st.integers(40, 400))
def test_a_cut_of_json_escapes_is_measured_as_sent(text: str, limit: int) -> None:
    """A quote costs two characters on the wire: the cost that counts is the escaped one."""
    seen = cut_to_tokens(text, limit, lambda part: utf8_ceiling(canonical(part)))
    assert len(canonical(seen).encode()) <= limit
    assert json.loads(canonical(seen)) == seen


def test_a_megabyte_costs_few_counts() -> None:
    """The number of counts grows with the logarithm of the length."""
    calls = 0

    def counted(text: str, /) -> int:
        nonlocal calls
        calls += 1
        return utf8_ceiling(text)

    cut_to_tokens("a" * 1_000_000, 1000, counted)
    assert calls <= 22
