"""The bridge: declared fields cross unchanged, others are dropped and reported, garbage raises one error."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime import BridgeError, ChildSpec, Status, SubAgentResult, TaskBrief
from isolation_kit.runtime.bridge import (
    TaskRequest,
    decode_request,
    decode_result,
    encode_request,
    encode_result,
    seen_result,
)
from isolation_kit.runtime.fields import REPORTS
from isolation_kit.runtime.text import keyed_digest
from isolation_kit.runtime.wire import contract_pb2 as wire

DIGEST = keyed_digest(b"k")
INPUTS = {"type": "object", "required": ["request"], "properties": {"request": {"type": "string"}}}
SPEC = ChildSpec("worker", "Do it.", (), INPUTS)
readable = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
words = st.lists(readable, max_size=3).map(tuple)


def request(text: str = "x", **changes: Any) -> TaskRequest:
    """A request to the worker."""
    brief = TaskBrief("t_1", "Do it.", {"request": text}, output_schema=SPEC.outputs, **changes)
    return TaskRequest("worker", brief, 3000)


def read(data: bytes) -> Any:
    """Decode a request to the worker."""
    return decode_request(data, SPEC.request_fields, SPEC.outputs, DIGEST)


@given(readable, words, words, readable)
def test_a_request_arrives_as_it_was_sent(
    text: str, constraints: tuple[str, ...], acceptance: tuple[str, ...], constants: str
) -> None:
    """Every declared field survives the wire."""
    sent = request(text, constraints=constraints, acceptance=acceptance, global_context=constants)
    assert read(encode_request(sent)) == (sent, ())


references = st.from_regex("artifact_[0-9a-f]{16}", fullmatch=True)
reasons = st.sampled_from(["timeout", "loop_detected"])


@given(st.sampled_from(list(Status)), readable, st.tuples(references), st.tuples(reasons))
def test_a_result_arrives_as_it_was_sent(
    status: Status, text: str, artifacts: tuple[str, ...], errors: tuple[str, ...]
) -> None:
    """Every declared field survives the wire."""
    sent = SubAgentResult("t_1", status, {"answer": text}, text[:200], artifacts, errors)
    assert decode_result(encode_result(sent.to_dict()), SPEC.result_fields, DIGEST) == (sent, ())


@pytest.mark.parametrize("keys", [("history",), ("note", "debug")], ids=["top", "nested"])
def test_undeclared_keys_inside_the_inputs_are_dropped_and_reported(keys: tuple[str, ...]) -> None:
    """At every depth, and never with the value."""
    inputs = {"type": "object", "properties": {"note": {"type": "object", "properties": {}}}}
    spec = ChildSpec("worker", "Do it.", (), inputs)
    value: Any = "secret words"
    for key in reversed(keys):
        value = {key: value}
    message = wire.TaskRequest.FromString(encode_request(request()))
    message.brief.inputs = json.dumps(value).encode()
    _, dropped = decode_request(message.SerializeToString(), spec.request_fields, spec.outputs, DIGEST)
    assert [item.path for item in dropped] == [".".join(("brief", "inputs", *keys))]
    assert "secret" not in repr(dropped)


@pytest.mark.parametrize("where", ["", "brief."], ids=["top", "brief"])
@pytest.mark.parametrize(
    ("tail", "kind", "length"),
    [
        (b"\x7a\x06secret", "bytes", 6),
        (b"\x78\xac\x02", "varint", 2),
        (b"\x7d\x01\x02\x03\x04", "fixed32", 4),
        (b"\x79" + bytes(8), "fixed64", 8),
        (b"\x7b\x0a\x06secret\x7c", "group", 6),
    ],
    ids=["bytes", "varint", "fixed32", "fixed64", "group"],
)
def test_unknown_protobuf_fields_are_dropped_and_reported(
    where: str, tail: bytes, kind: str, length: int
) -> None:
    """By number, wire type and length, in nested messages too."""
    message = wire.TaskRequest.FromString(encode_request(request()))
    (message.brief if where else message).MergeFromString(tail)
    got, (dropped,) = read(message.SerializeToString())
    assert got == request()
    assert (dropped.path, dropped.kind, dropped.length, dropped.skew) == (f"{where}#15", kind, length, False)
    assert "secret" not in repr(dropped)


@pytest.mark.parametrize("extra", [0, 1, 5000])
def test_a_flood_of_unknown_protobuf_fields_is_counted_and_not_told_one_by_one(extra: int) -> None:
    """256 reports and one for the rest, those in nested messages among them."""
    message = wire.TaskRequest.FromString(encode_request(request()))
    message.brief.MergeFromString(b"\x78\x01" * 6)
    message.MergeFromString(b"\x78\x01" * (REPORTS - 6 + extra))
    got, dropped = read(message.SerializeToString())
    assert got == request()
    assert sum(item.kind == "varint" for item in dropped) == REPORTS
    assert [item.length for item in dropped if item.kind == "rest"] == [extra] * bool(extra)


def test_the_digest_of_an_unknown_field_is_keyed() -> None:
    """Equal values are seen to be equal by the holder of the key, and by nobody else."""
    data = encode_request(request()) + b"\x7a\x06secret"
    same, again, other = (
        decode_request(data, SPEC.request_fields, SPEC.outputs, digest)[1][0].digest
        for digest in (DIGEST, DIGEST, keyed_digest(b"other"))
    )
    assert same == again == DIGEST(b"secret")
    assert same != other


@pytest.mark.parametrize("field", ["debug", "messages"])
def test_undeclared_fields_of_a_result_are_dropped_and_reported(field: str) -> None:
    """Scratch work has no way up, beside the outputs or inside them."""
    raw = SubAgentResult("t_1", Status.SUCCEEDED, {"answer": "a"}).to_dict()
    leaky = {**raw, field: ["x"], "key_outputs": {"answer": "a", field: ["x"]}}
    got, dropped = decode_result(encode_result(leaky), SPEC.result_fields, DIGEST)
    assert got.key_outputs == {"answer": "a"}
    assert {item.path for item in dropped} == {field, f"key_outputs.{field}"}


def test_a_declared_name_of_another_type_is_dropped_and_reported() -> None:
    """A summary that is an object is no summary: it crosses as an extension, and stays outside."""
    raw = {**SubAgentResult("t_1", Status.SUCCEEDED).to_dict(), "summary": {"messages": ["x"]}}
    got, dropped = decode_result(encode_result(raw), SPEC.result_fields, DIGEST)
    assert got == SubAgentResult("t_1", Status.SUCCEEDED)
    assert [item.path for item in dropped] == ["summary"]


def test_an_extension_cannot_say_a_declared_field_again() -> None:
    """Two values for one field are refused, not ranked."""
    message = wire.TaskResponse.FromString(encode_result(SubAgentResult("t_1", Status.FAILED).to_dict()))
    message.extensions = b'{"status": "succeeded"}'
    with pytest.raises(BridgeError, match="again"):
        decode_result(message.SerializeToString(), SPEC.result_fields, DIGEST)


def test_a_field_that_is_said_twice_is_refused() -> None:
    """Protobuf takes the last one; here two values for one field are no value."""
    with pytest.raises(BridgeError, match="twice"):
        read(encode_request(request()) + wire.TaskRequest(executor="other").SerializeToString())


@pytest.mark.parametrize(
    "inner",
    [
        b'{"request": "a", "request": "b"}',
        b'{"request": "a"} // b',
        b'{"request": NaN}',
        b"\xff",
        b"[" * 9999,
    ],
    ids=["twice", "comment", "nan", "no utf-8", "deep"],
)
def test_the_inner_json_is_strict(inner: bytes) -> None:
    """What two readers could read differently is refused."""
    message = wire.TaskRequest.FromString(encode_request(request()))
    message.brief.inputs = inner
    with pytest.raises(StrictJSONError):
        read(message.SerializeToString())


ERRORS = (BridgeError, StrictJSONError)


@pytest.mark.parametrize(
    "tail",
    [b"\x7b" * 9999, b"\x7b" * 90 + b"\x7c" * 90, b"\x7b" * 9999 + b"\x7c" * 9999, bytes(17 * 2**20)],
    ids=["open groups", "deep groups", "deeper groups", "17 MiB"],
)
def test_deep_and_large_bytes_raise_the_kits_own_error_or_are_dropped(tail: bytes) -> None:
    """Neither a stack nor the memory runs out."""
    try:
        got, dropped = read(encode_request(request()) + tail)
    except BridgeError:
        return
    assert (got, [item.path for item in dropped]) == (request(), ["#15"])


@given(st.binary(max_size=80))
def test_random_bytes_raise_the_kits_own_error(data: bytes) -> None:
    """Nothing but the kit's error comes out of garbage."""
    for decode in (read, seen_result, lambda raw: decode_result(raw, SPEC.result_fields, DIGEST)):
        with pytest.raises(ERRORS):
            decode(data)


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """`data` with a few bytes replaced, removed or inserted, or a piece of it repeated."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(start + 6, len(data))))
        data = data[:start] + draw(st.binary(max_size=6) | st.just(data[start:end] * 2)) + data[end:]
    return data


@given(mutated(encode_request(request("一二三"))))
def test_a_mutated_request_decodes_or_raises_the_kits_own_error(data: bytes) -> None:
    """Whatever was changed: a request, or the kit's error."""
    try:
        got, _ = read(data)
    except ERRORS:
        return
    assert isinstance(got, TaskRequest)


