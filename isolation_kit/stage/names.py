"""Names that come from the system under test, as they may be stored and shown: plain words, else a digest."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from isolation_kit.canary import ALPHABET, TOKEN_LENGTH
from isolation_kit.detect import Pool, scan

__all__ = ["plain_name"]

_PLAIN = re.compile(r"[\w.\-/\[\]#%:]{1,80}\Z")


def plain_name(name: str, pool: Pool | None = None) -> str:
    """`name` if it is a plain word without a token of the run of `pool`, else `#` and 8 hex digits.

    What is shaped like a token counts, whether the pool still knows it or not; so does any text that the
    pool's registry knows.
    """
    shown = _plain(name, pool.prefix if pool is not None else "")
    if pool is None or pool.registry is None or shown != name:
        return shown
    return _digest(name) if scan(name.encode("utf-8", "surrogatepass"), pool).hits else name


@lru_cache(maxsize=4096)
def _plain(name: str, prefix: str) -> str:
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
