"""What a scan costs: MB/s on ordinary and hostile text, growth with size and tokens, small events, memory.

Run `python tests/benchmarks/bench_detector.py [mebibytes]`; the corpora are read from ISOLATION_KIT_CORPORA.
Everything is measured in one run, in processor time: machines differ.
"""

from __future__ import annotations

import base64
import os
import random
import sys
import time
import tracemalloc
from pathlib import Path

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, scan
from isolation_kit.scenario import Place

ROOT = Path(__file__).parents[2]
CORPORA = Path(os.environ.get("ISOLATION_KIT_CORPORA", ROOT / "../shared/corpora"))
MINT = Mint(7)
KINDS = {
    "base64 of bytes": base64.b64encode(bytes(range(256)) * 3072),
    "prefixes": MINT.prefix.encode() * 262_144,
    "random bytes": random.Random(3).randbytes(1 << 20),
    "long runs": b" ".join(b"Abcdefgh%020d" % n for n in range(36_000)),
    "escapes": b"\\u0041%41&#65;" * 70_000,
}


def pool_of(count: int) -> Pool:
    """A pool of `count` tokens that has scanned something before."""
    pool = Pool(MINT.prefix)
    for number in range(count):
        pool.add(MINT.mint(f"{number:016x}", Place("user.current", number % 5)).token)
    scan(b"word " * 10_000, pool)
    return pool


def corpus(name: str, mebibytes: int) -> bytes:
    """The JSON files of a corpus, repeated to this size, or nothing."""
    text = b"".join(path.read_bytes() for path in sorted((CORPORA / name).rglob("*.json")))
    return (text * (mebibytes * 2**20 // len(text) + 1))[: mebibytes * 2**20] if text else b""


def seconds(data: bytes, pool: Pool, times: int = 1) -> float:
    """The processor time of one scan, the best of two rounds."""
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        for _ in range(times):
            scan(data, pool)
        best = min(best, (time.process_time() - start) / times)
    return best


def speed(data: bytes, pool: Pool) -> float:
    """MB/s of a scan."""
    return len(data) / 1e6 / seconds(data, pool)


def find_speed(data: bytes, pool: Pool) -> float:
    """MB/s of `bytes.find` for every token."""
    start = time.process_time()
    for token in pool.tokens:
        data.find(token)
    return len(data) / 1e6 / (time.process_time() - start)


def peak(data: bytes, pool: Pool) -> float:
    """MiB that a scan takes beside its event."""
    tracemalloc.start()
    scan(data, pool)
    taken = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return taken


def main(mebibytes: int = 16) -> None:
    """Print the figures."""
    pool, many = pool_of(1000), pool_of(100_000)
    print(f"load {os.getloadavg()[0]:.1f}")
    for name in ("tau-bench", "stripe"):
        text = corpus(name, mebibytes)
        if not text:
            print(f"{name}: not there; set ISOLATION_KIT_CORPORA")
            continue
        ours, theirs = speed(text, pool), find_speed(text[: 2**20], pool)
        print(f"{name:18}{ours:8.1f} MB/s, bytes.find per token {theirs:.2f} MB/s, ratio {ours / theirs:.0f}")
        print(f"{'':18}{peak(text, pool):8.1f} MiB beside its event of {mebibytes} MiB")
        sizes = [size for size in (1, 4, 16, 64) if size <= mebibytes]
        by_size = ", ".join(f"{size} MiB {speed(text[: size << 20], pool):.1f}" for size in sizes)
        print(f"{'':18}MB/s by size: {by_size}")
        planted = b" ".join(token + text[n << 10 : n + 1 << 10] for n, token in enumerate([*pool.tokens] * 4))
        ratio = seconds(planted, many) / seconds(planted, pool)
        print(f"{'':18}100,000 tokens take {ratio:.2f} times as long as 1,000, 4,000 of them planted")
    for name, data in KINDS.items():
        print(f"{name:18}{speed(data, pool):8.2f} MB/s, {peak(data, pool):.1f} MiB beside its event of 1 MiB")
    event = b'{"role":"user","content":"Look up order %b, please."}' % next(iter(pool.tokens))
    print(f"{'event of 73 bytes':18}{seconds(event, pool, 2000) * 1e6:8.1f} microseconds")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
