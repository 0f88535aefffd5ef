"""The report file: canonical JSON, read back strictly and checked against its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isolation_kit.content import content_root
from isolation_kit.errors import StrictJSONError, UsageError
from isolation_kit.strictjson import loads

__all__ = ["MAX_BYTES", "SCHEMA", "check", "dump", "read"]

SCHEMA = "isolation-kit/report/1"
MAX_BYTES = 128 * 1024 * 1024


def dump(report: Mapping[str, Any]) -> str:
    """Canonical text: sorted keys, ASCII, one trailing newline; equal reports give equal bytes."""
    return json.dumps(report, ensure_ascii=True, allow_nan=False, sort_keys=True, indent=1) + "\n"


def read(path: str | Path) -> dict[str, Any]:
    """The content of a report file, as it stands there.

    Raises:
        UsageError: if the file is missing, is no strict JSON, or does not match the schema.
    """
    try:
        raw = loads(Path(path).read_bytes(), max_bytes=MAX_BYTES)
    except OSError as error:
        raise _refusal(path, f"cannot be read ({type(error).__name__})") from None
    except StrictJSONError:
        raise _refusal(path, "is broken: no strict JSON") from None
    problem = check(raw)
    if problem:
        raise _refusal(path, problem)
    assert isinstance(raw, dict)
    return raw


def check(report: object) -> str:
    """Where and by which rule `report` breaks the schema, or ""; never the value that breaks it."""
    # Half a second to import: only those pay who read a report from a file.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    if isinstance(report, dict) and isinstance(named := report.get("schema"), str) and named != SCHEMA:
        return f"has another schema version than {SCHEMA!r}"
    text = (content_root("reports") / "report-1.schema.json").read_text(encoding="utf-8")
    error = best_match(Draft202012Validator(json.loads(text)).iter_errors(report))
    if error is None:
        return ""
    # Only names that the schema knows: any other key of the document could be anything.
    steps = [
        str(step) if f'"{step}":' in text or isinstance(step, int) else "?" for step in error.absolute_path
    ]
    place = ".".join(steps) or "the top level"
    return f"does not match the schema at {place} (rule {error.validator!r})"


def _refusal(path: str | Path, why: str) -> UsageError:
    return UsageError(
        f"the report {path} {why}; allowed: a report.json that this version wrote, for example "
        ".isolation/report.json; run the audit again to write it"
    )
