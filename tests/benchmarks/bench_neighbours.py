"""Speed and recall beside neighbours: same text, same 1,000 tokens, one run.

Needs no neighbour: what is not installed is named and left out. In an environment of their own:

    pip install --no-deps garak llm-guard && pip install agentleak structlog xdg-base-dirs
    PYTHONPATH=. python tests/benchmarks/bench_neighbours.py [mebibytes for ours]

llm-guard's scanner is loaded without its package, whose import asks for torch and presidio.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, Tier, scan
from isolation_kit.scenario import Place

TESTS = Path(__file__).parents[1]
CORPORA = Path(os.environ.get("ISOLATION_KIT_CORPORA", TESTS.parents[1] / "shared" / "corpora"))
SLOW = 2**18  # bytes that neighbours get: some need seconds for a megabyte
RECALL_ONLY = "agentleak, told before"  # compares all with all: eight kilobytes take it minutes
Search = Callable[[bytes], bool]


def ours(tokens: list[str], prefix: str) -> Search:
    """This kit, all decodings on."""
    pool = Pool(prefix)
    for token in tokens:
        pool.add(token)
    return lambda data: any(hit.tier is Tier.CONFIRMED for hit in scan(data, pool).hits)


def plain_find(tokens: list[str], _prefix: str) -> Search:
    """`bytes.find` once for each token."""
    wanted = [token.encode() for token in tokens]
    return lambda data: sum(data.find(token) >= 0 for token in wanted) > 0


def agentleak(tokens: list[str], _prefix: str) -> Search:
    """AgentLeak's canaries in the text and in each view that it decodes, as its pipeline does."""
    canary = importlib.import_module("agentleak.core.canary")
    transforms = importlib.import_module("agentleak.core.transforms")
    known = canary.CanarySet(obvious=tokens)

    def search(data: bytes) -> bool:
        text = data.decode("utf-8", "replace")
        views = [text, *(view.text for view in transforms.decoded_views(text))]
        return sum(len(canary.match_canaries(view, known)) for view in views) > 0

    return search


def agentleak_anchored(tokens: list[str], prefix: str) -> Search:
    """The same, told every token in plain text before, which its search for disguised copies needs."""
    transforms = importlib.import_module("agentleak.core.transforms")
    plain = agentleak(tokens, prefix)
    told = (" ".join(tokens), "one", "log")

    def search(data: bytes) -> bool:
        events = [told, (data.decode("utf-8", "replace"), "one", "log")]
        return plain(data) or any(copy for copy in transforms.find_obscured_copies(events, tokens))

    return search


def garak(tokens: list[str], _prefix: str) -> Search:
    """garak's StringDetector as it comes, with its Unicode normalisation on."""
    base = importlib.import_module("garak.detectors.base")
    attempts = importlib.import_module("garak.attempt")
    detector = base.StringDetector(tokens)
    detector.normalize = "NFKC+strip_format"

    def search(data: bytes) -> bool:
        attempt = attempts.Attempt(prompt=attempts.Message("x", lang="en"))
        attempt.outputs = [attempts.Message(data.decode("utf-8", "replace"), lang="en")]
        return any(score > 0.5 for score in detector.detect(attempt))

    return search


def llm_guard(tokens: list[str], _prefix: str) -> Search:
    """llm-guard's BanSubstrings as it comes."""
    for name in ("llm_guard", "llm_guard.input_scanners"):
        if name not in sys.modules:
            sys.modules[name] = _bare(name)
    module = importlib.import_module("llm_guard.input_scanners.ban_substrings")
    structlog = importlib.import_module("structlog")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    scanner = module.BanSubstrings(tokens)
    return lambda data: not scanner.scan(data.decode("utf-8", "replace"))[1]


def _bare(name: str) -> ModuleType:
    """A package whose modules can be imported without its own imports."""
    parent, _, last = name.rpartition(".")
    package = ModuleType(name)
    if parent:
        package.__path__ = [str(Path(path) / last) for path in sys.modules[parent].__path__]
    else:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(name)
        package.__path__ = list(spec.submodule_search_locations)
    return package


MAKERS: dict[str, Callable[[list[str], str], Search]] = {
    "isolation-kit": ours,
    "bytes.find per token": plain_find,
    "agentleak": agentleak,
    "agentleak, told before": agentleak_anchored,
    "garak StringDetector": garak,
    "llm-guard BanSubstrings": llm_guard,
}


def traffic(size: int) -> Iterator[tuple[str, bytes]]:
    """Ordinary agent traffic, repeated to `size` bytes."""
    for name in ("tau-bench", "stripe"):
        text = b"".join(path.read_bytes() for path in sorted((CORPORA / name).rglob("*.json")))
        if text:
            yield name, (text * (size // len(text) + 1))[:size]


def speed(search: Search, text: bytes) -> float:
    """Megabytes per second of processor time, the best of three."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        search(text)
        best = min(best, time.process_time() - start)
    return len(text) / 1e6 / max(best, 1e-9)


def renderings() -> dict[str, Callable[[str], bytes]]:
    """The table of the tests."""
    sys.path.insert(0, str(TESTS))  # some neighbours install a package `tests` of their own
    table: dict[str, Callable[[str], bytes]] = importlib.import_module("detect.renderings").RENDERINGS
    return table


def recall(search: Search, token: str, foreign: str) -> tuple[int, int]:
    """How many renderings of a token are seen, and of a foreign one that must not be."""
    texts = [(render(token), render(foreign)) for render in renderings().values()]
    around = b'{"content": "so %s then"}'
    return sum(search(around % one) for one, _ in texts), sum(search(around % two) for _, two in texts)


def main(mebibytes: int = 16) -> None:
    """Print one line for each."""
    mint = Mint(7)
    tokens = [mint.mint(f"{n:016x}", Place("user.current", n % 5)).token for n in range(1000)]
    foreign = mint.mint("other", Place("user.current")).token
    print(f"{len(renderings())} renderings, 1,000 tokens, load {os.getloadavg()[0]:.1f}")
    for name, make in MAKERS.items():
        try:
            search: Any = make(tokens, mint.prefix)
        except ImportError as error:
            print(f"{name:24} not here: {error}")
            continue
        few: Any = make(tokens[:10], mint.prefix)
        found, wrong = recall(few, tokens[3], foreign)
        size = mebibytes * 2**20 if name == "isolation-kit" else SLOW
        texts = () if name == RECALL_ONLY else traffic(size)
        speeds = ", ".join(f"{corpus} {speed(search, text):8.2f} MB/s" for corpus, text in texts)
        print(f"{name:24} {found:3} found, {wrong} false; {speeds}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
