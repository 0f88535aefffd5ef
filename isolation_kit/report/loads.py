"""What reports of load runs say instead of a replay: from how many users on, and how to load again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isolation_kit.report.words import count_words, of_load

__all__ = ["again", "at_users"]

_STARTED = ("isolation-kit load ", "locust ")
_CUT = "…"  # where a long command was cut

_AGAIN: Mapping[str, str] = {"en": " Then load again: {}", "zh": "然后重新加载：{}"}
_RAMP: Mapping[str, str] = {
    "en": " (isolation-kit load --ramp finds from how many users on it shows)",
    "zh": "（isolation-kit load --ramp 可找出从多少个用户起出现）",
}


def at_users(report: Mapping[str, Any]) -> str:
    """From how many users on a load run saw it, as the end of a sentence; "" for audits."""
    if not of_load(report):
        return ""
    runs = report["run"]["parts"]
    if first := min(filter(None, (run.get("leaks_from", 0) for run in runs)), default=0):
        return f", from {count_words(first, 'user')} on"
    most = max((run.get("users", 0) for run in runs), default=0)
    return f", at up to {count_words(most, 'user')}" if most else ""


def again(report: Mapping[str, Any], language: str) -> str:
    """What shows whether a load run's finding is mended: the same load; "" for audits, whose cases replay."""
    if not of_load(report):
        return ""
    runs = report["run"]["parts"]
    commands = {run["command"] for run in runs}
    command = commands.pop() if len(commands) == 1 else ""
    known = command.startswith(_STARTED) and _CUT not in command
    ramped = any(run.get("leaks_from", 0) for run in runs) or "--ramp" in command.split()
    return (_AGAIN[language].format(command) if known else "") + ("" if ramped else _RAMP[language])
