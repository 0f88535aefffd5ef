"""Exit codes of the command line and of load runs."""

from __future__ import annotations

from collections.abc import Mapping

from isolation_kit.finding import Verdict

__all__ = ["CODES"]

CODES: Mapping[Verdict, int] = {
    Verdict.PASS: 0,
    Verdict.LEAK: 1,
    Verdict.LOSS: 1,
    Verdict.ERROR: 3,
    Verdict.INCONCLUSIVE: 4,
}
