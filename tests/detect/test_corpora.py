"""No false alarm over any public corpus, and exactly the planted token when a file holds one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from isolation_kit.canary import Canary, Mint, Skin
from isolation_kit.detect import Hit, Pool, Tier, scan
from isolation_kit.detect.fragments import Bodies, body_runs
from isolation_kit.detect.registry import register
from isolation_kit.detect.splits import Seams, Stream
from isolation_kit.scenario import Place

from .renderings import RENDERINGS

MINT = Mint(2024)
LARGEST = 2**21  # bytes of a file; larger ones take their time and add nothing


def canaries() -> list[Canary]:
    """1,000 canaries of each skin, ten of each a case."""
    places = [Place("user.current", user=n) for n in range(100)]
    return [
        MINT.mint(f"case{case}", place, skin=list(Skin)[place.user % len(Skin)])
        for case in range(100)
        for place in places
    ]


@pytest.fixture(scope="module")
def known() -> list[Canary]:
    """All canaries, of every skin in turn."""
    return canaries()


@pytest.fixture(scope="module")
def pool(known: list[Canary]) -> Pool:
    """A pool that looks for all of them."""
    out = Pool(MINT.prefix)
    for canary in known:
        register(out, MINT.marks, canary)
    return out


@pytest.fixture(scope="module")
def files(corpora: Path) -> list[bytes]:
    """Every file of every corpus, the same content once."""
    paths = sorted(path for path in corpora.rglob("*") if path.is_file() and path.stat().st_size <= LARGEST)
    contents = list(dict.fromkeys(path.read_bytes() for path in paths))
    if not contents:
        pytest.skip("the folder of corpora is empty; set ISOLATION_KIT_CORPORA to the folder that holds them")
    return contents


def confirmed(hits: Iterable[Hit]) -> set[str]:
    """The tokens that decide a verdict."""
    return {hit.token for hit in hits if hit.tier is Tier.CONFIRMED}


def test_no_corpus_holds_a_token_of_any_skin(
    pool: Pool, files: list[bytes], record_property: Callable[[str, object], None]
) -> None:
    """Zero hits at the confirmed tier with 1,000 tokens of every skin; suspect ones are counted."""
    hits = [hit for data in files for hit in scan(data, pool).hits]
    record_property("bytes", sum(map(len, files)))
    record_property("suspect_hits", len(hits))
    assert len(pool) == 1000 * len(Skin)
    assert confirmed(hits) == set()
    assert len(hits) <= 1


def test_exactly_the_planted_token_is_found_in_every_file(
    pool: Pool, known: list[Canary], files: list[bytes]
) -> None:
    """Each file gets one token in one rendering out of the table, each third one a text of some skin."""
    draw = random.Random(11)
    names = sorted(RENDERINGS)
    for number, data in enumerate(files):
        canary, name = known[number], "as it is" if number % 3 == 0 else draw.choice(names)
        line = canary.text.encode() if number % 3 == 0 else RENDERINGS[name](canary.token)
        found = confirmed(scan(with_line(data, line), pool).hits)
        assert found == {canary.token}, f"file {number}, {len(data)} bytes, {canary.skin}, rendering {name}"


def test_no_corpus_holds_a_token_in_pieces(
    pool: Pool, known: list[Canary], files: list[bytes], record_property: Callable[[str, object], None]
) -> None:
    """Lines as events, chunks of a stream, and bodies without their prefix: all silent."""
    bodies = Bodies(canary.token for canary in known)
    hits: list[Hit] = []
    for data in files:
        seams, stream = Seams(pool), Stream(pool)
        for line in data.splitlines()[:100]:
            hits += seams.feed(line)
        hits += [*seams.close(), *bodies.find(body_runs(data, pool.head))]
        for at in range(0, len(data), 1500):
            hits += stream.feed(data[at : at + 1500])
        hits += stream.close()
    record_property("suspect_hits", len(hits))
    assert confirmed(hits) == set()
    assert len(hits) <= 1


def with_line(data: bytes, line: bytes) -> bytes:
    """`data` with one more line near its middle, between whole characters."""
    at = data.find(b"\n", len(data) // 2) + 1
    return data[:at] + line + b"\n" + data[at:]
