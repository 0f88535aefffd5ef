"""Tells the person who waits that leaks are being reduced: the one part of a run that shows no cases."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator

from isolation_kit.finding import Finding, Mode
from isolation_kit.journal import Journal
from isolation_kit.outcome import Item
from isolation_kit.scenario import Scenario

__all__ = ["PATIENCE", "Progress", "WatchedJournal"]

PATIENCE = 5.0  # seconds of silence that nobody needs explained


class Progress:
    """Counts the cases of one item at a time, and says when the last one is done and leaks are reduced.

    Args:
        tell: writes one line to the person; called from another thread.
        patience: seconds of reducing before it tells; 0 tells at once.
    """

    def __init__(self, tell: Callable[[str], None], patience: float = PATIENCE) -> None:
        self._tell = tell
        self._patience = patience
        self._item = ""
        self._left = 0
        self._shown: set[str] = set()
        self._timer: threading.Timer | None = None

    @contextlib.contextmanager
    def over(self, item: Item, cases: int) -> Iterator[None]:
        """Inside, `cases` cases of `item` are expected, and then their reduction."""
        self._item, self._left, self._shown = item.name, cases, set()
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer.join()
                self._timer = None

    def heard(self, findings: Iterable[Finding]) -> None:
        """One case is done."""
        self._left -= 1
        # What the policy allows is reduced too; what only parrots showed is not.
        self._shown |= {finding.fingerprint.id for finding in findings if finding.mode is Mode.STRUCTURAL}
        if self._left == 0 and self._shown:
            many = "finding" if len(self._shown) == 1 else "findings"
            line = (
                f"isolation: {self._item}: all cases ran; reducing {len(self._shown)} {many} to the smallest "
                "cases, which may take minutes"
            )
            self._timer = threading.Timer(self._patience, self._tell, (line,))
            self._timer.daemon = True
            self._timer.start()


class WatchedJournal(Journal):
    """A findings log that lets a `Progress` hear of every case, with findings or without."""

    progress: Progress | None = None

    def case(
        self, item: str, block: int, index: int, scenario: Scenario, findings: Iterable[Finding]
    ) -> None:
        """Put the findings on disk first, then count the case."""
        found = tuple(findings)
        super().case(item, block, index, scenario, found)
        if self.progress is not None:
            self.progress.heard(found)
