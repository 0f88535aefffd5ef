"""MB/s of scan on the tau-bench and stripe corpora, 1,000 tokens, beside bytes.find per token in one run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, scan
from isolation_kit.scenario import Place

ROOT = Path(__file__).parents[2]
CORPORA = Path(os.environ.get("ISOLATION_KIT_CORPORA", ROOT / "../shared/corpora"))


def main(mebibytes: int = 16) -> None:
    """Print the speeds."""
    mint = Mint(7)
    tokens = [mint.mint(f"{n:016x}", Place("user.current", n % 5)).token for n in range(1000)]
    pool = Pool(mint.prefix)
    for token in tokens:
        pool.add(token)
    for name in ("tau-bench", "stripe"):
        files = sorted(path for path in (CORPORA / name).rglob("*") if path.suffix == ".json")
        if not files:
            print(f"{name}: not there; set ISOLATION_KIT_CORPORA")
            continue
        text = b"".join(path.read_bytes() for path in files)
        text = (text * (mebibytes * 2**20 // len(text) + 1))[: mebibytes * 2**20]
        start = time.process_time()
        hits = scan(text, pool).hits
        ours = len(text) / 1e6 / (time.process_time() - start)
        part = text[: 2**20]
        start = time.process_time()
        for token in tokens:
            part.find(token.encode())
        theirs = len(part) / 1e6 / (time.process_time() - start)
        print(
            f"{name:10} {mebibytes} MiB: scan {ours:.1f} MB/s ({len(hits)} hits), bytes.find per token "
            f"{theirs:.2f} MB/s, ratio {ours / theirs:.0f}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
