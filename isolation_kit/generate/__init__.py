"""Hypothesis strategies that draw base scenarios, one file a family, and the sweep that needs no chance."""

from __future__ import annotations

from isolation_kit.generate import (
    boundary_overflow,
    cross_user,
    noise_injection,
    state_residue,
    turn_drift,
)
from isolation_kit.generate.family import Family
from isolation_kit.generate.skins import dressed
from isolation_kit.generate.sweep import SWEEP, sweep

__all__ = ["FAMILIES", "SWEEP", "Family", "dressed", "sweep"]

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        noise_injection.FAMILY,
        cross_user.FAMILY,
        boundary_overflow.FAMILY,
        state_residue.FAMILY,
        turn_drift.FAMILY,
    )
}
