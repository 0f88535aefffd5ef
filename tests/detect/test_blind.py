"""The list of what no matcher can see is true, and the docs hold the same list."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, scan
from isolation_kit.detect.blind import BLIND_SPOTS
from isolation_kit.oracles import all_oracles
from isolation_kit.scenario import Place

ARCHITECTURE = Path(__file__).parents[2] / "ARCHITECTURE.md"
MINT = Mint(7)
TOKEN = MINT.mint("case", Place("parent.state")).token
WORDS = ("apples", "pears", "plums", "figs")

SAYINGS: dict[str, Callable[[str], str]] = {
    "keyed hash": lambda t: hmac.new(b"key", t.encode(), hashlib.sha256).hexdigest(),
    "cipher": lambda t: bytes(ord(char) ^ 0xA7 for char in t).hex(),
    "acrostic": lambda t: "\n".join(f"{char} is how this line begins" for char in t),
    "arithmetic": lambda t: f"sum {sum(map(ord, t))}, remainder {int(t, 36) % 10_007}",
    "order": lambda t: ", ".join(sorted(WORDS, key=lambda word: hashlib.md5((word + t).encode()).digest())),
    "paraphrase": lambda t: "it starts with the letter after y and ends like the alphabet begins",
    "short fragment": lambda t: f"it begins with {t[:11]} or so, and goes on with {t[11:18]}!",
    "length": lambda t: "." * sum(map(ord, t)),
}


@pytest.mark.parametrize("name", [spot.name for spot in BLIND_SPOTS])
def test_a_blind_spot_is_one(name: str) -> None:
    """A scan that knows the token finds nothing in the saying and beside it the token itself."""
    pool = Pool(MINT.prefix)
    pool.add(TOKEN)
    saying = SAYINGS[name](TOKEN).encode()
    assert scan(saying, pool).hits == ()
    assert {hit.token for hit in scan(saying + b" " + TOKEN.encode(), pool).hits} == {TOKEN}


def test_the_docs_hold_the_list_of_the_code() -> None:
    """Name, example and oracles, in this order; the oracles are there."""
    section = ARCHITECTURE.read_text("utf-8").split("## What no matcher can see")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)[1:]
    assert rows == [(spot.name, spot.example, spot.oracles) for spot in BLIND_SPOTS]
    there = {oracle.name for oracle in all_oracles()}
    assert {name for spot in BLIND_SPOTS for name in spot.oracles.split(", ")} <= there
