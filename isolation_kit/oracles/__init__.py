"""Oracles: judges of traces. One file each; a file in this folder with an `ORACLE` is found by itself.

An oracle's `check` is a generator: it yields Variants (pure changes of the scenario), is sent their Traces
in the same order, may yield again, and returns a Judgement. Equal variants are run once and shared by all.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from isolation_kit.oracles.protocol import Check, Oracle, Variant, drive

__all__ = ["Check", "Oracle", "Variant", "all_oracles", "drive"]


@cache
def all_oracles() -> tuple[Oracle, ...]:
    """Every oracle of this folder, sorted by name."""
    found = []
    for module in pkgutil.iter_modules(__path__):
        oracle = getattr(importlib.import_module(f"{__name__}.{module.name}"), "ORACLE", None)
        if isinstance(oracle, Oracle):
            found.append(oracle)
    return tuple(sorted(found, key=lambda oracle: oracle.name))
