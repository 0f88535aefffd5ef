"""Read JSON the way a hostile sender must be read: one meaning or none.

The standard reader keeps the last of two equal keys, accepts NaN and lone surrogates, and fails with
RecursionError on deep nesting. Two parsers that disagree on one body are a leak path, so this one refuses
whatever could be read in two ways (RFC 8259 sections 4, 6, 7 and 8.1; RFC 7493).
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

from isolation_kit.errors import StrictJSONError

__all__ = ["MAX_BYTES", "MAX_DEPTH", "loads"]

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
_MAX_DIGITS = 4000  # below the interpreter's own limit of 4300 on int <-> str

_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def loads(data: bytes | str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> object:
    """Parse one JSON document and refuse everything that two readers could understand differently.

    Args:
        data: the document, as UTF-8 bytes or as text.
        max_bytes: largest size in bytes of UTF-8.
        max_depth: deepest nesting of arrays and objects.

    Raises:
        StrictJSONError: it names the broken rule and never the value.
    """
    raw = _encoded(data)
    if len(raw) > max_bytes:
        raise _refusal(f"{len(raw)} bytes; at most {max_bytes} are read")
    if raw.startswith(b"\xef\xbb\xbf"):
        raise _refusal("it starts with a byte order mark; send UTF-8 without one")
    _check_depth(raw, max_depth)
    try:
        text = data if isinstance(data, str) else raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal(f"byte {error.start} is no UTF-8") from None
    try:
        value = _DECODER.decode(text)
    except StrictJSONError:
        raise
    except json.JSONDecodeError as error:
        raise _refusal(f"syntax error at character {error.pos}") from None
    except RecursionError:
        raise _refusal(
            f"nested deeper than the interpreter allows; at most {max_depth} levels are read"
        ) from None
    # An escape is the only way for a surrogate to pass the strict UTF-8 decoding above.
    if b"\\u" in raw:
        _check_surrogates(value)
    return value


def _refusal(rule: str) -> StrictJSONError:
    return StrictJSONError(
        f"refused as strict JSON: {rule}. Allowed is one RFC 8259 document in UTF-8 with unique keys and "
        'finite numbers, for example {"a": [1, 2.5, "x"]}. Repair the sender, or record the body as bytes.'
    )


def _encoded(data: bytes | str) -> bytes:
    if isinstance(data, (bytes, bytearray)):
        return bytes(data)
    if not isinstance(data, str):
        raise _refusal(f"a {type(data).__name__} was given, not bytes or str")
    try:
        return data.encode("utf-8")
    except UnicodeEncodeError:
        raise _refusal("the text holds a lone surrogate") from None


def _check_depth(raw: bytes, limit: int) -> None:
    # Brackets inside strings only raise the first, cheap bound; strings are cut out when that one is passed.
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return
    depth = 0
    for char in _STRING.sub(b"", raw).translate(None, _BRACKETS):
        if char in b"[{":
            depth += 1
            if depth > limit:
                raise _refusal(f"nested deeper than {limit} levels")
        elif char in b"]}":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise _refusal("an object names a key twice")
    return out


def _integer(digits: str) -> int:
    if len(digits) > min(_MAX_DIGITS, sys.get_int_max_str_digits() or _MAX_DIGITS):
        raise _refusal(f"an integer has more than {_MAX_DIGITS} digits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _refusal("a number is too large for a 64-bit float")
    return value


def _constant(_name: str) -> object:
    raise _refusal("NaN and Infinity are no JSON")


def _check_surrogates(value: object) -> None:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if _SURROGATE.search(item):
                raise _refusal("a string holds a lone surrogate")
        elif isinstance(item, dict):
            pending.extend(item)
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=True
)
