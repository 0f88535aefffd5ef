"""Cost of the token counter and how much it over-estimates, beside the o200k of bpe-openai in one run.

Needs nothing for its own part; without bpe-openai the columns of the real tokenizer stay empty.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "runtime"))

from token_samples import SAMPLES

from isolation_kit.runtime.tokens import cut_to_tokens, utf8_ceiling

_BYTES = 64 * 1024


def main(rounds: int = 20) -> None:
    """Print a line for each kind of text: bytes, tokens, and the costs of both counters in turn."""
    real = _real()
    print(
        f"{'':14}{'real tokens':>13}{'estimate':>10}{'counting':>10}{'cutting':>10}{'real':>10}{'real':>9}\n"
        f"{'text':14}{'per char':>13}{'/ real':>10}{'us/kB':>10}{'us/kB':>10}{'us/kB':>10}{'/ ours':>9}"
    )
    for kind, sample in SAMPLES.items():
        text = sample * (_BYTES // len(sample.encode()) + 1)
        size = len(text.encode()) / 1000
        ours = min(_microseconds(utf8_ceiling, text) for _ in range(rounds)) / size
        cutting = min(_microseconds(_halved, text) for _ in range(rounds)) / size
        line = f"{kind:14}"
        if real is None:
            print(f"{line}{'':23}{ours:10.3f}{cutting:10.3f}")
            continue
        theirs = min(_microseconds(real, text) for _ in range(max(1, rounds // 4))) / size
        tokens = real(sample)
        print(
            f"{line}{tokens / len(sample):13.2f}{utf8_ceiling(sample) / tokens:10.2f}{ours:10.3f}"
            f"{cutting:10.3f}{theirs:10.1f}{theirs / ours:9.0f}"
        )


def _halved(text: str) -> int:
    return len(cut_to_tokens(text, _BYTES // 2))


def _real() -> Callable[[str], int] | None:
    if find_spec("bpe_openai") is None:
        print("bpe-openai is not installed: pip install -e '.[dev]'")
        return None
    from bpe_openai import get_encoding

    encoding = get_encoding("o200k_base")
    return lambda text: len(encoding.encode_ordinary(text))


def _microseconds(count: Callable[[str], int], text: str) -> float:
    start = time.perf_counter()
    count(text)
    return (time.perf_counter() - start) * 1e6


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
