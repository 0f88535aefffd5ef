"""No false alarm over public corpora, and exactly the planted tokens when each file holds one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, Tier, scan
from isolation_kit.scenario import Place

CORPORA = Path(os.environ.get("ISOLATION_KIT_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))
NAMES = ("tau-bench", "stripe", "blns", "BIPIA", "AgentLeak")


@pytest.mark.parametrize("name", NAMES)
def test_only_planted_tokens_are_confirmed(name: str) -> None:
    """With 1,000 tokens a corpus is silent; with one planted in a file exactly that one is found."""
    folder = CORPORA / name
    if not folder.is_dir():
        pytest.skip(f"the corpus {name} is not there; set ISOLATION_KIT_CORPORA to the folder that holds it")
    mint = Mint(2024)
    tokens = [mint.mint(f"case{n // 20}", Place("user.current", user=n % 20)).token for n in range(1000)]
    pool = Pool(mint.prefix)
    for token in tokens:
        pool.add(token)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert files
    for number, path in enumerate(files):
        data = path.read_bytes()
        assert [hit for hit in scan(data, pool).hits if hit.tier is Tier.CONFIRMED] == []
        planted = tokens[number % 1000]
        middle = data.find(b" ", len(data) // 2) + 1
        result = scan(data[:middle] + planted.encode() + b" " + data[middle:], pool)
        assert [(hit.token, hit.form, hit.offset) for hit in result.hits] == [(planted, "verbatim", middle)]
