"""Find texts that no prefix gives away: skins that cannot hold a token, and secrets of a user's own.

Every reader is flat in the number of texts: it finds candidates by their shape, or by what the texts of a
run share, and looks them up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import NamedTuple

from isolation_kit.canary import PREFIX_LENGTH, TOKEN_LENGTH, Canary, Skin, check_secret
from isolation_kit.canary.skins import Marks, holds_token
from isolation_kit.canary.words import ADJECTIVES, ADVERBS, NOUNS, VERBS
from isolation_kit.detect.automaton import COMMON_DIGESTS, Match, Pool
from isolation_kit.detect.forms import Form, Tier
from isolation_kit.detect.locate import Offsets
from isolation_kit.detect.needles import LETTERS, NO_LETTERS
from isolation_kit.detect.numerals import numerals
from isolation_kit.detect.reach import REACH, applies

__all__ = ["Found", "Registry", "register"]

_NO_DIGITS = bytes(byte for byte in range(256) if not chr(byte).isascii() or not chr(byte).isdigit())
_LENGTHS = {Skin.UUID: 32, Skin.DIGITS: 16}
_MARK = 4  # characters that the texts of a run share
_PHONE = re.compile(rb"1(?=([^0-9A-Za-z]{0,4}[3-9](?:[^0-9A-Za-z]{0,4}[0-9]){9})(?![0-9]))")
_COUNTRY = re.compile(rb"(?<![0-9])(?:00)?86\Z")
_DIGIT = re.compile(rb"[0-9]")
_STAFF = re.compile(r"(?=([1-9][0-9]{6}))")
_NO_NAME = re.compile("[^0-9\u4e00-\u9fff]+")
_CODED = ((Form.HEX,), (Form.CODES,), (Form.BASE64,))
_UTF16 = ("utf-16-le", "utf-16-be")
_NEAR = 24  # characters between a name and its number: 工号, 员工编号, 部门 and the like


class Found(NamedTuple):
    """One text of the registry in one view."""

    match: Match
    steps: tuple[str, ...]
    at: int


class Registry:
    """The texts to look for, by skin."""

    __slots__ = ("_digests", "_heads", "_marks", "_order", "_secrets", "_sentence", "_staff", "_texts")

    def __init__(self, marks: Marks) -> None:
        """Make an empty registry for the texts of the run with these `marks` (see `Mint.marks`)."""
        self._marks = Marks(*(mark.lower() for mark in marks))
        self._sentence = _sentence(self._marks.prose)
        self._order: list[Canary] = []
        self._secrets: dict[str, str] = {}
        self._clear()

    def _clear(self) -> None:
        self._texts: dict[Skin, dict[str, Canary]] = {skin: {} for skin in Skin}
        self._heads: dict[Skin, dict[str, str]] = {skin: {} for skin in Skin}
        self._staff: dict[str, dict[str, Canary]] = {}
        self._digests: dict[bytes, tuple[str, str]] = {}

    def __repr__(self) -> str:
        return f"Registry({len(self)} texts)"

    def __len__(self) -> int:
        return len(self._order) + len(self._secrets)

    def add(self, canary: Canary) -> None:
        """Look for the text of `canary` from now on; of two canaries with one text the newer owns it."""
        self._order.append(canary)
        skin = canary.skin
        for name, digest_of in COMMON_DIGESTS:
            self._digests[digest_of(canary.text.encode())] = (canary.token, name)
        if holds_token(skin):
            return
        key = _key(skin, canary.text)
        self._texts[skin][key] = canary
        if skin is Skin.PERSON:
            self._staff.setdefault(key[3:], {})[key[:3]] = canary
        if REACH[skin].unit:
            head = _head(skin, key)
            # Two texts that begin alike cannot be told apart by their beginning.
            self._heads[skin][head] = key if self._heads[skin].get(head, key) == key else ""

    def add_secret(self, name: str, secret: str) -> None:
        """Look for a secret of the user's own; a hit shows `name` in place of a token.

        Raises:
            UsageError: if the secret is short or common, with the reason (see `check_secret`).
        """
        self._secrets[check_secret(secret)] = name

    def clear_before(self, kept: int) -> None:
        """Forget all but the newest `kept` canaries; secrets stay."""
        canaries = self._order[max(0, len(self._order) - kept) :]
        self._order = []
        self._clear()
        for canary in canaries:
            self.add(canary)

    def digest_match(self, digest: bytes) -> tuple[str, str] | None:
        """The (token, algorithm) of a whole MD5, SHA-1 or SHA-256 digest of a text."""
        return self._digests.get(digest)

    def find(self, data: bytes, low: bytes, path: tuple[str, ...]) -> Iterator[Found]:
        """Every text in one view.

        Args:
            data: the view.
            low: its ASCII letters and digits, in lower case.
            path: the renderings that were undone to get it.
        """
        for canary, units, at in self._sightings(data, low):
            whole, reach, at = units < 0, REACH[canary.skin], _offset(data, canary, at)
            steps = _steps(data, canary, path, at) if whole else path or (Form.VERBATIM,)
            if applies(canary.skin, steps if whole else (*steps, Form.FRAGMENT)):
                tier = Tier.CONFIRMED if whole or units >= reach.confirmed else Tier.SUSPECT
                match = Match(canary.token, TOKEN_LENGTH if whole else PREFIX_LENGTH + units, tier)
                yield Found(match, steps, at)
        for secret, name in self._secrets.items():
            if secret.encode() in low or (not secret.isascii() and secret in _letters(data)):
                yield Found(Match(name, len(name), Tier.CONFIRMED), path or (Form.VERBATIM,), 0)
        for form, at, said in numerals(data) if path[-1:] not in _CODED else ():
            for found in self.find(said, said.translate(LETTERS, NO_LETTERS), (*path, form)):
                yield found._replace(at=at)

    def _sightings(self, data: bytes, low: bytes) -> Iterator[tuple[Canary, int, int]]:
        """(canary, units of a fragment or -1, place) of all that a view holds."""
        texts, marks = self._texts, self._marks
        if texts[Skin.UUID]:
            yield from self._marked(Skin.UUID, low, marks.uuid)
        if texts[Skin.DIGITS]:
            yield from self._marked(Skin.DIGITS, low.translate(None, _NO_DIGITS), marks.digits)
        if texts[Skin.PHONE]:
            yield from self._phones(data)
        if texts[Skin.PERSON] and not data.isascii():
            yield from self._persons(data)
        if texts[Skin.PROSE] and marks.prose.encode() in low:
            for match in self._sentence.finditer(low.decode()):
                words = " ".join(word for word in match.groups() if word)
                yield from self._begins(Skin.PROSE, words, match.start())

    def _marked(self, skin: Skin, view: bytes, mark: str) -> Iterator[tuple[Canary, int, int]]:
        for at in _places(view, mark.encode()):
            yield from self._begins(skin, view[at : at + _LENGTHS[skin]].decode(), at)

    def _begins(self, skin: Skin, candidate: str, at: int) -> Iterator[tuple[Canary, int, int]]:
        """The text that `candidate` is, or begins."""
        canary = self._texts[skin].get(candidate)
        if canary is not None:
            yield canary, -1, at
            return
        key = self._heads[skin].get(_head(skin, candidate))
        if key:
            yield self._texts[skin][key], _units(skin, key, candidate), at

    def _phones(self, data: bytes) -> Iterator[tuple[Canary, int, int]]:
        known = self._texts[Skin.PHONE]
        for match in _PHONE.finditer(data):
            canary = known.get("1" + match[1].translate(None, _NO_DIGITS).decode())
            before = data[max(0, match.start() - 5) : match.start()]
            if canary is not None and (not before[-1:].isdigit() or _COUNTRY.search(before)):
                yield canary, -1, match.start()

    def _persons(self, data: bytes) -> Iterator[tuple[Canary, int, int]]:
        for text in _readings(data):
            folded = _NO_NAME.sub("", unicodedata.normalize("NFKC", text))
            for match in _STAFF.finditer(folded):
                for name, canary in self._staff.get(match[1], {}).items():
                    if name in folded[max(0, match.start() - _NEAR) : match.end() + 7 + _NEAR]:
                        yield canary, -1, 0


def register(pool: Pool, marks: Marks, canary: Canary) -> None:
    """Look for `canary` in `pool`: for its token, and for the text that it wears.

    Args:
        pool: the tokens of the run.
        marks: `Mint.marks` of the run.
        canary: of any skin.
    """
    pool.add(canary.token)
    if canary.skin is not Skin.OPAQUE:
        if pool.registry is None:
            pool.registry = Registry(marks)
        pool.registry.add(canary)


def _places(view: bytes, literal: bytes) -> Iterator[int]:
    at = view.find(literal)
    while at >= 0:
        yield at
        at = view.find(literal, at + 1)


def _key(skin: Skin, text: str) -> str:
    if skin is Skin.UUID:
        return text.replace("-", "")
    if skin is Skin.PERSON:
        return _NO_NAME.sub("", text).replace("工号", "")
    if skin is Skin.PROSE:
        return " ".join(word for word in text.lower().split()[1:] if word not in ("the", "beside"))
    return text


def _head(skin: Skin, key: str) -> str:
    count = REACH[skin].suspect
    if skin is Skin.PROSE:
        return " ".join(key.split()[:count]) if key.count(" ") >= count - 1 else "-"
    return key[: _MARK + count] if len(key) >= _MARK + count else "-"


def _units(skin: Skin, key: str, candidate: str) -> int:
    """How many units the candidate has in common with the beginning of a text."""
    pairs: Iterator[tuple[str, str]]
    pairs = (
        zip(key.split(), candidate.split(), strict=False)
        if skin is Skin.PROSE
        else zip(key, candidate, strict=False)
    )
    count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return count if skin is Skin.PROSE else count - _MARK


def _sentence(name: str) -> re.Pattern[str]:
    lists = (ADVERBS, VERBS, ADJECTIVES, NOUNS, ADJECTIVES, NOUNS)
    one, two, three, four, five, six = (
        f"({'|'.join(sorted(words, key=len, reverse=True))})" for words in lists
    )
    return re.compile(f"{name}{one}{two}the{three}{four}(?:besidethe{five}{six}?)?")


def _steps(data: bytes, canary: Canary, path: tuple[str, ...], at: int) -> tuple[str, ...]:
    text = canary.text.encode()
    if text in data:
        return path or (Form.VERBATIM,)
    if text.lower() in data.lower():
        return (*path, Form.CASE)
    if any(canary.text.encode(name) in data for name in _UTF16):
        return (*path, Form.UTF16)
    plain = canary.skin is Skin.PERSON or data[at : at + 4 * len(text)].isascii()
    return (*path, Form.SEPARATED if plain else Form.ZERO_WIDTH)


def _offset(data: bytes, canary: Canary, at: int) -> int:
    """The offset in `data` of number `at` of what the skin is counted in."""
    verbatim = data.find(canary.text.encode())
    if verbatim >= 0 or canary.skin not in (Skin.UUID, Skin.PROSE, Skin.DIGITS):
        return max(verbatim, at)
    if canary.skin is Skin.DIGITS:
        return next(islice(_DIGIT.finditer(data), at, None)).start()
    return Offsets(data)(at)


def _readings(data: bytes) -> Iterator[str]:
    """What bytes may say in Chinese: UTF-8, else GB 18030; and UTF-16, where zero bytes lie between."""
    try:
        yield data.decode()
    except UnicodeDecodeError:
        yield data.decode("utf-8", "ignore")
        yield data.decode("gb18030", "ignore")
    for name in _UTF16 if b"\0" in data else ():
        yield data.decode(name, "ignore")
        yield data[1:].decode(name, "ignore")


def _letters(data: bytes) -> str:
    text = unicodedata.normalize("NFKC", data.decode("utf-8", "ignore")).casefold()
    return "".join(char for char in text if char.isalnum())
