"""Recorded conversations: what can be said of a child's messages without running anything."""

from __future__ import annotations

from isolation_kit.recorded.isolated import Overlap, assert_isolated, overlaps

__all__ = ["Overlap", "assert_isolated", "overlaps"]
