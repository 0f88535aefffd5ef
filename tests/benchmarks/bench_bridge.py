"""Bytes and microseconds of a task's request and response: protobuf, fully typed protobuf, JSON, msgpack.

Answers when the article's claim (000, 3.1: protobuf is 63 % smaller than JSON) is true. The messages are the
article's own (000, 4.4: JSON inside `bytes`); the typed ones have a field for each value. All are written and
read by their libraries alone, in turn, in one run; the last lines are the whole bridge, checks included.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from isolation_kit.runtime import Status, SubAgentResult, TaskBrief, keyed_digest
from isolation_kit.runtime.bridge import (
    TaskRequest,
    decode_request,
    decode_result,
    encode_request,
    encode_result,
)
from isolation_kit.runtime.text import canonical
from isolation_kit.targets.reference import WORKER

Codec = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]

_STRING, _INT32, _MESSAGE, _BYTES, _DOUBLE, _SINT64 = 9, 5, 11, 12, 1, 18
_REQUEST = {"task_id": "t_abc123", "executor": "bill_agent_v2", "timeout_ms": 3000}
_ITEM = {"name": "data plan", "amount": 129.5, "date": "2024-05-01"}
_SCHEMAS: dict[str, tuple[tuple[str, int, str], ...]] = {
    "Request": (
        ("task_id", _STRING, ""),
        ("executor", _STRING, ""),
        ("params", _BYTES, ""),
        ("timeout_ms", _INT32, ""),
    ),
    "Response": (("task_id", _STRING, ""), ("status", _INT32, ""), ("result", _BYTES, "")),
    "Params": (("user_id", _STRING, ""), ("month", _STRING, "")),
    "TypedRequest": (
        ("task_id", _STRING, ""),
        ("executor", _STRING, ""),
        ("params", _MESSAGE, "Params"),
        ("timeout_ms", _INT32, ""),
    ),
    "Item": (("name", _STRING, ""), ("amount", _DOUBLE, ""), ("date", _STRING, "")),
    "Result": (
        ("amount", _DOUBLE, ""),
        ("date", _STRING, ""),
        ("items", _MESSAGE, "*Item"),
        ("text", _STRING, ""),
        ("numbers", _SINT64, "*"),
    ),
    "TypedResponse": (("task_id", _STRING, ""), ("status", _INT32, ""), ("result", _MESSAGE, "Result")),
}


def samples() -> dict[str, tuple[str, dict[str, Any]]]:
    """Kind of message and its content, as JSON values."""
    answer: dict[str, Any] = {"task_id": "t_abc123", "status": 1}
    return {
        "article's request": ("Request", {**_REQUEST, "params": {"user_id": "U_8a3f", "month": "2024-05"}}),
        "article's response": ("Response", {**answer, "result": {"amount": 129.5, "date": "2024-05-01"}}),
        "ten items": ("Response", {**answer, "result": {"items": [_ITEM] * 10}}),
        "14 kB of items": ("Response", {**answer, "result": {"items": [_ITEM] * 240}}),
        "14 kB of text": ("Response", {**answer, "result": {"text": "The bill of May. " * 823}}),
        "14 kB of small ints": (
            "Response",
            {**answer, "result": {"numbers": [n % 100 for n in range(4900)]}},
        ),
    }


def classes() -> dict[str, Any]:
    """The message classes, built from `_SCHEMAS` without a .proto of their own."""
    file = descriptor_pb2.FileDescriptorProto(name="bench.proto", package="bench", syntax="proto3")
    for name, fields in _SCHEMAS.items():
        message = file.message_type.add(name=name)
        for number, (field, kind, of) in enumerate(fields, 1):
            added = message.field.add(name=field, number=number, type=kind, label=3 if "*" in of else 1)
            if kind == _MESSAGE:
                added.type_name = f".bench.{of.lstrip('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"bench.{name}"))
        for name in _SCHEMAS
    }


def codecs(kind: str, made: dict[str, Any]) -> dict[str, Codec]:
    """Each way to write and read a message of `kind`. JSON comes first: the others are compared with it."""
    payload = "params" if kind == "Request" else "result"

    def inside(value: dict[str, Any]) -> bytes:
        data: bytes = made[kind](**{**value, payload: canonical(value[payload]).encode()}).SerializeToString()
        return data

    def outside(data: bytes) -> dict[str, Any]:
        return {name.name: json.loads(v) if name.name == payload else v for name, v in _listed(kind, data)}

    def _listed(of: str, data: bytes) -> Any:
        return made[of].FromString(data).ListFields()

    def typed(value: dict[str, Any]) -> bytes:
        data: bytes = made[f"Typed{kind}"](**value).SerializeToString()
        return data

    def untyped(data: bytes) -> dict[str, Any]:
        return _plain(made[f"Typed{kind}"].FromString(data))

    out: dict[str, Codec] = {
        "JSON": (lambda value: canonical(value).encode(), json.loads),
        "JSON, with spaces": (lambda value: json.dumps(value).encode(), json.loads),
        "protobuf, JSON inside": (inside, outside),
        "protobuf, typed": (typed, untyped),
    }
    if find_spec("msgpack"):
        import msgpack

        out["msgpack"] = (msgpack.packb, msgpack.unpackb)
    return out


def _plain(message: Any) -> dict[str, Any]:
    """A typed message as the dict that JSON would give: what a caller works with."""
    out: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.type == _MESSAGE:
            many = not hasattr(value, "ListFields")
            out[field.name] = [_plain(item) for item in value] if many else _plain(value)
        else:
            out[field.name] = value if isinstance(value, str | int | float) else list(value)
    return out


def microseconds(*calls: Callable[[], Any], rounds: int) -> list[float]:
    """The best of nine for each of `calls`, taken in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(9):
        for number, call in enumerate(calls):
            start = time.process_time()
            for _ in range(rounds):
                call()
            best[number] = min(best[number], (time.process_time() - start) / rounds * 1e6)
    return best


