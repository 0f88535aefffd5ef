"""Intervals for the share of cases that show a leak, on an effective number of cases."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["effective_interval", "wilson"]


def wilson(count: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a share (E. B. Wilson, 1927); (0, 1) where n is 0."""
    if n <= 0:
        return 0.0, 1.0
    share = count / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def effective_interval(
    count: int, n: int, blocks: Iterable[tuple[int, int]], zero_effect: float = 4.0
) -> tuple[float, float]:
    """Wilson on an effective n: generated cases of one block resemble each other.

    Args:
        blocks: (hits, cases) per block of one seed; their variance over the binomial one is the design
            effect, never taken below 1.
        zero_effect: the design effect assumed where nothing (or everything) was hit; it fades with the hits,
            so that one hit never supports a lower bound than none.
    """
    if n <= 0:
        return 0.0, 1.0
    effect = max(1.0, zero_effect / (1 + max(0, min(count, n - count)) / 8))
    if count <= 0 or count >= n:
        return wilson(count / effect, n / effect)
    share = count / n
    usable = [(hit, size) for hit, size in blocks if size]
    if len(usable) > 1:
        between = sum(size * (hit / size - share) ** 2 for hit, size in usable) / (len(usable) - 1)
        effect = max(effect, between / (share * (1 - share)))
    return wilson(count / effect, n / effect)
