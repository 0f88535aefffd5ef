"""What saves a scan its work on hostile text leaves out nothing that the long way finds."""

from __future__ import annotations

import binascii

from hypothesis import given, settings
from hypothesis import strategies as st

from isolation_kit.detect.blobs import digests_in
from isolation_kit.detect.decodings import json_unescape
from isolation_kit.detect.escapes import near_escapes

DIGEST = bytes(range(16))
LETTERS = st.text("GhIjKlMn", max_size=600).map(str.encode)
ESCAPES = st.sampled_from([b"\\u0041", b"%41", b"&#65;", b"\xd0\xb0"])
GAPS = st.integers(0, 3000).map(lambda size: b"x" * size)


@given(LETTERS, LETTERS)
def test_a_digest_is_found_in_a_run_of_any_length(before: bytes, after: bytes) -> None:
    """A long run is asked for hex by its marks first: what stands in it is read as in a short one."""
    assert DIGEST in digests_in(before + binascii.hexlify(DIGEST) + after)


@given(st.lists(st.sampled_from([b"\\u0041", b"\\\\u0041", b"\\", b"a"]), max_size=12).map(b"".join))
def test_runs_of_escapes_are_undone_as_one_by_one(data: bytes) -> None:
    """Four escapes and more are read at once, with the same outcome as each alone."""
    alone = json_unescape(data.replace(b"\\u0041", b"\\x41"))
    assert (json_unescape(data) or data) == (alone or data)


@settings(deadline=None)
@given(st.lists(st.tuples(GAPS, ESCAPES), min_size=1, max_size=12), GAPS)
def test_all_that_is_near_an_escape_is_kept(parts: list[tuple[bytes, bytes]], end: bytes) -> None:
    """Whether the whole view lies near escapes or parts of it: 500 bytes to both sides of each are kept."""
    data, spots = b"", []
    for gap, escape in parts:
        spots.append(len(data) + len(gap))
        data += gap + escape
    data += end
    near = near_escapes(data, b"q7zk", False)
    assert near is not None
    assert all(data[max(0, spot - 500) : spot + 500] in near for spot in spots)
