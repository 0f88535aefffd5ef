"""Skins: the shapes that a token wears for systems that act on shape.

Five skins carry the token itself; the other five cannot hold it and are only known by a registry. Their
texts are made from the 36 bits of the token's body, which no two places of a case share, so neither do they:

    skin    | text                                | made from
    --------|-------------------------------------|---------------------------------------------------------
    uuid    | version 4, 4 hex digits of the run  | 102 bits of a keyed hash of the token
    digits  | 16 digits, Luhn, 4 of them the run's | the body, as 11 digits
    phone   | a Chinese mobile number, 11 digits  | a keyed permutation of the place (30 bits)
    person  | Chinese name and staff number       | the body: 18 bits name, 18 bits number
    prose   | a sentence about a name of the run  | the body: six words of 64

Numbers are made up. A mobile number cannot be told from one that somebody owns: never send or dial it.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

from isolation_kit.canary.words import ADJECTIVES, ADVERBS, GIVEN_NAMES, NOUNS, SURNAMES, SYLLABLES, VERBS
from isolation_kit.scenario import Place, Slot

__all__ = ["PHONES", "Marks", "Skin", "dress", "holds_token", "marks_of"]

PHONES = 7 * 10**9  # 13 to 19, and nine digits
_PHONE_BITS = 33
_PACKED = 1 << 30
_SLOT_NUMBERS = {str(slot): number for number, slot in enumerate(Slot)}


class Skin(StrEnum):
    """The shape of a planted text."""

    OPAQUE = "opaque"
    EMAIL = "email"
    KEY = "key"
    JSON = "json"
    PATH = "path"
    UUID = "uuid"
    DIGITS = "digits"
    PHONE = "phone"
    PERSON = "person"
    PROSE = "prose"


class Marks(NamedTuple):
    """What the registry-only texts of a run share, so that one literal search finds every candidate."""

    uuid: str
    digits: str
    prose: str


_AROUND = {
    Skin.OPAQUE: ("", ""),
    Skin.EMAIL: ("", "@example.com"),
    Skin.KEY: ("sk-", ""),
    Skin.JSON: ('{"customer_ref": "', '"}'),
    Skin.PATH: ("/srv/accounts/", "/notes.txt"),
}


def holds_token(skin: Skin) -> bool:
    """Whether a text in this skin contains the token; any other is known by a registry only."""
    return skin in _AROUND


def marks_of(key: bytes) -> Marks:
    """The marks of the run whose key is `key`."""
    digest = blake2b(key=key, digest_size=16, person=b"canary marks").digest()
    # A 9 begins no card number that is in use: ISO/IEC 7812 leaves it to national bodies.
    digits = f"9{int.from_bytes(digest[2:4], 'big') % 1000:03d}"
    name = "".join(SYLLABLES[byte & 63] for byte in digest[4:8]).capitalize()
    return Marks("abcdef"[digest[0] % 6] + digest.hex()[2:5], digits, f"{name}x")


def dress(
    skin: Skin, token: str, body: int, check: int, place: Place, key: bytes, marks: Marks, case_key: bytes
) -> str:
    """The text that stands for a token in `skin`.

    Args:
        skin: the shape.
        token: the 20 characters.
        body: the 36 bits in it that differ from place to place.
        check: the 44 bits of its checksum.
        place: where it is planted.
        key: 32 bytes of the run.
        marks: what the texts of the run share.
        case_key: 32 bytes of the run, case and variant.
    """
    if skin in _AROUND:
        before, after = _AROUND[skin]
        return f"{before}{token}{after}"
    if skin is Skin.UUID:
        return _uuid(token, key, marks.uuid)
    if skin is Skin.DIGITS:
        payload = f"{marks.digits}{body:011d}"
        return payload + _luhn(payload)
    if skin is Skin.PHONE:
        return str(13 * 10**9 + _permuted(_packed(place), case_key))
    if skin is Skin.PERSON:
        name = SURNAMES[body >> 30] + GIVEN_NAMES[body >> 24 & 63] + GIVEN_NAMES[body >> 18 & 63]
        return f"{name}（工号 {1_000_000 + (body & 0x3FFFF) * 34 + check % 34}）"
    one, two, three, four, five, six = (body >> shift & 63 for shift in (30, 24, 18, 12, 6, 0))
    return (
        f"{marks.prose} {ADVERBS[one]} {VERBS[two]} the {ADJECTIVES[three]} {NOUNS[four]} "
        f"beside the {ADJECTIVES[five]} {NOUNS[six]}"
    )


def _uuid(token: str, key: bytes, mark: str) -> str:
    digest = blake2b(token.encode(), key=key, digest_size=16, person=b"canary uuid").hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    text = f"{mark}{digest[4:12]}4{digest[13:16]}{variant}{digest[17:]}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _luhn(digits: str) -> str:
    """The check digit (ISO/IEC 7812-1, annex B)."""
    total = 0
    for index, char in enumerate(reversed(digits)):
        value = int(char) * (2 - index % 2)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


def _packed(place: Place) -> int:
    """A number below `PHONES` that no other place of ordinary size has; the others are hashed."""
    number, fields = _SLOT_NUMBERS.get(place.slot), (place.user, place.subject, place.turn, place.n)
    user, subject, turn, n = (value + 1 for value in fields)
    if number is not None and not (user | subject) >> 5 and not turn >> 8 and not n >> 7:
        return number << 25 | user << 20 | subject << 15 | turn << 7 | n
    text = "/".join(map(str, place)).encode("utf-8", "surrogatepass")
    hashed = int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
    return _PACKED + hashed % (PHONES - _PACKED)


def _permuted(value: int, key: bytes) -> int:
    """`value` in a keyed permutation of the numbers below `PHONES`."""
    mask = (1 << _PHONE_BITS) - 1
    one, two, three, four = (int.from_bytes(key[at : at + 8], "big") & mask for at in (0, 8, 16, 24))
    while True:  # a permutation of 33 bits, walked until it meets a number that is small enough
        value = (value ^ one) * (two | 1) & mask
        value = ((value ^ value >> 17) * (three | 1) + four) & mask
        value ^= value >> 17
        if value < PHONES:
            return value
