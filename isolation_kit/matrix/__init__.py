"""Which oracle kills which seeded defect, and after how many executions: the proof that the kit can see."""

from __future__ import annotations

from isolation_kit.matrix.hunt import Glance, Kill, glance, hunt
from isolation_kit.matrix.run import Row, alarms, rows
from isolation_kit.matrix.table import markdown

__all__ = ["Glance", "Kill", "Row", "alarms", "glance", "hunt", "markdown", "rows"]
