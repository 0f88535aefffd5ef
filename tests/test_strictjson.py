"""The strict JSON reader: one meaning or a refusal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import StrictJSONError
from isolation_kit.strictjson import loads

CORPUS = Path(
    os.environ.get("ISOLATION_KIT_CORPORA", Path(__file__).parents[2] / "shared" / "corpora"),
    "JSONTestSuite",
    "test_parsing",
)
DUPLICATES = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}
needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="JSONTestSuite is not there; set ISOLATION_KIT_CORPORA"
)


def accepts(data: bytes | str) -> bool:
    """True if the reader takes `data`; anything but a StrictJSONError escapes."""
    try:
        loads(data)
    except StrictJSONError:
        return False
    return True


@needs_corpus
def test_all_invalid_documents_are_refused() -> None:
    """Every n_ file of JSONTestSuite is refused."""
    files = sorted(CORPUS.glob("n_*.json"))
    assert len(files) == 188
    assert [file.name for file in files if accepts(file.read_bytes())] == []


@needs_corpus
def test_all_valid_documents_are_read() -> None:
    """Every y_ file is read, but for the two that name a key twice."""
    files = sorted(CORPUS.glob("y_*.json"))
    assert {file.name for file in files if not accepts(file.read_bytes())} == DUPLICATES


@needs_corpus
def test_undecided_documents_raise_nothing_else() -> None:
    """An i_ file is read or refused; no other exception escapes."""
    files = sorted(CORPUS.glob("i_*.json"))
    assert len([accepts(file.read_bytes()) for file in files]) == len(files) > 30


REFUSED = {
    "bom": b"\xef\xbb\xbf{}",
    "duplicate": b'{"a":1,"a":1}',
    "nested duplicate": b'[{"b":{"a":1,"\\u0061":2}}]',
    "nan": b"[NaN]",
    "infinity": b"-Infinity",
    "overflow": b"1e999",
    "lone surrogate": b'["\\ud800"]',
    "surrogate key": b'{"\\udc00":1}',
    "latin-1": b'"\xe9"',
    "utf-8 surrogate": b'"\xed\xa0\x80"',
    "deep": b"[" * 65 + b"]" * 65,
    "very deep": b"[" * 1_000_000,
    "deep and unclosed string": b'{"' + b"{" * 100_000,
    "huge integer": b"1" * 5000,
    "empty": b"",
    "trailing": b"{} {}",
    "control character": b'"\n"',
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
def test_ambiguous_documents_are_refused(data: bytes) -> None:
    """What two readers could understand differently is refused."""
    assert not accepts(data)


READ = {
    "pair": (b'"\\ud83d\\ude00"', "\U0001f600"),
    "64 deep": (b"[" * 64 + b"]" * 64, None),
    "brackets in strings": (json.dumps(["[" * 100, "\\", '"{{']).encode(), ["[" * 100, "\\", '"{{']),
    "big integer": (b"1" * 300, int("1" * 300)),
}


@pytest.mark.parametrize(("data", "value"), READ.values(), ids=READ.keys())
def test_unusual_documents_with_one_meaning_are_read(data: bytes, value: object) -> None:
    """The clean twins of the refused documents are read."""
    assert loads(data) == (value if value is not None else json.loads(data))


def test_size_cap_counts_bytes() -> None:
    """A document one byte over the cap is refused, at the cap it is read."""
    assert loads('"é"', max_bytes=4) == "é"
    with pytest.raises(StrictJSONError, match="4 bytes; at most 3"):
        loads('"é"', max_bytes=3)


def test_messages_never_show_the_value() -> None:
    """A refusal names the rule and not what stood in the document."""
    for data in (b'{"s3cret":1,"s3cret":2}', b'["s3cret\\ud800"]', b'["s3cret" s3cret]', b"s3cret"):
        with pytest.raises(StrictJSONError) as caught:
            loads(data)
        assert "s3cret" not in str(caught.value) + repr(caught.value)
        assert caught.value.__cause__ is None


@given(st.binary(max_size=200) | st.text(max_size=100) | st.text('[]{}",:\\u0d8e1-.', max_size=60))
def test_any_input_is_read_or_refused(data: bytes | str) -> None:
    """No input raises anything but StrictJSONError."""
    assert accepts(data.encode() if isinstance(data, str) and data.isascii() else data) in (True, False)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_everything_written_is_read_back(value: object) -> None:
    """What the standard writer makes of plain data comes back equal."""
    assert loads(json.dumps(value)) == value
