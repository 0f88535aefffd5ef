"""Frames and what they carry: whatever bytes come, there is a value or the kit's error with a reason."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import UsageError
from isolation_kit.runtime import Message, ModelReply, TaskBrief, ToolCall
from isolation_kit.runtime.process.frames import Frame, FrameError, FrameReader, Kind, packed, values
from isolation_kit.runtime.process.plain import (
    brief_of,
    call_of,
    drops_of,
    messages_of,
    named,
    plain_brief,
    plain_messages,
    plain_reply,
    reply_of,
)
from isolation_kit.runtime.result import Reason

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)
texts = st.text(st.characters(), max_size=8)  # lone surrogates as well: a model can say them
calls = st.builds(ToolCall, texts, texts, st.dictionaries(st.text(max_size=3), json_values, max_size=3))
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    texts,
    st.lists(calls, max_size=2).map(tuple),
)


@given(st.lists(st.tuples(st.sampled_from(list(Kind)), json_values), max_size=5), st.integers(1, 7))
def test_frames_arrive_as_they_were_sent_in_whatever_pieces(sent: list[Any], size: int) -> None:
    """Cut anywhere, the same kinds and values come out, in order."""
    stream = b"".join(packed(kind, value) for kind, value in sent)
    reader, got = FrameReader(1 << 20, 1 << 20), []
    for start in range(0, len(stream), size):
        reader.feed(stream[start : start + size])
        while (frame := reader.next()) is not None:
            got.append((frame.kind, values(frame)))
    assert got == sent


@given(st.binary(max_size=200))
def test_random_bytes_give_frames_or_a_reason(data: bytes) -> None:
    """No other exception, and the reason is one that a parent can tell."""
    reader = FrameReader(100, 150)

    def reason() -> str:
        try:
            reader.feed(data)
            while (frame := reader.next()) is not None:
                values(frame)
        except FrameError as error:
            return str(error)
        return "bad_frame"

    assert Reason(reason()) in (Reason.BAD_FRAME, Reason.OUTPUT_LIMIT)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'{"a":' * 9000, b"nul", b"\xff", b"1" * 5000], ids=range(5)
)
def test_json_that_harms_a_reader_is_a_bad_frame(data: bytes) -> None:
    """Deep nesting, broken text and endless digits are refused."""
    with pytest.raises(FrameError, match="bad_frame"):
        values(Frame(Kind.MODEL, data))


@given(json_values)
def test_only_known_shapes_come_back(raw: Any) -> None:
    """Any JSON value is a message, a call, something dropped, or a bad frame."""
    for read in (messages_of, call_of, drops_of):
        with contextlib.suppress(FrameError):
            read(raw)


@given(
    st.lists(messages, max_size=4).map(tuple),
    st.builds(ModelReply, texts, st.lists(calls, max_size=2).map(tuple)),
)
def test_messages_and_replies_survive_the_pipe(sent: Any, reply: ModelReply) -> None:
    """Text of any kind, lone surrogates included, is the same on the other side."""
    assert messages_of(json.loads(json.dumps(plain_messages(sent)))) == sent
    assert reply_of(json.loads(json.dumps(plain_reply(reply)))) == reply


@given(
    st.builds(TaskBrief, texts, texts, st.dictionaries(texts, texts, max_size=3), st.lists(texts).map(tuple))
)
def test_a_brief_survives_the_pipe(brief: TaskBrief) -> None:
    """Every field, the output schema too."""
    assert brief_of(json.loads(json.dumps(plain_brief(brief)))) == brief


def test_a_token_counter_without_a_name_is_refused() -> None:
    """The child could not find it; the error says what to give instead."""
    with pytest.raises(UsageError, match="my_app"):
        named(lambda text: len(text))
    assert named(brief_of) == "isolation_kit.runtime.process.plain:brief_of"
