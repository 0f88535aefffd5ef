"""The terms of a text, their keyed digests, and the tokens of a text, each text counted once.

Words in which two texts meet tell where one came from (article 002, 6.2). A digest of a term can be compared
by who holds the key and read by nobody; a text is remembered by its hash and length, so none is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.text import Digest
from isolation_kit.runtime.tokens import utf8_ceiling

__all__ = ["Measure", "message_text", "terms"]

_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[^\W{_HAN}]{{3,}}")
_UNSPACED = re.compile(f"[{_HAN}]{{2,}}")
_ESCAPE = re.compile(r"\\(?:[nrtbf]|u[0-9a-fA-F]{4})")
_REMEMBERED = 4096


def terms(text: str) -> set[str]:
    """Words of three letters or more, folded; two neighbouring characters where a script has no spaces."""
    if "\\" in text:  # texts in a brief are JSON strings: `\nword` is a word, not `nword`
        text = _ESCAPE.sub(" ", text)
    if text.isascii():
        return set(_WORD.findall(text.lower()))
    folded = text.casefold()
    pairs = (run[start : start + 2] for run in _UNSPACED.findall(folded) for start in range(len(run) - 1))
    return {*_WORD.findall(folded), *pairs}


def message_text(message: Message) -> str:
    """All of a message that a model reads: its content, and the calls that it holds."""
    if not message.calls:
        return message.content
    return f"{message.content} {[(call.name, dict(call.arguments)) for call in message.calls]}"


class Measure:
    """Tokens of texts, digests of terms.

    Args:
        count: tokens of a text; asked once for each text, so it may be slow.
        digest: keyed.

    `tokens(text)` is how many tokens a text has.
    """

    def __init__(self, count: Callable[[str], int], digest: Digest) -> None:
        self._count = count
        self._digest = digest
        self._tokens: dict[tuple[int, int], int] = {}
        self._digests: dict[int, str] = {}
        # The bytes of a text are counted faster than the text is found among those counted before.
        self.tokens: Callable[[str], int] = count if count is utf8_ceiling else self._remembered

    def _remembered(self, text: str) -> int:
        key = (hash(text), len(text))
        known = self._tokens.get(key)
        if known is None:
            if len(self._tokens) >= _REMEMBERED:
                self._tokens.clear()
            known = self._tokens[key] = self._count(text)
        return known

    def digests(self, words: Iterable[str]) -> list[str]:
        """The keyed digests of terms, sorted, so that their order tells nothing."""
        known = self._digests.get
        return sorted([known(hash(word)) or self._digest_of(word) for word in words])

    def _digest_of(self, word: str) -> str:
        if len(self._digests) >= _REMEMBERED:
            self._digests.clear()
        made = self._digests[hash(word)] = self._digest(word.encode("utf-8", "surrogatepass"))
        return made
