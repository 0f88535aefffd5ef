"""Answers are read in bounds: packed ones to their last member, and what is cut off is no whole answer."""

from __future__ import annotations

from gzip import compress
from io import BytesIO
from typing import Any

import pytest

from isolation_kit.load.bodies import LONGEST
from isolation_kit.load.heard import Heard


class Packed(BytesIO):
    """A response with one header."""

    def get(self, name: str) -> Any:
        """A header's value."""
        return "gzip" if name == "content-encoding" else None


@pytest.mark.parametrize(
    ("sent", "plain", "whole"),
    [
        (compress(b"mine") + compress(b" theirs"), b"mine theirs", True),
        (compress(b"mine")[:-5], b"mine", False),
        (compress(b"mine") + b"more", b"mine", False),
        (compress(b"") * 1000, b"", False),
        (b"no gzip", b"no gzip", False),
        (compress(b"\0" * (LONGEST * 3)), b"\0" * (LONGEST + 1), False),
    ],
    ids=["two members", "cut off", "trailer", "very many members", "not packed", "bomb"],
)
def test_a_packed_answer_is_read_to_its_end_or_told_unread(sent: bytes, plain: bytes, whole: bool) -> None:
    """Nothing hides behind the first member, and nothing fills the memory."""
    data, unread = Heard(Packed(sent)).body()
    assert (data == plain, unread == 0) == (True, whole)
