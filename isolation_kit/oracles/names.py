"""Names that a target chose, as they may be shown: such a name may itself hold a token."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from urllib.parse import unquote

from isolation_kit.content import normalise_field

__all__ = ["shown_name"]

_PLAIN = re.compile(r"[A-Za-z_\u4e00-\u9fff][A-Za-z0-9_\-\u4e00-\u9fff]{0,39}\Z")
_DIGITS = re.compile(r"\d{2,}|(?<=_)\d+\Z")


@lru_cache(maxsize=4096)
def _bare(text: str) -> str:
    """Letters and digits only: a name leaves out what stands between those of a text."""
    return "".join(char for char in text.lower() if char.isalnum())


def shown_name(name: str, tokens: tuple[str, ...]) -> str:
    """`name` in one spelling, numbers as `#`; one that is no plain word, or holds a token, as a digest.

    Spellings of one name (`traceId`, `Trace-Id`, `%74race_id`) are one name.
    """
    plain = unicodedata.normalize("NFKC", unquote(name))
    folded = normalise_field(plain)
    bare = (_bare(plain), _bare(folded))
    if _PLAIN.match(plain) and not any(_bare(token) in one for token in tokens for one in bare):
        return _DIGITS.sub("#", folded)
    return f"#{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
