"""The outcome of one item as a file: worker processes hand over references, and a kill loses nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from json import dumps, loads
from typing import Any

from isolation_kit.errors import IsolationKitError, KitError
from isolation_kit.finding import Fingerprint, Mode, Verdict
from isolation_kit.fingerprints import Tally
from isolation_kit.outcome import Item, ItemOutcome, Line, Smallest
from isolation_kit.scenario import Scenario

__all__ = ["dump_outcome", "load_outcome"]


def dump_outcome(outcome: ItemOutcome) -> str:
    """Canonical JSON of an outcome; times are in it, for a part is no report."""
    raw = {
        "item": asdict(outcome.item),
        "requested": outcome.requested,
        "tally": loads(outcome.tally.to_json()),
        "smallest": [_dump_smallest(case) for case in outcome.smallest],
        "cut": outcome.cut,
        "unreached": outcome.unreached,
        "not_tapped": outcome.not_tapped,
        "error": outcome.error,
        "failed": None if outcome.failed is None else loads(outcome.failed.to_json()),
        "cpu_seconds": outcome.cpu_seconds,
        "wall_seconds": outcome.wall_seconds,
        "notes": outcome.notes,
    }
    return dumps(raw, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def load_outcome(text: str) -> ItemOutcome:
    """Read what `dump_outcome` wrote.

    Raises:
        KitError: if it is no such text.
    """
    try:
        raw: dict[str, Any] = loads(text)
        return ItemOutcome(
            **{
                **raw,
                "item": Item(**raw["item"]),
                "tally": Tally.from_json(dumps(raw["tally"])),
                "smallest": tuple(_load_smallest(case) for case in raw["smallest"]),
                "unreached": tuple((child, reason) for child, reason in raw["unreached"]),
                "not_tapped": tuple(raw["not_tapped"]),
                "notes": tuple(raw["notes"]),
                "failed": Scenario.from_json(dumps(raw["failed"])) if raw.get("failed") else None,
            }
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IsolationKitError) as error:
        raise KitError(
            f"a stored part of this run cannot be read ({type(error).__name__}); run the item again"
        ) from None


def _dump_smallest(case: Smallest) -> dict[str, Any]:
    return {
        "fingerprint": asdict(case.fingerprint),
        "kind": case.kind,
        "mode": case.mode,
        "oracle": case.oracle,
        "scenario": loads(case.scenario.to_json()),
        "reduced": case.reduced,
        "executions": case.executions,
        "conversation": [[line.who, line.text] for line in case.conversation],
        "pair": [loads(scenario.to_json()) for scenario in case.pair],
        "path": case.path,
    }


def _load_smallest(raw: Mapping[str, Any]) -> Smallest:
    return Smallest(
        fingerprint=Fingerprint(**raw["fingerprint"]),
        kind=Verdict(raw["kind"]),
        mode=Mode(raw["mode"]),
        oracle=raw["oracle"],
        scenario=Scenario.from_json(dumps(raw["scenario"])),
        reduced=raw["reduced"],
        executions=raw["executions"],
        conversation=tuple(Line(who, text) for who, text in raw["conversation"]),
        pair=tuple(Scenario.from_json(dumps(scenario)) for scenario in raw["pair"]),
        path=raw["path"],
    )
