"""The contract bridge: all that crosses between parent and child, as bytes (article 000, 3.1 and 4.4).

A field that was not declared is dropped and reported. The wire form is canonical JSON; the article
claims that protobuf drops unknown fields by itself, which it does not, so dropping is done and counted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isolation_kit.errors import IsolationKitError
from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.fields import AllowList, Dropped
from isolation_kit.runtime.result import Status, SubAgentResult
from isolation_kit.runtime.text import Digest, canonical
from isolation_kit.strictjson import loads

__all__ = [
    "BridgeError",
    "TaskRequest",
    "brief_schema",
    "decode_request",
    "decode_result",
    "encode_request",
    "encode_result",
    "request_schema",
]

_TEXTS = {"type": "array", "items": {"type": "string"}}


class BridgeError(IsolationKitError):
    """Bytes that are no message of the contract; says which rule is broken, never with what."""


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A brief on its way down, with its executor and its time limit in milliseconds."""

    executor: str
    brief: TaskBrief
    timeout_ms: int


def request_schema(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a request to a child whose inputs follow `inputs`."""
    return {
        "type": "object",
        "required": ["executor", "brief", "timeout_ms"],
        "properties": {
            "executor": {"type": "string"},
            "brief": brief_schema(inputs),
            "timeout_ms": {"type": "integer", "minimum": 1},
        },
    }


def brief_schema(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a brief whose inputs follow `inputs`."""
    return {
        "type": "object",
        "required": ["task_id", "goal", "inputs"],
        "properties": {
            "task_id": {"type": "string"},
            "goal": {"type": "string"},
            "inputs": inputs,
            "allowed_tools": _TEXTS,
            "forbidden_tools": _TEXTS,
            "acceptance": _TEXTS,
            "constraints": _TEXTS,
            "global_context": {"type": "string"},
        },
    }


def encode_request(request: TaskRequest) -> bytes:
    """The bytes of a request."""
    return canonical(
        {"executor": request.executor, "brief": request.brief.to_dict(), "timeout_ms": request.timeout_ms}
    ).encode()


def decode_request(
    data: bytes, declared: AllowList, outputs: Mapping[str, Any], digest: Digest
) -> tuple[TaskRequest, tuple[Dropped, ...]]:
    """The declared part of a request, and what was dropped.

    Raises:
        StrictJSONError: if the bytes are no strict JSON.
        BridgeError: if a declared field is missing or of another type.
    """
    raw, dropped = _read(data, declared, digest, "TaskRequest")
    brief = raw["brief"]
    return (
        TaskRequest(
            raw["executor"],
            TaskBrief(
                task_id=brief["task_id"],
                goal=brief["goal"],
                inputs=brief["inputs"],
                allowed_tools=tuple(brief.get("allowed_tools", ())),
                forbidden_tools=tuple(brief.get("forbidden_tools", ())),
                acceptance=tuple(brief.get("acceptance", ())),
                output_schema=outputs,
                constraints=tuple(brief.get("constraints", ())),
                global_context=brief.get("global_context", ""),
            ),
            raw["timeout_ms"],
        ),
        dropped,
    )


def encode_result(result: Mapping[str, Any]) -> bytes:
    """The bytes of a result."""
    return canonical(result).encode()


def decode_result(
    data: bytes, declared: AllowList, digest: Digest
) -> tuple[SubAgentResult, tuple[Dropped, ...]]:
    """The declared part of a result, and what was dropped.

    Raises:
        StrictJSONError: if the bytes are no strict JSON.
        BridgeError: if a declared field is missing or of another type.
    """
    raw, dropped = _read(data, declared, digest, "TaskResponse")
    return (
        SubAgentResult(
            task_id=raw["task_id"],
            status=Status(raw["status"]),
            key_outputs=raw.get("key_outputs", {}),
            summary=raw.get("summary", ""),
            artifacts=tuple(raw.get("artifacts", ())),
            errors=tuple(raw.get("errors", ())),
        ),
        dropped,
    )


def _read(
    data: bytes, declared: AllowList, digest: Digest, kind: str
) -> tuple[dict[str, Any], tuple[Dropped, ...]]:
    kept = declared.keep(loads(data), digest)
    problem = declared.problem(kept.value) if kept.ok else "type"
    if problem:
        raise BridgeError(
            f"the bytes are no {kind} of this contract (broken rule: {problem}); send what encode_request or "
            "encode_result makes"
        )
    return kept.value, kept.dropped
