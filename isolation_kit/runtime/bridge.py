"""The contract bridge: all that crosses between parent and child, as bytes (article 000, 3.1 and 4.4).

The messages are `wire/contract.proto`; inputs and key outputs are strict JSON inside `bytes`. The article
says that protobuf drops a field that nobody declared. It keeps it, and it cannot see a key inside `bytes` at
all; so both are found, counted, dropped and reported here. `wire/message.py` tells how two versions meet.

The article's 63 % off the size of JSON takes a field for each value and a message of mostly names. With its
own JSON inside `bytes`, some 40 % go off its two short examples, and nothing off 14 kB (bench_bridge.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.fields import AllowList, Dropped
from isolation_kit.runtime.result import Status, SubAgentResult
from isolation_kit.runtime.text import Digest, canonical
from isolation_kit.runtime.wire import contract_pb2 as wire
from isolation_kit.runtime.wire.message import CONTRACT, BridgeError, open_message

__all__ = [
    "BridgeError",
    "TaskRequest",
    "brief_schema",
    "decode_request",
    "decode_result",
    "encode_request",
    "encode_result",
    "request_schema",
    "seen_result",
]

_TEXTS = {"type": "array", "items": {"type": "string"}}
_STRINGS = frozenset({"task_id", "status", "summary"})
_LISTS = frozenset({"artifacts", "errors"})


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
    """The bytes of a request.

    Raises:
        BridgeError: if a value has no place in the contract, such as text that is no UTF-8.
    """
    brief = request.brief
    try:
        message = wire.TaskRequest(
            contract_major=CONTRACT[0],
            contract_minor=CONTRACT[1],
            executor=request.executor,
            timeout_ms=request.timeout_ms,
            brief=wire.TaskBrief(
                task_id=brief.task_id,
                goal=brief.goal,
                inputs=canonical(brief.inputs).encode(),
                allowed_tools=brief.allowed_tools,
                forbidden_tools=brief.forbidden_tools,
                acceptance=brief.acceptance,
                constraints=brief.constraints,
                global_context=brief.global_context,
            ),
        )
        data: bytes = message.SerializeToString()
    except (TypeError, ValueError) as error:
        raise _unsendable("TaskRequest", error) from None
    return data


def decode_request(
    data: bytes, declared: AllowList, outputs: Mapping[str, Any], digest: Digest
) -> tuple[TaskRequest, tuple[Dropped, ...]]:
    """The declared part of a request, and what was dropped; version skew is marked as such.

    Raises:
        StrictJSONError: if the inputs are no strict JSON.
        BridgeError: if the bytes are no message of this contract, or a declared field is missing or wrong.
    """
    sent, unknown = open_message(wire.TaskRequest(), data, digest)
    raw, undeclared = _allowed(sent, declared, digest, "TaskRequest")
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
        (*unknown, *undeclared),
    )


def encode_result(result: Mapping[str, Any]) -> bytes:
    """The bytes of a result. What the contract has no field for travels as an extension, to be dropped.

    Raises:
        BridgeError: if a value has no place in the contract, such as text that is no UTF-8.
    """
    fields: dict[str, Any] = {}
    extensions: dict[str, Any] = {}
    for name, value in result.items():
        (fields if _has_place(name, value) else extensions)[name] = value
    try:
        if "key_outputs" in fields:
            fields["key_outputs"] = canonical(fields["key_outputs"]).encode()
        if extensions:
            fields["extensions"] = canonical(extensions).encode()
        message = wire.TaskResponse(contract_major=CONTRACT[0], contract_minor=CONTRACT[1], **fields)
        data: bytes = message.SerializeToString()
    except (TypeError, ValueError) as error:
        raise _unsendable("TaskResponse", error) from None
    return data


def decode_result(
    data: bytes, declared: AllowList, digest: Digest
) -> tuple[SubAgentResult, tuple[Dropped, ...]]:
    """The declared part of a result, and what was dropped; version skew is marked as such.

    Raises:
        StrictJSONError: if the key outputs or extensions are no strict JSON.
        BridgeError: if the bytes are no message of this contract, or a declared field is missing or wrong.
    """
    sent, unknown = open_message(wire.TaskResponse(), data, digest)
    raw, undeclared = _allowed(_with_extensions(sent), declared, digest, "TaskResponse")
    return (
        SubAgentResult(
            task_id=raw["task_id"],
            status=Status(raw["status"]),
            key_outputs=raw.get("key_outputs", {}),
            summary=raw.get("summary", ""),
            artifacts=tuple(raw.get("artifacts", ())),
            errors=tuple(raw.get("errors", ())),
        ),
        (*unknown, *undeclared),
    )


def seen_result(data: bytes) -> dict[str, Any]:
    """All that a result says, undeclared keys included: for those who inspect a crossing, never for a parent.

    Raises:
        StrictJSONError, BridgeError: as `decode_result`, except that no schema is asked.
    """
    return _with_extensions(open_message(wire.TaskResponse(), data, lambda _: "")[0])


def _with_extensions(raw: dict[str, Any]) -> dict[str, Any]:
    extensions = raw.pop("extensions", {})
    if not isinstance(extensions, dict) or not raw.keys().isdisjoint(extensions):
        raise BridgeError(
            "the extensions of a TaskResponse are no JSON object, or say a declared field again; send what "
            "encode_result makes"
        )
    return {**raw, **extensions}


def _allowed(
    raw: dict[str, Any], declared: AllowList, digest: Digest, kind: str
) -> tuple[dict[str, Any], tuple[Dropped, ...]]:
    kept = declared.keep(raw, digest)
    problem = declared.problem(kept.value) if kept.ok else "type"
    if problem:
        raise BridgeError(
            f"the bytes are no {kind} of this contract (broken rule: {problem}); send what encode_request or "
            "encode_result makes"
        )
    return kept.value, kept.dropped


def _has_place(name: str, value: object) -> bool:
    """True if a TaskResponse has a field of this name and type."""
    if name in _STRINGS:
        return isinstance(value, str)
    if name in _LISTS:
        return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return name == "key_outputs"


def _unsendable(kind: str, error: Exception) -> BridgeError:
    # The library's own message quotes the value.
    return BridgeError(
        f"a {kind} holds a value that has no place in the contract ({type(error).__name__}); allowed are "
        'UTF-8 text, lists of it, and JSON inside inputs and key outputs, for example {"answer": "42"}'
    )
