"""Names that a target chose, as they may be shown: such a name may itself hold a token."""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from urllib.parse import unquote

from isolation_kit.content import normalise_field

__all__ = ["shown_name"]

_PLAIN = re.compile(r"[A-Za-z_\u4e00-\u9fff][A-Za-z0-9_\-\u4e00-\u9fff]{0,39}\Z")
_DIGITS = re.compile(r"\d{2,}|(?<=_)\d+\Z")


def shown_name(name: str, tokens: tuple[str, ...]) -> str:
    """`name` in one spelling, numbers as `#`; one that is no plain word, or holds a token, as a digest.

    Spellings of one name (`traceId`, `Trace-Id`, `%74race_id`) are one name.
    """
    plain = unicodedata.normalize("NFKC", unquote(name))
    folded = normalise_field(plain)
    if _PLAIN.match(plain) and not any(token in plain.lower() or token in folded for token in tokens):
        return _DIGITS.sub("#", folded)
    return f"#{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