def main(rounds: int = 300) -> None:
    """Print bytes, the share saved of compact and of spaced JSON, and microseconds; then the bridge's own."""
    made = classes()
    most: dict[str, tuple[float, str]] = {}
    print(f"{'':20} {'':22}{'bytes':>7}{'saved':>8}{'of spaced':>11}{'write us':>10}{'read us':>9}")
    for name, (kind, value) in samples().items():
        ways = codecs(kind, made)
        times = timed(ways, value, rounds)
        size = {way: len(write(value)) for way, (write, _) in ways.items()}
        for way in ways:
            saved, of_spaced = (1 - size[way] / size[base] for base in ("JSON", "JSON, with spaces"))
            writing, reading = times[way]
            print(
                f"{name:20} {way:22}{size[way]:7}{saved:8.0%}{of_spaced:11.0%}{writing:10.1f}{reading:9.1f}"
            )
            most[way] = max(most.get(way, (0.0, "")), (of_spaced, name))
    bridge(rounds)
    for way in ("protobuf, JSON inside", "protobuf, typed"):
        share, name = most[way]
        print(f"claimed 63 %: {way} saves at most {share:.0%} of spaced JSON ({name})")


def timed(ways: dict[str, Codec], value: Any, rounds: int) -> dict[str, tuple[float, float]]:
    """Microseconds to write and to read `value`, each way, after proof that each reads what it wrote."""
    calls: list[Callable[[], Any]] = []
    for way, (write, read) in ways.items():
        data = write(value)
        assert read(data) == value, way
        calls += [partial(write, value), partial(read, data)]
    size = len(canonical(value))
    times = microseconds(*calls, rounds=max(rounds * 100 // size, 20))
    return {way: (times[2 * n], times[2 * n + 1]) for n, way in enumerate(ways)}


def bridge(rounds: int) -> None:
    """The reference worker's own request and response, through every check of the bridge."""
    digest = keyed_digest(b"bench")
    tools = tuple(tool.name for tool in WORKER.tools)
    inputs = {"request": "find the bill of May for U_8a3f and say what it is"}
    brief = TaskBrief(
        f"t_{'0' * 16}", WORKER.goal, inputs, tools, ("task",), WORKER.acceptance, WORKER.outputs
    )
    request = TaskRequest("worker", brief, 3000)
    text = "The bill of May is 129.5 CNY."
    result = SubAgentResult(brief.task_id, Status.SUCCEEDED, {"answer": text}, text).to_dict()
    down, up = encode_request(request), encode_result(result)
    times = microseconds(
        lambda: encode_request(request),
        lambda: decode_request(down, WORKER.request_fields, WORKER.outputs, digest),
        lambda: encode_result(result),
        lambda: decode_result(up, WORKER.result_fields, digest),
        rounds=rounds * 3,
    )
    as_json = canonical({"executor": "worker", "brief": brief.to_dict(), "timeout_ms": 3000}).encode()
    for name, data, plain, way in (
        ("bridge: request", down, as_json, times[:2]),
        ("bridge: response", up, canonical(result).encode(), times[2:]),
    ):
        saved = 1 - len(data) / len(plain)
        print(f"{name:20} {'as sent':22}{len(data):7}{saved:8.0%}{'':11}{way[0]:10.1f}{way[1]:9.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
