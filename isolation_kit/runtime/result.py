"""What a child hands up: status, key outputs, short summary, references, reasons (article 002, section 5.4).

Raw logs, messages and tool output have no field here, and on the error path neither. Article 003 hands its
last five messages up at the step limit (4.2), and `agent_debug_info` with tool results after a failure (4.4):
both put a child's scratch work into the parent's context. Here an error is one of `Reason`, a summary is
short, an artifact is a reference; what is none of these is refused at the parent's end, whoever packed it.

A model says JSON in many ways that are no JSON: fenced, behind a byte order mark, with a comma too many. Such
a text is read strictly or refused, and never taken for prose: prose would carry every undeclared field up.
Where a text is declared, a text goes up: of what its sentences quote, or hide in another alphabet (base64,
say), no reader can say whether it is the answer. Declare typed outputs where that matters.
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
    "MOST_ARTIFACTS",
    "REFERENCE",
    "SUMMARY_LIMIT",
    "Reason",
    "Shelve",
    "Status",
    "SubAgentResult",
    "envelope",
    "missing",
    "oversize",
    "read_limit",
    "result_of",
    "summarise",
]

SUMMARY_LIMIT = 200
REFERENCE = "^artifact_[0-9a-f]{16}$"
MOST_ARTIFACTS = 16
_MOST_ERRORS = 16
_RAW_TIMES, _RAW_LEAST = 16, 100_000
_WIDEST = 8  # so many characters at most stand for one that was read: a number's zeros, an escape
_SENTENCES = 3
# Between two digits a point ends no sentence.
_END = re.compile(r"[。！？]+[\s\"'”’」]*|[.!?]+[\"'”’」]*(?:\s+|\Z)")

# What a model puts around a JSON object: a fence, a byte order mark.
_FENCED = re.compile(r"(```|~~~)[^\n{\[]*\n?(.*?)\1\s*", re.DOTALL)
_FENCED_JSON = re.compile(r"(?:```|~~~)[^\n{\[`~]{0,20}\n?\s{0,9}[{\[]\s{0,9}[\"{\[]")
_AROUND = " \t\r\n\ufeff"

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
    PROGRAM_ERROR = "program_error"
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
    """The JSON Schema of a result whose key outputs follow `outputs`.

    One that failed may lack them all: `missing` tells what a success lacks. Only where a text `answer` is
    declared is there a summary: of what else should it be one?
    """
    summary = {"summary": {"type": "string", "maxLength": SUMMARY_LIMIT}} if _answers(outputs) else {}
    return {
        "type": "object",
        "required": ["task_id", "status"],
        "properties": {
            "task_id": {"type": "string"},
            "status": {"type": "string", "enum": [str(status) for status in Status]},
            "key_outputs": {name: rule for name, rule in outputs.items() if name != "required"},
            **summary,
            "artifacts": {
                "type": "array",
                "maxItems": MOST_ARTIFACTS,
                "items": {"type": "string", "pattern": REFERENCE},
            },
            "errors": {
                "type": "array",
                "maxItems": _MOST_ERRORS,
                "items": {"type": "string", "enum": [str(code) for code in Reason]},
            },
        },
    }


def missing(result: SubAgentResult, outputs: Mapping[str, Any]) -> bool:
    """True for a success without a required output; an artifact may hold what is not there."""
    if result.status is not Status.SUCCEEDED or result.artifacts:
        return False
    return not result.key_outputs.keys() >= set(outputs.get("required", ()))


def oversize(outputs: Mapping[str, Any], limit: int) -> bool:
    """True for key outputs of more than `limit` characters: of canonical JSON, or of a sole `answer`."""
    if len(outputs) == 1 and isinstance(answer := outputs.get("answer"), str):
        return len(answer) > limit
    return len(canonical(outputs)) > limit


def result_of(
    task_id: str, final: str, outputs: AllowList, limit: int, digest: Digest, shelve: Shelve | None = None
) -> tuple[SubAgentResult, tuple[Dropped, ...]]:
    """The result that a child's final text stands for.

    A JSON object is taken as key outputs, of which the declared ones stay. Any other text is the output
    `answer`, where that is declared as text; one that ought to be JSON, or fences some, is refused as a
    tool's reply would be. What is longer than `limit` characters goes to `shelve`, and its reference and
    summary go up; without a shelf a text is cut, with a mark, and an object, which nobody could cut rightly,
    stays below.
    """
    if not encodable(final):
        return SubAgentResult(task_id, Status.FAILED, errors=(Reason.NOT_UTF8,)), ()
    inner = _unwrapped(final)
    if not inner.startswith("{"):
        return _of_text(task_id, final, inner, outputs, limit, digest, shelve)
    if len(inner) > read_limit(limit):
        return SubAgentResult(task_id, Status.NEEDS_REVIEW, errors=(Reason.TOO_LARGE,)), ()
    try:
        value = loads(inner)
    except StrictJSONError:
        return _refused(task_id), ()
    kept = outputs.keep(value, digest, embedded=True)
    if not kept.ok or outputs.problem(kept.value):
        return SubAgentResult(task_id, Status.NEEDS_REVIEW, errors=(Reason.OUTPUT_REFUSED,)), kept.dropped
    answer = kept.value.get("answer")
    summary = summarise(answer) if isinstance(answer, str) else ""
    if _WIDEST * len(inner) > limit and oversize(kept.value, limit):
        return _shelved(task_id, canonical(kept.value), summary, {}, shelve), kept.dropped
    return SubAgentResult(task_id, Status.SUCCEEDED, kept.value, summary), kept.dropped


def read_limit(limit: int) -> int:
    """The most characters that are read at all of what may become `limit` characters."""
    return max(_RAW_TIMES * limit, _RAW_LEAST)


def _unwrapped(text: str) -> str:
    """`text` without what a model puts around JSON."""
    text = text.strip(_AROUND)
    fenced = _FENCED.fullmatch(text) if text.startswith(("```", "~~~")) else None
    return text if fenced is None else fenced[2].strip(_AROUND)


def _answers(outputs: Mapping[str, Any]) -> bool:
    answer = outputs.get("properties", {}).get("answer")
    stated = answer.get("type") if isinstance(answer, Mapping) else None
    return stated == "string" or (isinstance(stated, list | tuple) and "string" in stated)


def _refused(task_id: str) -> SubAgentResult:
    return SubAgentResult(task_id, Status.FAILED, errors=(Reason.OUTPUT_REFUSED,))


def _of_text(
    task_id: str, text: str, inner: str, outputs: AllowList, limit: int, digest: Digest, shelve: Shelve | None
) -> tuple[SubAgentResult, tuple[Dropped, ...]]:
    """Prose, if it is some; the allow-list drops it where no text is declared."""
    fences = "```" in inner or "~~~" in inner
    if (fences and _FENCED_JSON.search(inner)) or _is_json(inner, limit):
        return _refused(task_id), ()
    kept = outputs.keep({"answer": text}, digest)
    if not kept.value:
        return _refused(task_id), kept.dropped
    summary = summarise(text)
    if len(text) > limit and shelve is not None:
        return _shelved(task_id, text, summary, {"answer": summary}, shelve), ()
    answer = {"answer": cut(text, limit)}
    if outputs.problem(answer):
        return _refused(task_id), ()
    return SubAgentResult(task_id, Status.SUCCEEDED, answer, summary), ()


def _is_json(text: str, limit: int) -> bool:
    """True for a whole list; a bracket may begin a sentence, such as `[1] says no`."""
    if not text.startswith("[") or len(text) > read_limit(limit):
        return False
    try:
        loads(text)
    except StrictJSONError:
        return False
    return True


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
