"""The bridge: declared fields cross unchanged, others are dropped and reported, garbage raises one error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import IsolationKitError
from isolation_kit.runtime import BridgeError, ChildSpec, Status, SubAgentResult, TaskBrief
from isolation_kit.runtime.bridge import (
    TaskRequest,
    decode_request,
    decode_result,
    encode_request,
    encode_result,
)
from isolation_kit.runtime.text import keyed_digest

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


@given(st.sampled_from(list(Status)), readable, words, words)
def test_a_result_arrives_as_it_was_sent(
    status: Status, text: str, artifacts: tuple[str, ...], errors: tuple[str, ...]
) -> None:
    """Every declared field survives the wire."""
    sent = SubAgentResult("t_1", status, {"answer": text}, text, artifacts, errors)
    assert decode_result(encode_result(sent.to_dict()), SPEC.result_fields, DIGEST) == (sent, ())


@pytest.mark.parametrize("where", [(), ("brief",), ("brief", "inputs")], ids=["top", "brief", "inputs"])
def test_undeclared_fields_of_a_request_are_dropped_and_reported(where: tuple[str, ...]) -> None:
    """At every depth, and never with the value."""
    raw = json.loads(encode_request(request()))
    spot = raw
    for name in where:
        spot = spot[name]
    spot["history"] = "secret words"
    got, dropped = read(json.dumps(raw).encode())
    assert got == request()
    assert [item.path for item in dropped] == [".".join((*where, "history"))]
    assert "secret" not in repr(dropped)


@pytest.mark.parametrize("field", ["debug", "messages"])
def test_undeclared_fields_of_a_result_are_dropped_and_reported(field: str) -> None:
    """Scratch work has no way up, beside the outputs or inside them."""
    raw = SubAgentResult("t_1", Status.SUCCEEDED, {"answer": "a"}).to_dict()
    leaky = {**raw, field: ["x"], "key_outputs": {"answer": "a", field: ["x"]}}
    got, dropped = decode_result(encode_result(leaky), SPEC.result_fields, DIGEST)
    assert got.key_outputs == {"answer": "a"}
    assert {item.path for item in dropped} == {field, f"key_outputs.{field}"}


@given(st.binary(max_size=80))
def test_random_bytes_raise_the_kits_own_error(data: bytes) -> None:
    """Nothing but the kit's error comes out of garbage."""
    for decode in (read, lambda raw: decode_result(raw, SPEC.result_fields, DIGEST)):
        with pytest.raises(IsolationKitError):
            decode(data)


@given(st.data())
def test_mutated_bytes_decode_or_raise_the_kits_own_error(data: st.DataObject) -> None:
    """One byte changed anywhere: a request, or the kit's error."""
    raw = bytearray(encode_request(request("一二三")))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        got, _ = read(bytes(raw))
    except IsolationKitError:
        return
    assert isinstance(got, TaskRequest)


@pytest.mark.parametrize("missing", ["executor", "brief", "timeout_ms"])
def test_a_missing_field_is_named_by_rule(missing: str) -> None:
    """An incomplete request is refused."""
    raw = json.loads(encode_request(request()))
    del raw[missing]
    with pytest.raises(BridgeError, match="required"):
        read(json.dumps(raw).encode())
