"""The reference runtime with one seeded defect each: what the kit must catch, and how it should say so.

Each defect is a target: `isolation_kit.mutants:m01_full_history`. A file in this folder with `MUTANTS` is
found by itself; `all_mutants` is the whole table.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

from isolation_kit.mutants.catalogue import Mutant, leaky

__all__ = ["Mutant", "all_mutants", "leaky"]


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Every seeded defect of this folder, by its number."""
    found: list[Mutant] = []
    for module in pkgutil.iter_modules(__path__):
        found += getattr(importlib.import_module(f"{__name__}.{module.name}"), "MUTANTS", ())
    return tuple(sorted(found, key=lambda mutant: (mutant.number, mutant.name)))


def __getattr__(name: str) -> Callable[..., Any]:
    """The target of that name, for `factory = "isolation_kit.mutants:m01_full_history"`."""
    if name.startswith("m"):
        for mutant in all_mutants():
            if mutant.name == name:
                return mutant.target
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
