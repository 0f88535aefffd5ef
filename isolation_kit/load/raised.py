"""What users' own code raised: by type and place in counters, and each of them once with its text, masked."""

from __future__ import annotations

from isolation_kit.errors import UsageError
from isolation_kit.load.tokens import Tokens
from isolation_kit.stage.ledger import Ledger
from isolation_kit.stage.quoting import quoted
from isolation_kit.stage.under_test import describe

__all__ = ["NoResponseError", "Raised"]

_MOST = 20  # places that are told


class NoResponseError(UsageError):
    """What `say` returned is no response that can be judged."""


class Raised:
    """The exceptions of one process.

    Args:
        tokens: those of the run, which are never shown.
        seed: of the same.
    """

    def __init__(self, tokens: Tokens, seed: int) -> None:
        self._tokens = tokens
        self._ledger = Ledger(seed)
        self._told: set[str] = set()

    def kind(self, error: Exception) -> str:
        """What it was, for counters: never its text, of which there may be a thousand."""
        if isinstance(error, NoResponseError):
            return "say returned no response"
        return f"a turn raised {describe(error, self._ledger.pool)}"

    def told(self, error: Exception) -> str:
        """What to tell, the first time; "" afterwards."""
        kind = self.kind(error)
        if kind in self._told or len(self._told) >= _MOST:
            return ""
        self._told.add(kind)
        if isinstance(error, NoResponseError):
            return str(error)
        for token in self._tokens.recent:
            self._ledger.pool.add(token)
        text = quoted(error, self._ledger, self._tokens.recent)
        return f"{kind}: {text}" if text else kind
