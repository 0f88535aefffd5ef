"""Every rendering of a token is found, in every skin that holds it, and the same of something else is not."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from isolation_kit.canary import Canary, Mint, Skin
from isolation_kit.canary.skins import holds_token
from isolation_kit.detect import Pool, Tier, scan
from isolation_kit.scenario import Place

from .more_renderings import MORE, UNSEEN
from .renderings import RENDERINGS

SEEN = RENDERINGS | {name: render for name, render in MORE.items() if name not in UNSEEN}
# Ciphers, digests and cut tokens concern the token, and two kinds of base85 are found at the first of four
# alignments only; everything else can say any text, hence the whole skin.
BARE = {
    *("mathematical", "rot13", "atbash", "without its tail", "tail without prefix in base64 cut", "md5"),
    *("md5 as UUID", "sha1", "sha256", "sha256 cut", "sha256 in base64", "sha512", "sha3-256", "blake2b"),
    *("ascii85", "ascii85 in JSON", "z85"),
}
WHOLE = {
    *(name for name in RENDERINGS if name not in BARE),
    *("uuencode", "uuencode of text", "deflate of text in base64", "xxd", "hexdump", "jwt", "html tags"),
    *("mime word in base64", "ansi colours", "code points", "buffer of Node", "reversed in base64"),
}
HOLDERS = [skin for skin in Skin if holds_token(skin)]
AROUND = (
    (b"", b""),
    (b'{"role": "user", "content": "Please look at this: ', b' and answer."}'),
    (b"x \xe2\x80\x9cquoted\xe2\x80\x9d text; ", b"\n\nThen go on."),
)
table = pytest.mark.parametrize("name", SEEN)


def setup(seed: int, skin: Skin = Skin.OPAQUE) -> tuple[Pool, Canary, Canary]:
    """A pool of twenty tokens, one of its canaries, and a canary of the run that the pool does not hold."""
    mint = Mint(seed)
    canaries = [mint.mint("case", Place("parent.state", turn=turn), skin=skin) for turn in range(20)]
    pool = Pool(mint.prefix)
    for canary in canaries:
        pool.add(canary.token)
    return pool, canaries[7], mint.mint("other", Place("parent.state"), skin=skin)


def rendered(name: str, canary: Canary) -> bytes:
    """The canary's text in one rendering."""
    return SEEN[name](canary.text)


def sample(name: str) -> Iterator[tuple[int, Skin]]:
    """Some seeds for a rendering, the same in each run, and the skins in turn."""
    draw = random.Random(name)
    skins = HOLDERS if name in WHOLE else [Skin.OPAQUE]
    yield from ((draw.randrange(1 << 20), skin) for skin in (Skin.OPAQUE, *skins))


@table
def test_rendering_is_found(name: str) -> None:
    """The token is confirmed, alone and inside texts, in every skin, and it is the only one."""
    for seed, skin in sample(name):
        pool, canary, _ = setup(seed, skin)
        for before, after in AROUND:
            result = scan(before + rendered(name, canary) + after, pool)
            assert {hit.token for hit in result.hits if hit.tier is Tier.CONFIRMED} == {canary.token}, (
                seed,
                skin,
            )
            assert result.unscanned == 0


@table
def test_rendering_of_a_foreign_token_is_not(name: str) -> None:
    """A token that is not in the pool stays silent in the same rendering."""
    for seed, skin in sample(name):
        pool, _, foreign = setup(seed, skin)
        for before, after in AROUND:
            assert scan(before + rendered(name, foreign) + after, pool).hits == ()


@pytest.mark.parametrize("name", UNSEEN)
def test_what_is_listed_as_unseen_is_not_seen(name: str) -> None:
    """The list is honest: a decoder that learns one of these takes it off."""
    pool, canary, _ = setup(3)
    assert scan(MORE[name](canary.token), pool).hits == ()


@pytest.mark.parametrize(
    "name", ["verbatim", "base64", "JSON escape, some", "homoglyphs", "hex", "percent, some"]
)
def test_renderings_survive_a_json_body(name: str) -> None:
    """Carried as a string of a JSON body, itself a string of a JSON body, a token is still found."""
    pool, canary, foreign = setup(5)
    for value, expected in ((canary.token, {canary.token}), (foreign.token, set())):
        carried = RENDERINGS[name](value).decode("utf-8")
        body = json.dumps({"arguments": json.dumps({"q": f'say "{carried}"\n'})}).encode()
        assert {hit.token for hit in scan(body, pool).hits} == expected
