"""Reading a message of `contract.proto`: its version, the fields that it declares, and those that nobody did.

**Two versions.** Each message states the contract it was written under, `major.minor`.

- Another major: refused. Neither side can know what the other one means.
- The sender's minor is newer: fields that a later minor added are dropped and counted as skew, for whoever
  wrote them did declare them. Which they are, their number says: 1.m adds the numbers 100*m to 100*m + 99.
- The sender's minor is older: the fields that it does not know keep their defaults. A minor version may
  therefore add no required field.
- Whatever neither side's version declares is dropped and reported as pollution, by every receiver.

A sender that claims a newer minor than it has gets nothing through: skew is dropped like pollution, under
another name. Keys inside the JSON belong to the executor's schema, not to this contract: an executor with a
new input is a new executor (`bill_agent_v2`), and an undeclared key is pollution at every version.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from isolation_kit.errors import IsolationKitError
from isolation_kit.runtime.fields import REPORTS, Dropped
from isolation_kit.runtime.text import Digest
from isolation_kit.strictjson import MAX_BYTES, loads

__all__ = ["CONTRACT", "BridgeError", "open_message"]

CONTRACT = (1, 0)
_NUMBERS = 100  # how many field numbers a minor version has for its new fields
_WIRE_TYPES = {0: "varint", 1: "fixed64", 2: "bytes", 3: "group", 5: "fixed32"}


class BridgeError(IsolationKitError):
    """Bytes that are no message of the contract; says which rule is broken, never with what."""


def open_message(message: Message, data: bytes, digest: Digest) -> tuple[dict[str, Any], list[Dropped]]:
    """What `data` says in the declared fields of `message`, as JSON values; and what else it says.

    Args:
        message: an empty message of the expected type.

    Raises:
        StrictJSONError: if a `bytes` field is no strict JSON.
        BridgeError: for bytes that are no protobuf, of another major version, or with two values for a field.
    """
    if len(data) > MAX_BYTES:
        raise BridgeError(f"{len(data)} bytes are too many for a message; at most {MAX_BYTES} are read")
    try:
        message.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError):  # the latter from protobuf's pure Python reader
        raise BridgeError(
            "the bytes are no protobuf, or cut short; send what encode_request or encode_result makes"
        ) from None
    major, minor = message.contract_major, message.contract_minor
    if major != CONTRACT[0]:
        raise BridgeError(
            f"a message of contract {major}.{minor}; this side reads {CONTRACT[0]}.x only: deploy parent and "
            "executor with the same major version of contract.proto"
        )
    # Protobuf lets a later field overwrite an earlier one: two readers could disagree on what was said.
    if message.ByteSize() != len(data):
        raise BridgeError("a message that says a field twice, or not in its shortest form; encode it anew")
    unknown: list[Dropped] = []
    raw = _read(message, "", minor, digest, unknown)
    if unknown:
        if more := _unknown(message) - len(unknown):
            unknown.append(Dropped("", "rest", more, ""))
        message.DiscardUnknownFields()
    del raw["contract_major"]
    raw.pop("contract_minor", None)
    return raw, unknown


def _read(message: Message, path: str, minor: int, digest: Digest, unknown: list[Dropped]) -> dict[str, Any]:
    """The fields of `message` that were sent; a `bytes` field is the document that it holds."""
    for item in islice(UnknownFieldSet(message), max(0, REPORTS - len(unknown))):
        payload = _payload(item.wire_type, item.data)
        number = item.field_number
        skew = CONTRACT[1] < number // _NUMBERS <= minor
        kind = _WIRE_TYPES[item.wire_type]
        unknown.append(Dropped(f"{path}#{number}", kind, len(payload), digest(payload), skew))
    out: dict[str, Any] = {}
    for field, value in message.ListFields():
        name = field.name
        if isinstance(value, str | int):
            out[name] = value
        elif isinstance(value, bytes):
            out[name] = loads(value)
        elif isinstance(value, Message):
            out[name] = _read(value, f"{path}{name}.", minor, digest, unknown)
        else:
            out[name] = value[:]
    return out


def _unknown(message: Message) -> int:
    """How many unknown fields `message` and the messages in it have."""
    inner = (value for _, value in message.ListFields() if isinstance(value, Message))
    return len(UnknownFieldSet(message)) + sum(map(_unknown, inner))


def _payload(wire_type: int, data: Any) -> bytes:
    """What an unknown field holds, as bytes: numbers big-endian, groups field by field."""
    if isinstance(data, int):
        size = {1: 8, 5: 4}.get(wire_type) or (data.bit_length() + 7) // 8
        return data.to_bytes(size)
    if wire_type == 2:
        return bytes(data)
    return b"".join(_payload(item.wire_type, item.data) for item in data)
