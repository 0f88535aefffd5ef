"""The searches of the extra `fast` give what Python's own give, and texts together what each gives."""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolation_kit.detect import Pool, engine, scan, scan_all

from .test_speed_engines import ALL, FILLER, MINT, NOISE, SIEVED, TOKENS

# Without the extra both sides would be the same functions: CI installs it (`all` names it).
fast = pytest.mark.skipif(not engine.FAST, reason="the extra `fast` is not installed")
USERS = {
    "sieve": ("find", "translate"),
    "escapes": ("count",),
    "findings": ("find",),
    "scan": ("count",),
    "work": ("count",),
}
LITTLE = st.lists(st.sampled_from([b"a", b"aa", b"\0", b" ", b"=", b"\xff", b"ab"]), max_size=40).map(
    b"".join
)
BYTES = LITTLE | st.binary(max_size=300)
CASE = st.tuples(NOISE, st.sampled_from(sorted(ALL)), st.sampled_from(TOKENS), NOISE, st.booleans())


def portable() -> ExitStack:
    """The engine without the extra, wherever a scan uses it."""
    stack = ExitStack()
    for module, names in USERS.items():
        for name in names:
            stack.enter_context(patch(f"isolation_kit.detect.{module}.{name}", getattr(bytes, name)))
    return stack


@fast
@given(BYTES, BYTES.filter(bool), st.integers(0, 90))
def test_both_engines_search_alike(data: bytes, literal: bytes, start: int) -> None:
    """Find, count and translate agree on any bytes, with zero bytes, overlaps and starts behind the end."""
    table = bytes(range(256))[::-1]
    assert engine.find(data, literal, start) == data.find(literal, start)
    assert engine.count(data, literal) == data.count(literal)
    assert engine.translate(data, table) == data.translate(table)


@fast
@settings(deadline=None)
@given(CASE)
def test_both_engines_find_the_same_tokens(case: tuple[bytes, str, str, bytes, bool]) -> None:
    """Whatever lies around a rendering, the hits of both are equal in every field."""
    before, name, token, after, large = case
    data = (FILLER if large else b"") + before + ALL[name](token) + after
    with portable():
        slow = scan(data, SIEVED)
    assert scan(data, SIEVED) == slow


@settings(deadline=None, max_examples=60)
@given(st.lists(CASE | NOISE.map(lambda noise: (noise, "", "", b"", False)), max_size=8))
def test_texts_together_give_what_each_gives(cases: list[tuple[bytes, str, str, bytes, bool]]) -> None:
    """Sieving small texts at once changes no hit of any of them."""
    texts = [
        before + (ALL[name](token) if name else TOKENS[3].encode()) + after
        for before, name, token, after, _ in cases
    ]
    assert scan_all(texts, SIEVED) == [scan(text, SIEVED) for text in texts]


def test_a_name_that_was_dull_is_found_once_it_is_a_token() -> None:
    """What is remembered as holding nothing holds no token that comes later: only those are left out."""
    pool = Pool(MINT.prefix)
    pool.add(TOKENS[0])
    texts = [b"a_long_name_of_some_field " + TOKENS[1].encode()] * 2
    scan(b"word " * 20_000, pool)
    assert [result.hits for result in scan_all(texts, pool)] == [(), ()]
    pool.add(TOKENS[1])
    assert [[hit.token for hit in result.hits] for result in scan_all(texts, pool)] == [[TOKENS[1]]] * 2
