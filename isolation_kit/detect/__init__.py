"""Find tokens in recorded bytes, in whatever rendering they travel."""

from __future__ import annotations

from isolation_kit.detect.automaton import Pool
from isolation_kit.detect.forms import Budget, Form, Hit, ScanResult, Tier
from isolation_kit.detect.scan import scan, scan_all

__all__ = ["Budget", "Form", "Hit", "Pool", "ScanResult", "Tier", "scan", "scan_all"]
