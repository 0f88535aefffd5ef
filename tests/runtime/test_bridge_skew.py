"""Two versions of the contract: new fields break no old side, and undeclared ones pass at no version."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import (
    CLEAN,
    AllowList,
    BridgeError,
    ChildSpec,
    ModelReply,
    ParentScope,
    Status,
    SubAgentResult,
    TaskBrief,
    delegate,
)
from isolation_kit.runtime.bridge import (
    TaskRequest,
    decode_request,
    decode_result,
    encode_request,
    encode_result,
)
from isolation_kit.runtime.text import Digest, keyed_digest
from isolation_kit.runtime.wire import contract_pb2 as wire
from isolation_kit.runtime.wire import message as wire_message

DIGEST = keyed_digest(b"k")
INPUTS = {"type": "object", "required": ["request"], "properties": {"request": {"type": "string"}}}
SPEC = ChildSpec("worker", "Do it.", (), INPUTS)
REQUEST = TaskRequest(
    "worker", TaskBrief("t_1", "Do it.", {"request": "x"}, output_schema=SPEC.outputs), 3000
)
RESULT = SubAgentResult("t_1", Status.SUCCEEDED, {"answer": "42"}, "42")


@cache
def later(minor: int) -> dict[str, Any]:
    """The messages of contract 1.`minor`: each minor adds a text field to each message."""
    file = descriptor_pb2.FileDescriptorProto()
    wire.DESCRIPTOR.CopyToProto(file)
    for message in file.message_type:
        for number in range(1, minor + 1):
            message.field.add(name=f"new_{number}", number=100 * number, type=9, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessages([file], pool=pool)


def newer(kind: str, data: bytes, minor: int, **texts: str) -> Any:
    """The message of `data` as a sender at 1.`minor` writes it, with its new fields."""
    message = later(minor)[f"{wire.DESCRIPTOR.package}.{kind}"].FromString(data)
    message.contract_minor = minor
    for name, text in texts.items():
        setattr(message, name, text)
    return message


def read(data: bytes) -> Any:
    """Decode a request to the worker."""
    return decode_request(data, SPEC.request_fields, SPEC.outputs, DIGEST)


@given(st.integers(1, 3), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9))
def test_a_newer_parent_does_not_break_an_old_child(minor: int, text: str) -> None:
    """What the newer version declares is dropped and counted as skew."""
    message = newer("TaskRequest", encode_request(REQUEST), minor, **{f"new_{minor}": text})
    message.brief.new_1 = text
    got, dropped = read(message.SerializeToString())
    assert got == REQUEST
    assert [(item.path, item.skew) for item in dropped] == [(f"#{100 * minor}", True), ("brief.#100", True)]


def test_a_newer_child_does_not_break_an_old_parent() -> None:
    """The same on the way up."""
    message = newer("TaskResponse", encode_result(RESULT.to_dict()), 1, new_1="x")
    got, dropped = decode_result(message.SerializeToString(), SPEC.result_fields, DIGEST)
    assert got == RESULT
    assert [(item.path, item.skew) for item in dropped] == [("#100", True)]


@pytest.mark.parametrize("stated", [0, 1], ids=["same version", "newer version"])
def test_what_the_senders_own_version_does_not_declare_is_pollution(stated: int) -> None:
    """A field of 1.2 from a sender at 1.1 or 1.0 is nobody's, and so is one between the numbers of 1.0."""
    message = newer("TaskRequest", encode_request(REQUEST), 2, new_2="secret")
    message.contract_minor = stated
    got, dropped = read(message.SerializeToString() + b"\x7a\x06secret")
    assert got == REQUEST
    assert {(item.path, item.skew) for item in dropped} == {("#200", False), ("#15", False)}


def test_a_newer_version_is_no_excuse_for_undeclared_json() -> None:
    """Keys belong to the executor's schema: pollution at every version."""
    raw = {**RESULT.to_dict(), "debug": 1, "key_outputs": {"answer": "42", "trace_id": 1}}
    data = newer("TaskResponse", encode_result(raw), 1).SerializeToString()
    got, dropped = decode_result(data, SPEC.result_fields, DIGEST)
    assert got == RESULT
    assert {(item.path, item.skew) for item in dropped} == {("debug", False), ("key_outputs.trace_id", False)}


def test_an_older_sender_leaves_new_fields_at_their_defaults() -> None:
    """A side at 1.1 reads 1.0, and finds nothing in what 1.0 does not know."""
    message = later(1)[f"{wire.DESCRIPTOR.package}.TaskRequest"].FromString(encode_request(REQUEST))
    assert (message.executor, message.contract_minor, message.new_1) == ("worker", 0, "")


@pytest.mark.parametrize("minor", [0, 1], ids=["older sender", "same version"])
def test_a_newer_receiver_knows_all_that_its_version_declares(
    minor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 1.1 itself, an unknown number in the block of 1.1 is pollution, for 1.1 would know it."""
    message = newer("TaskRequest", encode_request(REQUEST), 1, new_1="x")
    message.contract_minor = minor
    monkeypatch.setattr(wire_message, "CONTRACT", (1, 1))
    got, dropped = read(message.SerializeToString())
    assert got == REQUEST
    assert [(item.path, item.skew) for item in dropped] == [("#100", False)]


@pytest.mark.parametrize("major", [0, 2], ids=["no version", "next"])
def test_another_major_version_is_refused_with_the_way_out(major: int) -> None:
    """Neither side can know what the other one means."""
    message = wire.TaskRequest.FromString(encode_request(REQUEST))
    message.contract_major = major
    with pytest.raises(BridgeError, match=rf"contract {major}\.0; this side reads 1\.x only: deploy"):
        read(message.SerializeToString())


@pytest.mark.parametrize(("minor", "moment"), [(1, "skewed"), (0, "pollution")], ids=["skew", "pollution"])
def test_skew_and_pollution_have_a_hook_each(
    minor: int, moment: str, rig: Callable[..., Any], worker: ChildSpec
) -> None:
    """The same unknown field, from a sender that declares it and from one that does not."""

    def with_field(data: bytes, declared: AllowList, digest: Digest) -> Any:
        message = newer("TaskResponse", data, 1, new_1="secret")
        message.contract_minor = minor
        return decode_result(message.SerializeToString(), declared, digest)

    made = rig({"worker": [ModelReply("42")]}, parts=replace(CLEAN, read_result=with_field))
    result = asyncio.run(delegate(made.runtime, ParentScope("u", "s"), worker, {"request": "x"}))
    assert result.key_outputs == {"answer": "42"}
    seen = {name: [args[2].path for args in made.watcher.named(name)] for name in ("skewed", "pollution")}
    assert seen == {"skewed": [], "pollution": [], moment: ["#100"]}
