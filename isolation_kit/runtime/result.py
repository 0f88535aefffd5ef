"""What a child hands up: status, key outputs, short summary, references, reasons (article 002, section 5.4).

Raw logs, messages and tool output have no field here, on the error path neither: a reason is a code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime.fields import AllowList, Dropped
from isolation_kit.runtime.text import Digest, cut, encodable
from isolation_kit.strictjson import loads

__all__ = ["ANSWER", "SUMMARY_LIMIT", "Status", "SubAgentResult", "envelope", "result_of", "summarise"]

SUMMARY_LIMIT = 200
_SENTENCES = 3
_SENTENCE = re.compile(r"[^.!?。！？]*[.!?。！？]+[\s\"'”’」]*")
_REASON = {"type": "array", "items": {"type": "string"}}

ANSWER: Mapping[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}}


class Status(StrEnum):
    """How a delegation ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    NEEDS_REVIEW = "needs_review"
    TIMEOUT = "timeout"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class SubAgentResult:
    """The structured result of one child. `artifacts` are references; `errors` are reason codes."""

    task_id: str
    status: Status
    key_outputs: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    artifacts: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values, ready for the wire."""
        return {
            "task_id": self.task_id,
            "status": str(self.status),
            "key_outputs": self.key_outputs,
            "summary": self.summary,
            "artifacts": list(self.artifacts),
            "errors": list(self.errors),
        }


def envelope(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a result whose key outputs follow `outputs`."""
    return {
        "type": "object",
        "required": ["task_id", "status"],
        "properties": {
            "task_id": {"type": "string"},
            "status": {"type": "string", "enum": [str(status) for status in Status]},
            "key_outputs": outputs,
            "summary": {"type": "string"},
            "artifacts": _REASON,
            "errors": _REASON,
        },
    }


def result_of(
    task_id: str, final: str, outputs: AllowList, limit: int, digest: Digest
) -> tuple[SubAgentResult, tuple[Dropped, ...]]:
    """The result that a child's final text stands for.

    A JSON object is taken as key outputs, of which the declared ones stay; any other text becomes the output
    `answer`, cut at `limit` characters.
    """
    if not encodable(final):
        return SubAgentResult(task_id, Status.FAILED, errors=("not_utf8",)), ()
    value = _object(final)
    if value is None:
        text = cut(final, limit)
        return SubAgentResult(task_id, Status.SUCCEEDED, {"answer": text}, summarise(text)), ()
    kept = outputs.keep(value, digest)
    summary = summarise(str(kept.value.get("answer", ""))) if kept.ok else ""
    return SubAgentResult(task_id, Status.SUCCEEDED, kept.value or {}, summary), kept.dropped


def summarise(text: str) -> str:
    """At most three sentences and 200 characters of `text`."""
    sentences = _SENTENCE.findall(text[: 4 * SUMMARY_LIMIT])
    if len(sentences) > _SENTENCES:
        text = "".join(sentences[:_SENTENCES]).rstrip()
    return cut(text, SUMMARY_LIMIT)


def _object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = loads(text)
    except StrictJSONError:
        return None
    return value if isinstance(value, dict) else None
