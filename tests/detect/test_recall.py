"""Every rendering of a token is found, and the same rendering of something else is not."""

from __future__ import annotations

import json

import pytest

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, Tier, scan
from isolation_kit.scenario import Place

from .renderings import RENDERINGS, Render

SEEDS = (1, 2, 3)
AROUND = (
    (b"", b""),
    (b'{"role": "user", "content": "Please look at this: ', b' and answer."}'),
    (b"x \xe2\x80\x9cquoted\xe2\x80\x9d text; ", b"\n\nThen go on."),
)


def setup(seed: int) -> tuple[Pool, str, str]:
    """A pool of twenty tokens, one of them, and a token of the same run that the pool does not hold."""
    mint = Mint(seed)
    tokens = [mint.mint("case", Place("parent.state", turn=turn)).token for turn in range(20)]
    pool = Pool(mint.prefix)
    for token in tokens:
        pool.add(token)
    return pool, tokens[7], mint.mint("other", Place("parent.state")).token


@pytest.mark.parametrize("render", RENDERINGS.values(), ids=RENDERINGS.keys())
def test_rendering_is_found(render: Render) -> None:
    """The token is confirmed, alone and inside texts, and it is the only one."""
    for seed in SEEDS:
        pool, token, _ = setup(seed)
        for before, after in AROUND:
            result = scan(before + render(token) + after, pool)
            assert {hit.token for hit in result.hits if hit.tier is Tier.CONFIRMED} == {token}
            assert result.unscanned == 0


@pytest.mark.parametrize("render", RENDERINGS.values(), ids=RENDERINGS.keys())
def test_rendering_of_a_foreign_token_is_not(render: Render) -> None:
    """A token that is not in the pool stays silent in the same rendering."""
    for seed in SEEDS:
        pool, _, foreign = setup(seed)
        for before, after in AROUND:
            assert scan(before + render(foreign) + after, pool).hits == ()


@pytest.mark.parametrize(
    "name", ["verbatim", "base64", "JSON escape, some", "homoglyphs", "hex", "percent, some"]
)
def test_renderings_survive_a_json_body(name: str) -> None:
    """Carried as a string of a JSON body, itself a string of a JSON body, a token is still found."""
    pool, token, foreign = setup(5)
    for value, expected in ((token, {token}), (foreign, set())):
        carried = RENDERINGS[name](value).decode("utf-8")
        body = json.dumps({"arguments": json.dumps({"q": f'say "{carried}"\n'})}).encode()
        assert {hit.token for hit in scan(body, pool).hits} == expected
