"""Counting tokens without the model's own tokenizer, and cutting at a number of them.

The default counter is the number of UTF-8 bytes. A byte-level BPE (o200k, cl100k, Llama 3, tekken) cuts the
bytes of a text into pieces that are not empty, so it never makes more tokens than bytes; and since one may
know no merge that fits, nothing below the bytes is safe for all of them. Not covered: the special tokens of
a chat format (`FRAME` is set aside for them), and a tokenizer that rewrites its text first (NFC or NFKC, a
dummy prefix). The price is an estimate that is too high: `OVER_ESTIMATE` says by how much. Who knows the
model plugs its tokenizer in as `Runtime.count`.

The article's own rule, characters x 1.3 (000, section 3.2), holds for escaped JSON only: raw text reaches 2.3
to 3.5 tokens a character in rare Chinese, 3 in jamo and 4 in cuneiform.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from isolation_kit.runtime.text import mark, parted

__all__ = ["FRAME", "OVER_ESTIMATE", "TokenCounter", "cut_to_tokens", "utf8_ceiling"]

FRAME = 8
"""Tokens set aside per message and per tool for what the chat format adds (role and separators)."""

OVER_ESTIMATE: Mapping[str, float] = MappingProxyType(
    {
        "prose": 4.4,
        "chinese": 4.3,
        "rare chinese": 1.1,
        "emoji": 2.2,
        "jamo": 1.0,
        "json": 3.0,
        "code": 3.9,
    }
)
"""Estimated tokens by real ones (o200k), by kind of text; tests/runtime/test_tokens_bpe.py measures anew."""


class TokenCounter(Protocol):
    """How many tokens a text costs. May be too high, must never be too low for the model in use."""

    def __call__(self, text: str, /) -> int:
        """The tokens of `text`."""
        ...


def utf8_ceiling(text: str, /) -> int:
    """The bytes of `text` in UTF-8: no byte-level BPE makes more tokens of it."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def cut_to_tokens(text: str, limit: int, count: TokenCounter = utf8_ceiling) -> str:
    """`text` in at most `limit` tokens; a cut text ends in `…[cut N]`, N being the characters removed.

    Cuts between characters, so UTF-8 stays valid. A text that fits, a cut one too, comes back as it is. Where
    even the mark has no room, the mark is all that is left. Calls `count` 20 times for a text of a megabyte.
    """
    if count(text) <= limit:
        return text
    body, gone = parted(text)
    whole = len(body) + gone
    kept, beyond = 0, len(body)
    while beyond - kept > 1:
        middle = (kept + beyond) // 2
        if count(body[:middle] + mark(whole - middle)) <= limit:
            kept = middle
        else:
            beyond = middle
    return body[:kept] + mark(whole - kept)
