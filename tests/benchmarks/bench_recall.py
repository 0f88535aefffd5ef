"""The whole table: every rendering in every skin that it applies to; 200 tokens and 200 foreign ones each."""

from __future__ import annotations

import sys
import time
from collections import Counter

from isolation_kit.canary import Canary, Mint, Skin
from isolation_kit.detect import Pool, Tier, scan
from isolation_kit.detect.registry import register
from isolation_kit.scenario import Place
from tests.detect.renderings import Render
from tests.detect.test_recall import HOLDERS, SEEN, WHOLE
from tests.detect.test_registry import CASES

PER_SEED = 20


def rows() -> list[tuple[str, Skin, Render]]:
    """All rows of the table: rendering, skin and function."""
    skins = {name: HOLDERS if name in WHOLE else [Skin.OPAQUE] for name in SEEN}
    held = [(name, skin, SEEN[name]) for name in SEEN for skin in skins[name]]
    return held + [(name, skin, render) for skin, name, render in CASES]


def canaries(seed: int, skin: Skin, case: str) -> list[Canary]:
    """Some canaries of one run."""
    mint = Mint(seed)
    return [mint.mint(case, Place("parent.state", turn=turn), skin=skin) for turn in range(PER_SEED)]


def misses(skin: Skin, render: Render, seed: int) -> tuple[int, int]:
    """How many tokens of one run were not found, and how many foreign ones were."""
    pool, missed, alarms = Pool(Mint(seed).prefix), 0, 0
    for canary in canaries(seed, skin, "case"):
        register(pool, Mint(seed).marks, canary)
    for canary in canaries(seed, skin, "case"):
        hits = scan(b'{"content": "Look: ' + render(canary.text) + b' and answer."}', pool).hits
        missed += {hit.token for hit in hits if hit.tier is Tier.CONFIRMED} != {canary.token}
    for foreign in canaries(seed, skin, "other"):
        alarms += bool(scan(b'{"content": "Look: ' + render(foreign.text) + b' and answer."}', pool).hits)
    return missed, alarms


def main(tokens: int = 200) -> None:
    """Print the size of the table, what was missed and what was found wrongly."""
    start, missed, alarms, table = time.process_time(), Counter[str](), Counter[str](), rows()
    for name, skin, render in table:
        for seed in range(tokens // PER_SEED):
            one, two = misses(skin, render, 7919 * seed + 1)
            missed[f"{name}, {skin}"] += one
            alarms[f"{name}, {skin}"] += two
    seconds = time.process_time() - start
    names = {name for name, _, _ in table}
    print(f"{len(names)} renderings, {len(table)} rows, {tokens} tokens each: {seconds:.0f} s")
    print("missed", +missed or "none", "found wrongly", +alarms or "none")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
