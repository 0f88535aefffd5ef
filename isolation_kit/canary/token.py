"""Canaries: unique tokens that know the place where they were planted.

A token is 20 characters of lower-case Crockford base32 (digits and letters without i, l, o, u):

    pppp bbbbbbb... mmmmmmm...
    20 bits of prefix, shared by a run and derived from its seed: one literal search finds every candidate
    (some 266,000 of a million are used: those that are no word, no number and no tail of an escape)
    36 bits of body: a permutation of the place, keyed by run, case and variant
    44 bits of BLAKE2b MAC over the body: a checksum that needs no registry

All tokens are equally long, so none contains another. A random candidate behind the right prefix passes
`Mint.verify` with probability 2**-44. Lengths of fragments count after the prefix, which proves nothing.
Within one case and variant the body is a permutation, hence two places never share a token; across cases two
of n tokens are equal with probability of about n**2 / 2**37, that is 0.7 % for any pair of 30,000.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from isolation_kit.canary.skins import Marks, Skin, dress, marks_of
from isolation_kit.errors import UsageError
from isolation_kit.scenario import Place, Slot

__all__ = ["ALPHABET", "PREFIX_LENGTH", "TOKEN_LENGTH", "Canary", "Mint", "verify_in"]

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
TOKEN_LENGTH = 20
PREFIX_LENGTH = 4

_BODY = (1 << 36) - 1
_CHECK = (1 << 44) - 1
_MAC_BYTES = 6
_PAIRS = tuple(a + b for a in ALPHABET for b in ALPHABET)
_VALUES = {char: value for value, char in enumerate(ALPHABET)}
_SLOTS = tuple(map(str, Slot))
_SLOT_NUMBERS = {str(slot): number for number, slot in enumerate(Slot)}
# Letters that a backslash before a token would turn into an escape such as "\n", and hex digits.
_NOT_FIRST = frozenset("0123456789abfnrtvx")


@lru_cache(maxsize=4096)
def _digest(token: str) -> str:
    return blake2b(token.encode(), digest_size=4).hexdigest()


class Canary(NamedTuple):
    """One token with the place, base case and variant that it belongs to; its repr never shows the token.

    `text` is what is planted: the token, or the shape that it wears. The token names the canary always.
    """

    token: str
    place: Place
    case: str
    variant: int
    skin: Skin = Skin.OPAQUE
    dressed: str = ""

    @property
    def text(self) -> str:
        """What is planted: the token in its skin."""
        return self.dressed or self.token

    @property
    def digest(self) -> str:
        """8 hex digits that stand for the token in reports."""
        return _digest(self.token)

    def __repr__(self) -> str:
        skin = "" if self.skin is Skin.OPAQUE else f", skin={self.skin}"
        return f"Canary({self.place.label}, variant={self.variant}, {self.digest[:6]}{skin})"


class Mint:
    """Makes the tokens of one run: the same seed, case, variant and place always give the same token."""

    __slots__ = ("_case", "_key", "_keys", "_mac", "_root", "marks", "prefix")

    def __init__(self, seed: int) -> None:
        """Derive all keys of the run from `seed`, any integer.

        Raises:
            UsageError: if `seed` is no integer.
        """
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise UsageError(f"a seed must be an integer, for example 7; a {type(seed).__name__} was given")
        key = blake2b(b"isolation-kit seed %d" % seed, digest_size=32).digest()
        self._key = key
        self.prefix = _prefix(key)
        self.marks: Marks = marks_of(key)
        self._mac = blake2b(key=key, digest_size=_MAC_BYTES, person=b"canary mac")
        self._root = blake2b(key=key, digest_size=32, person=b"canary case")
        self._case: tuple[str, int] | None = None
        self._keys = (0, 0, 0, 0)

    def __repr__(self) -> str:
        return "Mint(masked)"

    def mint(self, case: str, place: Place, variant: int = 0, skin: Skin = Skin.OPAQUE) -> Canary:
        """The canary of `place` in the case whose base digest is `case`, in secret number `variant`.

        The token is the same in every `skin`; only the text that is planted differs.
        """
        if self._case != (case, variant):
            self._keys = self._case_keys(case, variant)
            self._case = (case, variant)
        one, two, three, four = self._keys
        # Each step can be undone modulo 2**36 (odd factors, shifts by half or more): no two places collide.
        body = (_pack(place) ^ one) * two & _BODY
        body = ((body ^ body >> 19) * three + four) & _BODY
        body ^= body >> 18
        bits = body << 44 | self._checksum(body)
        pairs = _PAIRS
        token = (
            f"{self.prefix}{pairs[bits >> 70]}{pairs[bits >> 60 & 1023]}{pairs[bits >> 50 & 1023]}"
            f"{pairs[bits >> 40 & 1023]}{pairs[bits >> 30 & 1023]}{pairs[bits >> 20 & 1023]}"
            f"{pairs[bits >> 10 & 1023]}{pairs[bits & 1023]}"
        )
        if skin is Skin.OPAQUE:
            return Canary(token, place, case, variant)
        case_key = self._case_digest(case, variant)
        dressed = dress(skin, token, body, bits & _CHECK, place, self._key, self.marks, case_key)
        return Canary(token, place, case, variant, skin, dressed)

    def verify(self, token: str) -> bool:
        """True if this run's seed minted `token`; no registry is needed (false accepts: 2**-44)."""
        if len(token) != TOKEN_LENGTH or not token.startswith(self.prefix):
            return False
        bits = 0
        for char in token[PREFIX_LENGTH:]:
            value = _VALUES.get(char)
            if value is None:
                return False
            bits = bits << 5 | value
        return self._checksum(bits >> 44) == bits & _CHECK

    def place_of(self, token: str, case: str, variant: int = 0) -> Place | None:
        """The place for which `mint` made `token`: who owns it, read from the token alone.

        None for a token of another run, case or variant, and for places whose indices were too large to be
        packed (user and subject above 127, turn and n above 255, slots of a user's own).
        """
        if not self.verify(token):
            return None
        if self._case != (case, variant):
            self._keys = self._case_keys(case, variant)
            self._case = (case, variant)
        one, two, three, four = self._keys
        body = 0
        for char in token[PREFIX_LENGTH : PREFIX_LENGTH + 8]:
            body = body << 5 | _VALUES[char]
        body >>= 4  # eight characters are 40 bits
        # The steps of `mint` backwards; a shift by half or more is its own inverse.
        body ^= body >> 18
        body = (body - four) * _inverse(three) & _BODY
        body ^= body >> 19
        return _unpack((body * _inverse(two) & _BODY) ^ one)

    def _checksum(self, body: int) -> int:
        mac = self._mac.copy()
        mac.update(body.to_bytes(5, "big"))
        return int.from_bytes(mac.digest(), "big") >> 4

    def _case_digest(self, case: str, variant: int) -> bytes:
        root = self._root.copy()
        root.update(f"{variant}:{case}".encode("utf-8", "surrogatepass"))
        return root.digest()

    def _case_keys(self, case: str, variant: int) -> tuple[int, int, int, int]:
        keys = self._case_digest(case, variant)
        one, two, three, four = (int.from_bytes(keys[i : i + 8], "big") & _BODY for i in (0, 8, 16, 24))
        return one, two | 1, three | 1, four


