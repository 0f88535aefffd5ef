"""The sieve in front of a scan changes nothing but its speed: the hits are the same with and without it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, scan
from isolation_kit.scenario import Place

from .more_renderings import MORE, UNSEEN
from .renderings import RENDERINGS

pytest.importorskip("re2", reason="no sieve on this platform: google-re2 has no wheel for it")

ALL = RENDERINGS | {f"{name} (more)": render for name, render in MORE.items() if name not in UNSEEN}
MINT = Mint(11)
TOKENS = [MINT.mint("case", Place("parent.state", turn=turn)).token for turn in range(20)]
FOREIGN = MINT.mint("other", Place("parent.state")).token
FILLER = b'{"id": "call_dhYivf6VRUVJfU9DItC2EQ95", "note": "The quick brown fox, caf\xc3\xa9."}\n' * 60
PIECES = st.sampled_from(
    [
        b"z",
        b"Q" * 9,
        b"\\n",
        b"\\",
        b"%41",
        b"=3D",
        b"&amp;",
        b"\n",
        b"a1B2",
        b"H4sI",
        b"\xd0\xb0",
        b" ",
        b"==",
        b"!#",
    ]
)
NOISE = st.lists(PIECES | st.binary(max_size=30), max_size=12).map(b"".join)


def pool_of(*, sieved: bool) -> Pool:
    """A pool of all tokens, its sieve compiled by a first scan, or one that never gets any."""
    pool = Pool(MINT.prefix)
    for token in TOKENS:
        pool.add(token)
    if sieved:
        scan(b"word " * 20_000, pool)
        assert pool.sieve(0) is not None
    return pool


def found(data: bytes, pool: Pool) -> set[tuple[str, str]]:
    """The tokens and forms of a scan."""
    return {(hit.token, hit.form) for hit in scan(data, pool).hits}


SIEVED = pool_of(sieved=True)


@pytest.mark.parametrize("render", ALL.values(), ids=ALL.keys())
@pytest.mark.parametrize("around", [b"", FILLER], ids=["small", "large"])
def test_a_sieve_lets_every_rendering_through(render, around: bytes) -> None:  # type: ignore[no-untyped-def]
    """What is found without a sieve is found with it, in the same forms; a foreign token in neither."""
    data = around + b" " + render(TOKENS[5]) + b" " + around
    assert found(data, SIEVED) == found(data, pool_of(sieved=False)) != set()
    assert found(around + render(FOREIGN) + around, SIEVED) == set()


@settings(deadline=None)
@given(NOISE, NOISE, st.sampled_from(sorted(ALL)), st.sampled_from(TOKENS), st.booleans())
def test_a_sieve_changes_no_hit(before: bytes, after: bytes, name: str, token: str, large: bool) -> None:
    """Whatever lies around a rendering, both ways of scanning find the same tokens in the same forms."""
    data = (FILLER if large else b"") + before + ALL[name](token) + after
    assert found(data, SIEVED) == found(data, pool_of(sieved=False))