@given(
    mutated(encode_result({**SubAgentResult("t_1", Status.FAILED, {"answer": "一"}).to_dict(), "debug": 1}))
)
def test_a_mutated_result_decodes_or_raises_the_kits_own_error(data: bytes) -> None:
    """Whatever was changed: a result without the debug field, or the kit's error."""
    try:
        got, _ = decode_result(data, SPEC.result_fields, DIGEST)
    except ERRORS:
        return
    assert isinstance(got.status, Status)
    assert "debug" not in got.to_dict()


@pytest.mark.parametrize("missing", ["executor", "brief", "timeout_ms"])
def test_a_missing_field_is_named_by_rule(missing: str) -> None:
    """An incomplete request is refused."""
    message = wire.TaskRequest.FromString(encode_request(request()))
    message.ClearField(missing)
    with pytest.raises(BridgeError, match="required"):
        read(message.SerializeToString())


@pytest.mark.parametrize(
    "sent",
    [request("\ud800"), request(constraints=("\ud800",)), replace(request(), timeout_ms=2**40)],
    ids=["surrogate in inputs", "surrogate in a text", "number too large"],
)
def test_what_the_contract_cannot_hold_is_not_sent(sent: TaskRequest) -> None:
    """The sender hears it, in the kit's own words."""
    with pytest.raises(BridgeError, match="no place in the contract"):
        encode_request(sent)


@pytest.mark.parametrize("odd", [{1, 2}, float("nan"), "\ud800"], ids=["set", "nan", "surrogate"])
@pytest.mark.parametrize("field", ["key_outputs", "debug"])
def test_a_result_that_is_no_json_is_not_sent(field: str, odd: Any) -> None:
    """A result that cannot be written down stays below."""
    raw = {**SubAgentResult("t_1", Status.SUCCEEDED).to_dict(), field: {"answer": odd}}
    with pytest.raises(BridgeError, match="no place in the contract"):
        encode_result(raw)
