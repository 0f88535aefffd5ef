"""Canaries: unique tokens that know the place where they were planted, and the skins that they wear."""

from __future__ import annotations

from isolation_kit.canary.masks import worn_shapes
from isolation_kit.canary.secrets import check_secret
from isolation_kit.canary.skins import Skin
from isolation_kit.canary.token import ALPHABET, PREFIX_LENGTH, TOKEN_LENGTH, Canary, Mint, verify_in

__all__ = [
    "ALPHABET",
    "PREFIX_LENGTH",
    "TOKEN_LENGTH",
    "Canary",
    "Mint",
    "Skin",
    "check_secret",
    "verify_in",
    "worn_shapes",
]