def verify_in(text: str, mint: Mint) -> Iterator[tuple[int, str]]:
    """Find the tokens of `mint` in an archived text without a registry: (character offset, token) pairs.

    Only an ASCII letter or digit beside a token hides it; `_` and CJK characters are no part of a word here.
    """
    pattern = re.compile(rf"(?<![0-9A-Za-z])(?={mint.prefix}[{ALPHABET}]{{16}}(?![0-9A-Za-z]))")
    for match in pattern.finditer(text):
        token = text[match.start() : match.start() + TOKEN_LENGTH]
        if mint.verify(token):
            yield match.start(), token


def _prefix(key: bytes) -> str:
    """Four characters that are no word and cannot be taken for hex, a number or the tail of an escape."""
    for attempt in range(1 << 16):
        digest = blake2b(attempt.to_bytes(4, "big"), key=key, digest_size=4, person=b"canary prefix").digest()
        bits = int.from_bytes(digest, "big")
        prefix = "".join(ALPHABET[bits >> shift & 31] for shift in (15, 10, 5, 0))
        if prefix[0] in _NOT_FIRST or len(set(prefix)) < PREFIX_LENGTH:
            continue
        if any(char.isdigit() for char in prefix):
            return prefix
    raise UsageError("no usable prefix for this seed; choose another seed, for example 7")


@lru_cache(maxsize=64)
def _inverse(factor: int) -> int:
    return pow(factor, -1, _BODY + 1)


def _unpack(packed: int) -> Place | None:
    number = packed >> 30
    if number >= len(_SLOTS):
        return None
    return Place(
        _SLOTS[number], packed >> 23 & 127, (packed >> 16 & 127) - 1, packed >> 8 & 255, packed & 255
    )


def _pack(place: Place) -> int:
    number = _SLOT_NUMBERS.get(place.slot)
    user, subject, turn, n = place.user, place.subject + 1, place.turn, place.n
    if number is not None and not (user | subject) >> 7 and not (turn | n) >> 8:
        return number << 30 | user << 23 | subject << 16 | turn << 8 | n
    # User slots and very large indices do not fit in 35 bits: they are hashed into the other half.
    text = f"{place.slot}/{user}/{subject}/{turn}/{n}".encode("utf-8", "surrogatepass")
    return 1 << 35 | int.from_bytes(blake2b(text, digest_size=5).digest(), "big") >> 5
