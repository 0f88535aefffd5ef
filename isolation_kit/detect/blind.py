"""What no matcher can see, and which oracle can."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BLIND_SPOTS", "BlindSpot"]


class BlindSpot(NamedTuple):
    """A way in which a secret travels that leaves nothing to match.

    `oracles` names those that see it by comparing runs.
    """

    name: str
    example: str
    oracles: str


BLIND_SPOTS: tuple[BlindSpot, ...] = (
    BlindSpot("keyed hash", "an HMAC or a salted digest of the secret", "noninterference"),
    BlindSpot("cipher", "the secret encrypted or XORed with a key", "noninterference"),
    BlindSpot("acrostic", "the first letters of lines or words spell it", "noninterference"),
    BlindSpot("arithmetic", "a sum, a remainder or a checksum of it", "noninterference"),
    BlindSpot("order", "it decides the order of items, or which of two texts comes", "noninterference"),
    BlindSpot("paraphrase", "the same fact in other words, made by a program", "noninterference"),
    BlindSpot("short fragment", "fewer than eight of its characters", "noninterference"),
    BlindSpot("length", "the size or the number of messages grows with it", "noninterference, conservation"),
)
"""In the order in which ARCHITECTURE.md lists them."""
