"""isolation-kit: prove or refute the context isolation of parent/child agent systems, without a live model.

The names below are loaded at first use (PEP 562): importing the package, or its pytest plugin, is cheap.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isolation_kit.errors import ConfigError, ContentError, IsolationKitError, TargetError, UsageError
    from isolation_kit.filters import Filter, apply_filters, load_filters
    from isolation_kit.finding import Finding, Fingerprint, Verdict
    from isolation_kit.policy import Allow, Policy
    from isolation_kit.recorded import assert_isolated
    from isolation_kit.scenario import (
        Answer,
        Delegate,
        Limits,
        Say,
        Scenario,
        Slot,
        Temperament,
        TurnPlan,
        UseTool,
    )
    from isolation_kit.stage import ModelCall, ModelReply, Stage, ToolUse
    from isolation_kit.target import Agent, Declaration, Tool, Turn, Via, target
    from isolation_kit.trace import Channel, Trace

_HOMES = {
    "errors": ("ConfigError", "ContentError", "IsolationKitError", "TargetError", "UsageError"),
    "filters": ("Filter", "apply_filters", "load_filters"),
    "finding": ("Finding", "Fingerprint", "Verdict"),
    "policy": ("Allow", "Policy"),
    "recorded": ("assert_isolated",),
    "scenario": (
        *("Answer", "Delegate", "Limits", "Say", "Scenario", "Slot", "Temperament", "TurnPlan", "UseTool"),
    ),
    "stage": ("ModelCall", "ModelReply", "Stage", "ToolUse"),
    "target": ("Agent", "Declaration", "Tool", "Turn", "Via", "target"),
    "trace": ("Channel", "Trace"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "Allow",
    "Answer",
    "Channel",
    "ConfigError",
    "ContentError",
    "Declaration",
    "Delegate",
    "Filter",
    "Finding",
    "Fingerprint",
    "IsolationKitError",
    "Limits",
    "ModelCall",
    "ModelReply",
    "Policy",
    "Say",
    "Scenario",
    "Slot",
    "Stage",
    "TargetError",
    "Temperament",
    "Tool",
    "ToolUse",
    "Trace",
    "Turn",
    "TurnPlan",
    "UsageError",
    "UseTool",
    "Verdict",
    "Via",
    "apply_filters",
    "assert_isolated",
    "load_filters",
    "target",
]


class _Root(ModuleType):
    """The package as a module object: `target` stays the decorator although a submodule has that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds each submodule to its package, in whatever order a program imports them.
        if name == "target" and isinstance(value, ModuleType):
            value = value.target
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Root


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
