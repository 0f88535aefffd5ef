"""What a child hands up: status, key outputs, short summary, references, reasons (article 002, section 5.4).

Raw logs, messages and tool output have no field here, and on the error path neither. Article 003 hands its
last five messages up at the step limit (4.2), and `agent_debug_info` with tool results after a failure (4.4):
both put a child's scratch work into the parent's context. Here an error is one of `Reason`, a summary is
short, an artifact is a reference; what is none of these is refused at the parent's end, whoever packed it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime.fields import AllowList, Dropped
from isolation_kit.runtime.text import Digest, canonical, cut, encodable
from isolation_kit.strictjson import loads

__all__ = [
    "ANSWER",
    "REFERENCE",
    "SUMMARY_LIMIT",
    "Reason",
    "Shelve",
    "Status",
    "SubAgentResult",
    "envelope",
    "result_of",
    "summarise",
]

SUMMARY_LIMIT = 200
REFERENCE = "^artifact_[0-9a-f]{16}$"
_SENTENCES = 3
# Between two digits a point ends no sentence.
_END = re.compile(r"[。！？]+[\s\"'”’」]*|[.!?]+[\"'”’」]*(?:\s+|\Z)")

ANSWER: Mapping[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}}


class Status(StrEnum):
    """How a delegation ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    NEEDS_REVIEW = "needs_review"
    TIMEOUT = "timeout"
    KILLED = "killed"
    REFUSED = "refused"


class Reason(StrEnum):
    """All that an error can say. A child has no word of its own for it."""

    BRIEF_REFUSED = "brief_refused"
    CONTRACT_REFUSED = "contract_refused"
    REQUEST_REFUSED = "request_refused"
    CALL_REPEATED = "call_repeated"
    TOO_DEEP = "too_deep"
    MODEL_FAILED = "model_failed"
    LOOP_DETECTED = "loop_detected"
    ROUND_LIMIT = "round_limit"
    WINDOW_FULL = "window_full"
    NOT_UTF8 = "not_utf8"
    TOO_LARGE = "too_large"
    OUTPUT_REFUSED = "output_refused"
    TIMEOUT = "timeout"
    KILLED = "killed"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    CHILD_CRASHED = "child_crashed"
    PIPE_CLOSED = "pipe_closed"
    BAD_FRAME = "bad_frame"
    RESULT_REFUSED = "result_refused"


# Puts a large output away and returns its reference, or "" if it cannot.
Shelve = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class SubAgentResult:
    """The structured result of one child. `artifacts` are references; `errors` are values of `Reason`."""

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
    """The JSON Schema of a result whose key outputs follow `outputs`; one that failed may lack them all."""
    return {
        "type": "object",
        "required": ["task_id", "status"],
        "properties": {
            "task_id": {"type": "string"},
            "status": {"type": "string", "enum": [str(status) for status in Status]},
            "key_outputs": {name: rule for name, rule in outputs.items() if name != "required"},
            "summary": {"type": "string", "maxLength": SUMMARY_LIMIT},
            "artifacts": {"type": "array", "items": {"type": "string", "pattern": REFERENCE}},
            "errors": {"type": "array", "items": {"type": "string", "enum": [str(code) for code in Reason]}},
        },
    }


def result_of(
    task_id: str, final: str, outputs: AllowList, limit: int, digest: Digest, shelve: Shelve | None = None
) -> tuple[SubAgentResult, tuple[Dropped, ...]]:
    """The result that a child's final text stands for.

    A JSON object is taken as key outputs, of which the declared ones stay; any other text becomes the output
    `answer`. What is longer than `limit` characters goes to `shelve`, and its reference and summary go up;
    without a shelf a text is cut, with a mark, and an object, which nobody could cut rightly, stays below.
    """
    if not encodable(final):
        return SubAgentResult(task_id, Status.FAILED, errors=(Reason.NOT_UTF8,)), ()
    value = _object(final)
    if value is None:
        return _of_text(task_id, final, limit, shelve), ()
    kept = outputs.keep(value, digest)
    if not kept.ok or outputs.problem(kept.value):
        return SubAgentResult(task_id, Status.NEEDS_REVIEW, errors=(Reason.OUTPUT_REFUSED,)), kept.dropped
    summary = summarise(str(kept.value.get("answer", "")))
    if len(final) > limit and len(text := canonical(kept.value)) > limit:
        return _shelved(task_id, text, summary, {}, shelve), kept.dropped
    return SubAgentResult(task_id, Status.SUCCEEDED, kept.value, summary), kept.dropped


def _of_text(task_id: str, text: str, limit: int, shelve: Shelve | None) -> SubAgentResult:
    summary = summarise(text)
    if len(text) > limit and shelve is not None:
        return _shelved(task_id, text, summary, {"answer": summary}, shelve)
    return SubAgentResult(task_id, Status.SUCCEEDED, {"answer": cut(text, limit)}, summary)


def _shelved(
    task_id: str, text: str, summary: str, outputs: Mapping[str, Any], shelve: Shelve | None
) -> SubAgentResult:
    reference = shelve(text) if shelve is not None else ""
    if reference:
        return SubAgentResult(task_id, Status.SUCCEEDED, outputs, summary, (reference,))
    return SubAgentResult(task_id, Status.NEEDS_REVIEW, {}, summary, errors=(Reason.TOO_LARGE,))


def summarise(text: str) -> str:
    """At most three sentences and 200 characters of `text`."""
    ends = _END.finditer(text[: 4 * SUMMARY_LIMIT])
    third = next(islice(ends, _SENTENCES - 1, None), None)
    return cut(text if third is None else text[: third.end()].rstrip(), SUMMARY_LIMIT)


def _object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = loads(text)
    except StrictJSONError:
        return None
    return value if isinstance(value, dict) else None
