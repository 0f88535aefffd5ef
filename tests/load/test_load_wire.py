"""What stands beside a body is told apart from it, however an answer is cut into chunks and parts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolation_kit.load.wire import HeadTooLongError, Record, beside_body

HINTS, HEAD = b"HTTP/1.1 103 Early Hints\r\nLink: a", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"


@settings(max_examples=30)
@given(chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=5), size=st.integers(1, 60))
def test_chunks_are_no_part_of_what_stands_beside_them(chunks: list[bytes], size: int) -> None:
    """Both heads, each extension and the trailer are; a body may look like any of them."""
    framed = b"".join(b"%x;e\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    sent = HINTS + b"\r\n\r\n" + HEAD + b"\r\n\r\n" + framed + b"0\r\nX-T: t\r\n\r\n"
    record = Record()
    for at in range(0, len(sent), size):
        record.add(sent[at : at + size])
    came = record.take()
    assert (came, record.take()) == (sent, b"")
    assert beside_body(came) == b"\n".join((HINTS, HEAD, *[b"e\r"] * len(chunks), b"X-T: t\r\n\r\n"))


def test_what_follows_the_body_stands_beside_it() -> None:
    """A second answer behind the first is judged, and so is a head that never ended."""
    sent = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyHTTP/1.1 200 more"
    assert beside_body(sent) == b"HTTP/1.1 200 OK\r\nContent-Length: 4\nHTTP/1.1 200 more"
    assert beside_body(sent[:20]) == sent[:20]


def test_a_head_ends_in_bounds_of_size_and_time() -> None:
    """One endless line, interim responses for ever, and a drip; a long body after a head is no long head."""
    part = b"a" * 4096
    for begin, more in ((b"HTTP/1.1 200 OK\r\nX-A: ", part), (b"", HINTS + part + b"\r\n\r\n")):
        record = Record()
        record.add(begin)
        while len(record.data) <= (256 << 10) - len(more):
            record.add(more)
        with pytest.raises(HeadTooLongError):
            record.add(more)
    whole = Record()
    for _ in range(100):
        whole.add(b"HTTP/1.1 200 OK\r\n\r\n" + part)
    whole._began -= 61
    with pytest.raises(TimeoutError):
        whole.add(part)
