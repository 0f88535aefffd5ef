"""What a target hands over is hostile data: its types may lie, and its texts may have no end."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tiny_target import SystemSay, full_case

from isolation_kit.audit import Campaign, Plan
from isolation_kit.finding import Verdict
from isolation_kit.fingerprints import CaseOutcome
from isolation_kit.stage import Ledger, Stage
from isolation_kit.stage.ledger import MOST_BYTES
from isolation_kit.target import Agent, Turn, Via, declaration_of, target


class LyingText(str):
    """Says of itself that it is clean."""

    def encode(self, *args: Any) -> bytes:
        """What is not so."""
        return b"clean"


class LyingBytes(bytes):
    """The same for bytes."""

    def __bytes__(self) -> bytes:
        """What is not so."""
        return b"clean"

    def __len__(self) -> int:
        """What is not so."""
        return 0


def replayed(answer: Any, record: Any = None) -> CaseOutcome:
    """One case of a target that answers, and records of its child, what these make of a secret."""

    @target(
        root="boss", agents={"boss": Agent({"kid": Via("task")}), "kid": Agent()}, taps=("child.context",)
    )
    async def system(stage: Stage) -> AsyncIterator[SystemSay]:
        secret = stage.text("parent.system")

        async def say(turn: Turn) -> str:
            if record is not None:
                stage.record("child.context", "kid", record(secret))
            text: str = answer(secret)
            return text

        yield say

    with Campaign(declaration_of(system), Plan()) as run:
        return run.replay(full_case())


def channels(outcome: CaseOutcome) -> set[str]:
    """Where the case leaked."""
    return {item.fingerprint.channel for item in outcome.findings if item.kind is Verdict.LEAK}


@pytest.mark.parametrize("kind", [str, LyingText])
def test_a_text_is_what_it_holds_and_not_what_it_says(kind: type[str]) -> None:
    """An answer and a recorded text leak alike, whatever their class says of them."""
    assert channels(replayed(kind, kind)) >= {"final.output", "child.context"}
    assert channels(replayed(lambda secret: kind("fine"), lambda secret: kind("fine"))) == set()


def test_bytes_are_what_they_hold() -> None:
    """The same for recorded bytes."""
    assert "child.context" in channels(
        replayed(lambda secret: "fine", lambda secret: LyingBytes(secret.encode()))
    )


@pytest.mark.parametrize("extra", [{"said": "{}"}, {"context": {"said": ["{}"]}}, {"said": "fine"}])
def test_what_goes_along_with_a_log_line_is_read(extra: dict[str, Any]) -> None:
    """JSON formatters write what `extra` holds, so it is part of the line."""

    def logged(secret: str) -> str:
        filled = json.loads(json.dumps(extra).replace("{}", secret))
        logging.getLogger("app").warning("done", extra={**filled, "odd": object()})
        return "fine"

    assert ("log" in channels(replayed(logged))) == ("{}" in json.dumps(extra))


def test_a_flood_is_read_to_its_bound_by_every_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was not read is told: no pass on it."""
    read: list[int] = []
    new_runs = Ledger.new_runs

    def counted(self: Ledger, data: bytes, case: str) -> list[bytes]:
        read.append(len(data))
        return new_runs(self, data, case)

    monkeypatch.setattr(Ledger, "new_runs", counted)
    outcome = replayed(lambda secret: "flood " * (MOST_BYTES // 3))
    canary = next(one for one in outcome.judgements if one.oracle == "canary")
    assert canary.verdict is Verdict.INCONCLUSIVE
    assert "were not scanned" in canary.reason
    assert max(read) < MOST_BYTES + 10_000
