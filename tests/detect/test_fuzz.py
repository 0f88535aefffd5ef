"""Random and mutated byte strings raise nothing and never report a token that was not planted.

A bounded share runs here; `tests/benchmarks/bench_fuzz.py` runs 100,000.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, Tier, scan
from isolation_kit.detect.splits import Seams, Stream
from isolation_kit.scenario import Place

from .fuzz import MINT, inputs, pool_of_twenty, seeds_in

NUMBER = 1500


@pytest.fixture(scope="module")
def seeds(corpora: Path) -> list[bytes]:
    """What is mutated."""
    return seeds_in(corpora)


def test_no_input_raises_or_is_taken_for_a_token(seeds: list[bytes]) -> None:
    """Whatever the bytes are, the scan ends and finds none of twenty tokens that nobody planted."""
    pool = pool_of_twenty()
    assert len(seeds) > 1000
    for data in inputs(seeds, NUMBER, seed=1):
        assert scan(data, pool).hits == ()


def test_pieces_of_any_input_raise_nothing_and_join_to_no_token(seeds: list[bytes]) -> None:
    """The same as events of one recipient and as chunks of one stream."""
    pool = pool_of_twenty()
    seams, stream = Seams(pool), Stream(pool, reach=512)
    hits = [
        hit for data in inputs(seeds, NUMBER // 3, seed=2) for hit in (*seams.feed(data), *stream.feed(data))
    ]
    assert [*hits, *seams.close(), *stream.close()] == []


def test_a_token_planted_into_any_input_is_the_only_one_found(seeds: list[bytes]) -> None:
    """The leaky twin: a line with a token is found in every input, and nothing else is."""
    pool = pool_of_twenty()
    token = MINT.mint("case", Place("parent.state", turn=3)).token
    draw = random.Random(4)
    for data in inputs(seeds, NUMBER // 3, seed=3):
        at = draw.randrange(len(data) + 1)
        text = b"%s\n %s \n%s" % (data[:at], token.encode(), data[at:])
        assert {hit.token for hit in scan(text, pool).hits if hit.tier is Tier.CONFIRMED} == {token}


def test_the_inputs_are_the_same_for_the_same_seed(seeds: list[bytes]) -> None:
    """A failure can be had again."""
    assert list(inputs(seeds, 50, seed=5)) == list(inputs(seeds, 50, seed=5))
    assert list(inputs(seeds, 50, seed=5)) != list(inputs(seeds, 50, seed=6))


def test_an_input_that_holds_a_token_would_be_noticed() -> None:
    """The fuzz can fail: a pool that holds a token of the seeds reports it."""
    pool = Pool(MINT.prefix)
    token = Mint(99).mint("other", Place("parent.state", turn=7)).token
    pool.add(token)
    assert {hit.token for hit in scan(token.encode(), pool).hits} == {token}
