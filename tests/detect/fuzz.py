"""Random and mutated byte strings from public seeds, none of which holds a token of the pool."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool
from isolation_kit.scenario import Place

from .renderings import RENDERINGS

__all__ = ["FOLDERS", "MINT", "inputs", "pool_of_twenty", "seeds_in"]

FOLDERS = ("blns", "JSONTestSuite", "BIPIA")
MINT = Mint(99)
_LONGEST = 3000
_SPICE = (
    *(b"\\u00", b"%25", b"&#", b"=3D", b"\x1f\x8b\x08", b"x\x9c", b"BZh91AY", b"\xfd7zXZ\0", b"\\", b"+ADw-"),
    *(
        b"\xf3\xa0\x84\x80",
        b"\xe2\x80\x8b",
        b'{"a":',
        b"data: ",
        b"A" * 40,
        b"0x",
        b"=?utf-8?b?",
        b"begin 644 ",
    ),
    *(
        b"begin 644 ",
        b"\xff\xfe",
        b"\0",
        b"-----",
        b"\\N{",
        b"chr(",
        b"\xef\xbc\xa1",
        b"<b>",
        b"\x1b[31m",
        b"z" * 20,
    ),
)


def pool_of_twenty() -> Pool:
    """Tokens that no input holds."""
    pool = Pool(MINT.prefix)
    for turn in range(20):
        pool.add(MINT.mint("case", Place("parent.state", turn=turn)).token)
    return pool


def seeds_in(corpora: Path) -> list[bytes]:
    """The lines and small files of the seed corpora, and renderings of tokens that the pool does not hold."""
    out: list[bytes] = []
    for folder in FOLDERS:
        for path in sorted((corpora / folder).rglob("*")):
            if path.is_file():
                data = path.read_bytes()
                out += [data[:_LONGEST], *(line for line in data.splitlines() if 20 < len(line) < _LONGEST)]
    foreign = [MINT.mint("other", Place("parent.state", turn=turn)).token for turn in range(50)]
    return out + [render(token) for token in foreign for render in RENDERINGS.values()]


def inputs(seeds: list[bytes], number: int, seed: int) -> Iterator[bytes]:
    """`number` byte strings: one in eight is random, the others are seeds that were changed a little."""
    draw = random.Random(seed)
    for _ in range(number):
        if draw.randrange(8) == 0:
            yield draw.randbytes(draw.randrange(400))
            continue
        data = bytearray(draw.choice(seeds)[:_LONGEST])
        for _ in range(draw.randrange(6)):
            _change(data, seeds, draw)
        yield bytes(data)


def _change(data: bytearray, seeds: list[bytes], draw: random.Random) -> None:
    at = draw.randrange(len(data) + 1)
    kind = draw.randrange(6)
    if kind == 0:
        data[at:at] = draw.choice(_SPICE) * draw.choice((1, 1, 2, 30))
    elif kind == 1:
        del data[at : at + draw.randrange(1, 40)]
    elif kind == 2:
        data[at:at] = draw.choice(seeds)[:200]
    elif kind == 3:
        data[at : at + 1] = draw.randbytes(1)
    elif kind == 4:
        data[at:at] = data[at : at + 60] * draw.randrange(4)
    else:
        data[at:at] = MINT.prefix.encode() + draw.randbytes(3)
