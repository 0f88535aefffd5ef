"""Names that come from the system under test, as they may be stored and shown: plain words, else a digest."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from isolation_kit.canary import ALPHABET, TOKEN_LENGTH

__all__ = ["plain_name"]

_PLAIN = re.compile(r"[\w.\-/\[\]#%:]{1,80}\Z")


@lru_cache(maxsize=4096)
def plain_name(name: str, prefix: str) -> str:
    """`name` if it is a plain word without a token (by the run's `prefix`), else `#` and 8 hex digits."""
    if not prefix:
        return name if _PLAIN.match(name) else _digest(name)
    if not name or (_PLAIN.match(name) and (len(name) < TOKEN_LENGTH or not _token(prefix).search(name))):
        return name
    return _digest(name)


@lru_cache(maxsize=8)
def _token(prefix: str) -> re.Pattern[str]:
    return re.compile(f"{prefix}[{ALPHABET}]{{{TOKEN_LENGTH - len(prefix)}}}", re.IGNORECASE)


def _digest(name: str) -> str:
    return f"#{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
