"""Find every token of a pool in one recorded event, in whatever rendering it travels."""

from __future__ import annotations

from collections.abc import Sequence

from isolation_kit.detect.automaton import Pool
from isolation_kit.detect.decodings import strip_breaks
from isolation_kit.detect.engine import count
from isolation_kit.detect.escapes import few_equals
from isolation_kit.detect.findings import Findings
from isolation_kit.detect.forms import Budget, Form, Hit, ScanResult, Tier
from isolation_kit.detect.needles import SEAM
from isolation_kit.detect.packed import is_text
from isolation_kit.detect.sieve import Sieve, promising, stretches
from isolation_kit.detect.work import Work

__all__ = ["Budget", "Form", "Hit", "Pool", "ScanResult", "Tier", "scan", "scan_all"]

WINDOW = 256 * 1024
OVERLAP = 4 * 1024
_DEFAULT = Budget()
_NOTHING = ScanResult()
_TOGETHER = 64 * 1024  # bytes of small texts that are sieved at once


def scan(data: bytes, pool: Pool, *, decode: bool = True, budget: Budget = _DEFAULT) -> ScanResult:
    """Find the tokens of `pool` in `data`, each once per form, with the first offset.

    Args:
        data: the bytes of one event.
        pool: the tokens to look for.
        decode: also look into encodings; without it only the bytes as they are, in any case of letters.
        budget: bounds of the work; what it leaves unread is counted in `unscanned`, never silently clean.
    """
    if not pool.tokens:
        return _NOTHING
    work = Work(pool, budget)
    work.runs_left *= max(1, (len(data) + (1 << 20) - 1) >> 20)
    if not decode:
        work.plain(data)
    elif len(data) <= WINDOW:
        work.view(data, (), 0, 0, 0)
    else:
        for start in range(0, max(1, len(data) - OVERLAP), WINDOW - OVERLAP):
            work.decoded_left = budget.decoded
            work.view(data[start : start + WINDOW], (), start, 0, OVERLAP)
        if work.long_runs:
            work.blobs(strip_breaks(data), (), 0, 0, least=OVERLAP, most=0)
    if not work.found and not work.unscanned:
        return _NOTHING
    return ScanResult(tuple(work.found.values()), work.unscanned)


def scan_all(texts: Sequence[bytes], pool: Pool) -> list[ScanResult]:
    """What `scan` finds in each of these texts.

    Small texts are sieved together, which costs a third of what it costs one by one.
    """
    size = sum(map(len, texts))
    if not pool.tokens or len(texts) < 2 or pool.registry is not None or size > _TOGETHER:
        return [scan(text, pool) for text in texts]
    sieve = pool.sieve(size)
    if sieve is None:
        return [scan(text, pool) for text in texts]
    out: list[ScanResult] = []
    _sieve(texts, pool, sieve, out)
    return out


def _sieve(texts: Sequence[bytes], pool: Pool, sieve: Sieve, out: list[ScanResult]) -> None:
    """Scan these texts; those that hold something hidden are found by halving."""
    if len(texts) == 1:
        out.append(scan(texts[0], pool))
    elif _hides_nothing(SEAM.join(texts), pool, sieve):
        out += [_bare(text, pool) for text in texts]
    else:
        half = len(texts) // 2
        _sieve(texts[:half], pool, sieve, out)
        _sieve(texts[half:], pool, sieve, out)


def _hides_nothing(joined: bytes, pool: Pool, sieve: Sieve) -> bool:
    """Whether none of the texts in `joined` needs more than a search for tokens as they are."""
    if not few_equals(joined) or not is_text(joined) or sieve.marks(joined, 0)[0] >= 0:
        return False
    findings = Findings(pool)
    heads = count(joined, pool.head)
    if findings.whole(joined, (), 0, heads) != heads:
        return False
    parts = stretches(joined, pool.head, pool.tokens, pool.dull, set())
    if not parts:
        return True
    some = promising(parts, sieve)
    pool.bore(parts, some)
    return not some


def _bare(text: bytes, pool: Pool) -> ScanResult:
    """The tokens that a text spells exactly."""
    findings = Findings(pool)
    if not findings.whole(text, (), 0):
        return _NOTHING
    return ScanResult(tuple(findings.found.values()))
