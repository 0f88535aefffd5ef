"""Which oracle kills which seeded defect, and after how many executions: the proof that the kit can see."""

from __future__ import annotations

from isolation_kit.matrix.hunt import Kill, hunt

__all__ = ["Kill", "hunt"]
