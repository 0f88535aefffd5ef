"""The terms of a text as keyed digests, and its tokens, each text measured once.

Words in which two texts meet tell where one came from (article 002, 6.2). A digest of a term can be compared
by who holds the key and read by nobody; a text is remembered by its hash and length, so none is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.text import Digest, canonical

__all__ = ["Measure", "message_text", "terms"]

_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TERM = re.compile(rf"[{_HAN}]{{2,}}|[^\W{_HAN}]{{3,}}")
_UNSPACED = re.compile(f"[{_HAN}]")
_ESCAPE = re.compile(r"\\(?:[nrtbf]|u[0-9a-fA-F]{4})")
_REMEMBERED = 4096


def terms(text: str) -> Iterator[str]:
    """Words of three letters or more, folded; two neighbouring characters where a script has no spaces."""
    if "\\" in text:  # texts in a brief are JSON strings: `\nword` is a word, not `nword`
        text = _ESCAPE.sub(" ", text)
    for run in _TERM.findall(text.casefold()):
        if _UNSPACED.match(run):
            yield from (run[start : start + 2] for start in range(len(run) - 1))
        else:
            yield run


def message_text(message: Message) -> str:
    """All of a message that a model reads: its content, and the calls that it holds."""
    if not message.calls:
        return message.content
    calls = [[call.name, dict(call.arguments)] for call in message.calls]
    return f"{message.content}{canonical(calls)}"


class Measure:
    """Tokens and terms of texts.

    Args:
        count: tokens of a text; counted once for each text, so it may be slow.
        digest: keyed.
    """

    def __init__(self, count: Callable[[str], int], digest: Digest) -> None:
        self._count = count
        self._digest = digest
        self._tokens: dict[tuple[int, int], int] = {}
        self._terms: dict[tuple[int, int], frozenset[str]] = {}

    def tokens(self, text: str) -> int:
        """How many tokens a text has."""
        key = (hash(text), len(text))
        known = self._tokens.get(key)
        if known is None:
            if len(self._tokens) >= _REMEMBERED:
                self._tokens.clear()
            known = self._tokens[key] = self._count(text)
        return known

    def terms(self, text: str) -> frozenset[str]:
        """The digests of a text's terms."""
        key = (hash(text), len(text))
        known = self._terms.get(key)
        if known is None:
            if len(self._terms) >= _REMEMBERED:
                self._terms.clear()
            digest = self._digest
            known = self._terms[key] = frozenset(
                digest(term.encode("utf-8", "surrogatepass")) for term in set(terms(text))
            )
        return known
