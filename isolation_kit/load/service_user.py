"""The user of the kit's own service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isolation_kit.load.identity import LoadTurn
from isolation_kit.load.run import Run
from isolation_kit.load.user import IsolationUser

__all__ = ["ServiceUser"]


class ServiceUser(IsolationUser):
    """A user of `isolation-kit serve`."""

    abstract = True

    def learn(self, run: Run) -> None:
        """Ask the service which of the reference targets it is."""
        with self.client.get("/health", name="health", catch_response=True) as response:
            try:
                run.target = "rules" if response.json()["target"] == "rules" else "task"
                response.success()
            except (ValueError, KeyError, TypeError, AttributeError):
                response.failure("no health")

    def say(self, turn: LoadTurn, how: Mapping[str, Any]) -> Any:
        """Send one turn."""
        return self.client.post(
            f"/v1/sessions/{turn.session}/turns",
            json={"text": turn.text, "reply": turn.reply},
            headers={"X-User": turn.user},
            **how,
        )

    def complete(self, response: Any) -> bool:
        """A whole answer is JSON."""
        kind = str(response.headers.get("content-type", "")) if response.headers else ""
        return super().complete(response) and kind.startswith("application/json")
