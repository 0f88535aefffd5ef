"""The baseline: the leaks that are known, as a flat list that reads well in a diff."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isolation_kit.errors import StrictJSONError, UsageError
from isolation_kit.report.clean import clean
from isolation_kit.strictjson import loads

__all__ = ["BASELINE_SCHEMA", "Baseline", "new"]

BASELINE_SCHEMA = "isolation-kit/baseline/1"

_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known leaks: fingerprint id to its readable text."""

    entries: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Baseline:
        """All fingerprints of `report` that would fail a run."""
        rows = [row for row in report["fingerprints"] if row["counts"]]
        return cls({row["id"]: _text(row) for row in sorted(rows, key=lambda row: str(row["id"]))})

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """Read what `dump` wrote.

        Raises:
            UsageError: if the file is missing or is no baseline.
        """
        try:
            raw = loads(Path(path).read_bytes())
        except OSError as error:
            raise _refusal(path, f"cannot be read ({type(error).__name__})") from None
        except StrictJSONError:
            raise _refusal(path, "is no strict JSON") from None
        if not isinstance(raw, dict) or raw.get("schema") != BASELINE_SCHEMA or len(raw) != 2:
            raise _refusal(path, f"is no object with the schema {BASELINE_SCHEMA!r} and 'fingerprints'")
        entries = raw.get("fingerprints")
        if not isinstance(entries, dict) or not all(map(_is_entry, entries, entries.values())):
            raise _refusal(path, "has an entry that is no fingerprint id (12 hex digits) with a text")
        return cls(entries)

    def dump(self) -> str:
        """The file's text: one line an entry, sorted by id."""
        document = {"schema": BASELINE_SCHEMA, "fingerprints": dict(sorted(self.entries.items()))}
        return json.dumps(document, ensure_ascii=True, indent=2) + "\n"


def new(report: Mapping[str, Any], baseline: Baseline) -> tuple[Mapping[str, Any], ...]:
    """The fingerprint rows of `report` that count and that `baseline` does not know."""
    return tuple(row for row in report["fingerprints"] if row["counts"] and row["id"] not in baseline.entries)


def _text(row: Mapping[str, Any]) -> str:
    place = f"{row['what']} -> {row['channel']} ({row['direction']}) at {row['edge']}"
    return clean(f"{row['kind']} in {row['target']}: {place}", 600)


def _is_entry(name: str, text: object) -> bool:
    return len(name) == 12 and set(name) <= _HEX and isinstance(text, str)


def _refusal(path: str | Path, why: str) -> UsageError:
    return UsageError(
        f"the baseline {path} {why}; allowed: a file that a run wrote; write it anew, for example: "
        f"pytest --isolation --isolation-update-baseline --isolation-baseline {path}"
    )
