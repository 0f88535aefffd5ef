"""The words of detection: forms, tiers, hits, and the budget of work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

__all__ = ["Budget", "Form", "Hit", "ScanResult", "Tier"]


class Form(StrEnum):
    """How a token was rendered; nested renderings are joined by `>`, the outermost first."""

    VERBATIM = "verbatim"
    CASE = "case"
    SEPARATED = "separated"
    ZERO_WIDTH = "zero-width"
    UTF16 = "utf-16"
    CONFUSABLE = "confusable"
    TAGS = "tags"
    SELECTORS = "variation-selectors"
    REVERSED = "reversed"
    ROT13 = "rot13"
    ATBASH = "atbash"
    CAESAR = "caesar"
    ROT47 = "rot47"
    LEET = "leetspeak"
    MARKUP = "markup"
    MORSE = "morse"
    SPELLED = "spelled"
    BITS = "bits"
    NAMES = "character-names"
    CSS = "css-escape"
    JSON = "json-escape"
    PERCENT = "percent"
    HTML = "html-entity"
    QUOTED = "quoted-printable"
    CODES = "char-codes"
    OCTAL = "octal"
    BINARY = "binary"
    HEX = "hex"
    BASE64 = "base64"
    BASE32 = "base32"
    BASE36 = "base36"
    BASE58 = "base58"
    BASE62 = "base62"
    BASE85 = "base85"
    NUMBER = "number"
    UUENCODE = "uuencode"
    YENC = "yenc"
    EBCDIC = "ebcdic"
    UTF7 = "utf-7"
    NUMBERED = "numbered"
    GZIP = "gzip"
    ZLIB = "zlib"
    DEFLATE = "deflate"
    BZIP2 = "bzip2"
    XZ = "xz"
    DIGEST = "digest"
    FRAGMENT = "fragment"
    SPLIT = "split"


class Tier(StrEnum):
    """How sure a hit is: a SUSPECT is shown, only a CONFIRMED one decides a verdict."""

    CONFIRMED = "confirmed"
    SUSPECT = "suspect"


class Hit(NamedTuple):  # a case has about a hundred, and this is made three times as fast as a dataclass
    """One token in one form; `offset` is the first byte of the outermost carrier in the scanned data."""

    token: str
    form: str
    tier: Tier
    offset: int

    def __repr__(self) -> str:
        digest = blake2b(self.token.encode(), digest_size=4).hexdigest()
        return f"Hit({digest}, {self.form}, {self.tier}, offset={self.offset})"


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What a scan found, and how many bytes it left unread because its budget ran out."""

    hits: tuple[Hit, ...] = ()
    unscanned: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of the work on one event.

    Args:
        blob: largest encoded or unpacked blob in bytes; the rest of a larger one is reported as unscanned.
        depth: how many renderings inside one another are undone.
        decoded: bytes of decoded views in all.
        blobs: number of long runs that hold something readable and are looked into.
        runs: number of different long runs that are tried, for each MiB begun.
    """

    blob: int = 1 << 20
    depth: int = 3
    decoded: int = 4 << 20
    blobs: int = 4096
    runs: int = 6144
