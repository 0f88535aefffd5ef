"""Oracles: judges of traces. One file each; a file in this folder with an `ORACLE` is found by itself.

An oracle's `check` is a generator: it yields Variants (pure changes of the scenario), is sent their Traces
in the same order, may yield again, and returns a Judgement. Equal variants are run once and shared by all.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from isolation_kit.errors import UsageError
from isolation_kit.oracles.protocol import Check, Oracle, Variant, drive

__all__ = ["Check", "Oracle", "Variant", "all_oracles", "drive"]


@cache
def all_oracles() -> tuple[Oracle, ...]:
    """Every oracle of this folder, sorted by name.

    Raises:
        UsageError: if a file of this folder cannot be imported.
    """
    found = [_oracle_of(module.name) for module in pkgutil.iter_modules(__path__)]
    return tuple(sorted(filter(None, found), key=lambda oracle: oracle.name))


def _oracle_of(name: str) -> Oracle | None:
    try:
        oracle = getattr(importlib.import_module(f"{__name__}.{name}"), "ORACLE", None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file of somebody's own; one that ends the process would end it green
        raise UsageError(
            f"the oracle file oracles/{name}.py cannot be imported: {type(error).__name__}. Mend it, or take "
            "it out of the folder; see isolation_kit/oracles/canary.py for the shape of one"
        ) from error
    return oracle if isinstance(oracle, Oracle) else None
