"""The pool of live tokens and the needles by which one literal search finds every candidate.

All tokens of a run share four characters, so the search is flat in the number of tokens: look for the prefix,
or for what an encoding makes of it, decode the next characters, and look them up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from isolation_kit.canary import ALPHABET, PREFIX_LENGTH, TOKEN_LENGTH
from isolation_kit.detect.ciphers import LEET, reading_patterns
from isolation_kit.detect.encoded import run_patterns
from isolation_kit.detect.escapes import LOOKALIKES
from isolation_kit.detect.forms import Tier
from isolation_kit.detect.layouts import layout_patterns
from isolation_kit.detect.needles import (
    Needle,
    case_needles,
    cipher_needles,
    code_needles,
    raw_needles,
    run_needles,
)
from isolation_kit.detect.sieve import Sieve, sieve_of
from isolation_kit.errors import UsageError

if TYPE_CHECKING:
    from isolation_kit.detect.registry import Registry

__all__ = ["COMMON_DIGESTS", "DIGESTS", "Match", "Pool"]

SUSPECT_AT = PREFIX_LENGTH + 8
CONFIRMED_AT = PREFIX_LENGTH + 10

Algorithm = tuple[str, Callable[[bytes], bytes]]

# Unsalted digests of the bare token; a keyed or salted one cannot be seen by matching.
COMMON_DIGESTS: tuple[Algorithm, ...] = (
    ("md5", lambda data: hashlib.md5(data, usedforsecurity=False).digest()),
    ("sha1", lambda data: hashlib.sha1(data, usedforsecurity=False).digest()),
    ("sha256", lambda data: hashlib.sha256(data).digest()),
)
DIGESTS: tuple[Algorithm, ...] = (
    *COMMON_DIGESTS,
    ("sha224", lambda data: hashlib.sha224(data).digest()),
    ("sha384", lambda data: hashlib.sha384(data).digest()),
    ("sha512", lambda data: hashlib.sha512(data).digest()),
    ("sha3-256", lambda data: hashlib.sha3_256(data).digest()),
    ("blake2b", lambda data: hashlib.blake2b(data).digest()),
    ("blake2b-256", lambda data: hashlib.blake2b(data, digest_size=32).digest()),
    ("blake2s", lambda data: hashlib.blake2s(data).digest()),
)
_DIGEST_KEY = 8
_PATIENCE = (
    16 << 10
)  # bytes and events after which a sieve saves more than the 25 ms that it takes to compile


_REMEMBERED, _SHORT = 1 << 14, 128  # stretches, and bytes of one
_CONFIRMED, _SUSPECT = Tier.CONFIRMED, Tier.SUSPECT


class Match(NamedTuple):
    """A token of the pool, how many of its characters were seen, and what that proves."""

    token: str
    length: int
    tier: Tier


class Pool:
    """The tokens to look for; adding one is a list append and a dict entry, nothing is rebuilt."""

    __slots__ = (
        "_digests",
        "_headed",
        "_heads",
        "_leet",
        "_leeted",
        "_order",
        "_sieve",
        "_waits",
        "case_needles",
        "cipher_drops",
        "cipher_needles",
        "code_needles",
        "dull",
        "head",
        "prefix",
        "raw_needles",
        "registry",
        "run_needles",
        "tokens",
    )

    def __init__(self, prefix: str) -> None:
        """Make an empty pool for tokens that start with `prefix` (see `Mint.prefix`).

        Raises:
            UsageError: if `prefix` is not four characters of lower-case Crockford base32.
        """
        if len(prefix) != PREFIX_LENGTH or not set(prefix) <= set(ALPHABET):
            raise UsageError(
                f"a pool needs a prefix of {PREFIX_LENGTH} characters out of {ALPHABET}; {len(prefix)} "
                "characters were given, some perhaps foreign. Pass the prefix of the run's Mint, for example "
                "Mint(7).prefix"
            )
        self.prefix = prefix
        self.head = head = prefix.encode()
        self.cipher_needles: tuple[Needle, ...] = cipher_needles(head)
        letters = b"".join(needle.literal for needle in self.cipher_needles)
        self.cipher_drops = bytes(byte for byte in range(256) if byte not in letters)
        self.code_needles: tuple[Needle, ...] = code_needles(head)
        self.case_needles: tuple[Needle, ...] = case_needles(head)
        self.raw_needles: tuple[Needle, ...] = raw_needles(head)
        self.run_needles: tuple[Needle, ...] = run_needles(head)
        self.registry: Registry | None = None  # texts that no prefix gives away
        self.tokens: dict[bytes, str] = {}
        self._order: list[str] = []
        # These indexes trail behind `_order` and catch up when a scan first needs them.
        self._heads: dict[bytes, str] = {}
        self._headed = 0
        self._leet: dict[bytes, str] = {}
        self._leeted = 0
        self._digests = (_DigestIndex(COMMON_DIGESTS), _DigestIndex(DIGESTS))
        self._sieve: Sieve | None = None
        self.dull: set[bytes] = set()  # stretches that cannot hold anything, whatever the tokens are
        self._waits = _PATIENCE

    def __repr__(self) -> str:
        return f"Pool({len(self._order)} tokens)"

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and token.encode("utf-8", "surrogatepass") in self.tokens

    def add(self, token: str) -> None:
        """Look for `token` from now on; adding it twice changes nothing.

        Raises:
            UsageError: if the token does not belong to this pool's run.
        """
        if len(token) != TOKEN_LENGTH or not token.startswith(self.prefix) or not token.isascii():
            raise UsageError(
                f"a token of {len(token)} characters of another run was given; allowed are those "
                f"of {TOKEN_LENGTH} characters with the prefix of the run's Mint. Add what "
                "Mint(seed).mint(...).token gives"
            )
        key = token.encode()
        if key not in self.tokens:
            self.tokens[key] = token
            self._order.append(token)

    def clear_before(self, kept: int) -> None:
        """Forget all but the newest `kept` tokens, to bound memory in a long campaign."""
        tokens = self._order[max(0, len(self._order) - kept) :]
        self._order, self.tokens = tokens, {token.encode(): token for token in tokens}
        self._heads, self._headed, self._leet, self._leeted = {}, 0, {}, 0
        self._digests = (_DigestIndex(COMMON_DIGESTS), _DigestIndex(DIGESTS))
        if self.registry is not None:
            self.registry.clear_before(kept)

    def sieve(self, size: int) -> Sieve | None:
        """The sieve in front of a scan of `size` bytes, once enough was scanned to be worth compiling it."""
        if self._waits > 0:
            self._waits -= size + 256
            if self._waits > 0:
                return None
            self._sieve = _sieve(self.head)
        return self._sieve

    def bore(self, parts: Iterable[tuple[int, bytes]], promising: Iterable[tuple[int, bytes]]) -> None:
        """Remember the short ones of `parts` that are not `promising`: the same names come in every event."""
        if len(self.dull) > _REMEMBERED:
            self.dull.clear()
        self.dull.update(part for _, part in parts if len(part) <= _SHORT)
        self.dull.difference_update(part for _, part in promising)

    def match(self, candidate: bytes) -> Match | None:
        """The token that `candidate`, lower-case text from the prefix on, is or begins."""
        token = self.tokens.get(candidate[:TOKEN_LENGTH])
        if token is not None:
            return Match(token, TOKEN_LENGTH, _CONFIRMED)
        if len(candidate) < SUSPECT_AT:
            return None
        if self._headed < len(self._order):
            for added in self._order[self._headed :]:
                self._heads[added[:SUSPECT_AT].encode()] = added
            self._headed = len(self._order)
        token = self._heads.get(candidate[:SUSPECT_AT])
        if token is None:
            return None
        length = _common(candidate, token.encode())
        return Match(token, length, _CONFIRMED if length >= CONFIRMED_AT else _SUSPECT)

    def leet_match(self, candidate: bytes, written: bytes) -> Match | None:
        """The token that is `candidate` once its letters are digits, unless it is `written` as it is."""
        for added in self._order[self._leeted :]:
            self._leet[added.encode().translate(LEET)] = added
        self._leeted = len(self._order)
        token = self._leet.get(candidate)
        return None if token is None or written in self.tokens else Match(token, TOKEN_LENGTH, _CONFIRMED)

    def digest_match(self, digest: bytes) -> tuple[str, str] | None:
        """The (token, algorithm) of a digest of at least 16 bytes, cut short or followed by more."""
        # Trace ids and UUIDs are as long as an MD5: for them only digests that people cut so short count.
        found = self._digests[len(digest) > 16].find(digest, self._order)
        return self.registry.digest_match(digest) if found is None and self.registry is not None else found


@lru_cache(maxsize=16)
def _sieve(head: bytes) -> Sieve | None:
    *encoded, magic = run_patterns()
    return sieve_of(
        head,
        (*cipher_needles(head), *code_needles(head), *case_needles(head)),
        raw_needles(head),
        LOOKALIKES,
        layout_patterns(head),
        (*encoded, [*magic, *reading_patterns(head)]),
    )


class _DigestIndex:
    """Digests of the tokens of a pool by their first bytes; it catches up with the pool when it is asked."""

    __slots__ = ("algorithms", "count", "keys")

    def __init__(self, algorithms: tuple[Algorithm, ...]) -> None:
        self.algorithms = algorithms
        self.keys: dict[bytes, str] = {}
        self.count = 0

    def find(self, digest: bytes, tokens: list[str]) -> tuple[str, str] | None:
        keys = self.keys
        for token in tokens[self.count :]:
            data = token.encode()
            for _, digest_of in self.algorithms:
                keys[digest_of(data)[:_DIGEST_KEY]] = token
        self.count = len(tokens)
        found = keys.get(digest[:_DIGEST_KEY])
        if found is None or len(digest) < 2 * _DIGEST_KEY:
            return None
        for name, digest_of in self.algorithms:
            whole = digest_of(found.encode())
            if whole.startswith(digest) or digest.startswith(whole):
                return found, name
        return None


def _common(one: bytes, two: bytes) -> int:
    length = 0
    for left, right in zip(one, two, strict=False):
        if left != right:
            break
        length += 1
    return length
