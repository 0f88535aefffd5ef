"""100,000 random and mutated byte strings: what raises, what is taken for a token, the slowest of them.

Usage: PYTHONPATH=. python -m tests.benchmarks.bench_fuzz [number]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from isolation_kit.detect import scan
from tests.detect.fuzz import inputs, pool_of_twenty, seeds_in

CORPORA = Path(os.environ.get("ISOLATION_KIT_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))


def main(number: int = 100_000) -> int:
    """Print the counts; the exit code is 1 if anything went wrong."""
    pool, seeds = pool_of_twenty(), seeds_in(CORPORA)
    raised = found = unscanned = size = 0
    slowest = 0.0
    start = time.process_time()
    for index, data in enumerate(inputs(seeds, number, seed=2026)):
        before = time.process_time()
        try:
            result = scan(data, pool)
        except Exception as error:  # whatever it is, it is a failure to be told with its input
            raised += 1
            print(f"input {index} of {len(data)} bytes raised {type(error).__name__}")
            continue
        slowest = max(slowest, time.process_time() - before)
        size += len(data)
        found += len(result.hits)
        unscanned += result.unscanned > 0
        if result.hits:
            print(f"input {index} of {len(data)} bytes gave {result.hits}")
    spent = time.process_time() - start
    print(
        f"{number} inputs, {size / 1e6:.1f} MB from {len(seeds)} seeds in {spent:.1f} CPU s: "
        f"{raised} raised, {found} hits without a token, {unscanned} not read whole, "
        f"slowest {slowest * 1000:.0f} ms"
    )
    return int(bool(raised or found))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
