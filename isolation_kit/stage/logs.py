"""Hears what a system logs, as its own handlers would write it."""

from __future__ import annotations

import json
import logging

from isolation_kit.stage.case import CURRENT_TURN, Case
from isolation_kit.trace import Channel

__all__ = ["LogTap"]


class LogTap(logging.Handler):
    """Records what the system logs, under the levels that it configured itself."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.case: Case | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Record one log line, attributed to the turn that is running."""
        case = self.case
        if case is None or (CURRENT_TURN.get() < 0 and record.name != "isolation_kit.probe"):
            return
        agent = getattr(record, "agent", case.declaration.root)
        case.record(Channel.LOG, agent, self.format(record) + _extras(record))


_OWN = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "agent"))


def _extras(record: logging.LogRecord) -> str:
    """What a call handed over as `extra`: no plain line shows it, and every JSON formatter does."""
    extras = {name: value for name, value in vars(record).items() if name not in _OWN}
    if not extras:
        return ""
    try:
        return " " + json.dumps(extras, ensure_ascii=False, default=lambda value: type(value).__name__)
    except (ValueError, TypeError, RecursionError):  # what no formatter could write either
        return ""
