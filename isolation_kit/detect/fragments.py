"""Fragments without the run's prefix: eight characters of a live token's body in a row.

They are looked for among the few tokens of one case only: what a run of 32 random characters costs is some
microseconds, and a false alarm needs 40 equal bits.
"""

from __future__ import annotations

from collections.abc import Iterable

from isolation_kit.canary import ALPHABET, PREFIX_LENGTH, TOKEN_LENGTH
from isolation_kit.detect.automaton import CONFIRMED_AT, SUSPECT_AT
from isolation_kit.detect.forms import Form, Hit, Tier

__all__ = ["Bodies", "body_runs", "may_hold"]

_BLOCK = 4
_BODY = TOKEN_LENGTH - PREFIX_LENGTH
_LEAST = SUSPECT_AT - PREFIX_LENGTH
_SURE = CONFIRMED_AT - PREFIX_LENGTH
_RUN_MARKS = bytes(97 if chr(byte) in ALPHABET else 32 for byte in range(256))
_RUN = b"a" * _LEAST


def body_runs(data: bytes, head: bytes) -> tuple[bytes, ...]:
    """The runs of at least eight base32 characters in which a token's body may lie without its `head`."""
    if head in data:
        # What begins with the head is for the scan; what lies around it is not.
        first, *others = data.split(head)
        data = b" ".join([first, *[part[_BODY:] if part[:_BODY].isalnum() else part for part in others]])
    marks = data.translate(_RUN_MARKS)
    at = marks.find(_RUN)
    if at < 0:
        return ()
    out = []
    while at >= 0:
        end = marks.find(b" ", at + _LEAST)
        if end < 0:
            out.append(data[at:])
            break
        out.append(data[at:end])
        at = marks.find(_RUN, end)
    return tuple(out)


def may_hold(runs: Iterable[bytes], tokens: Iterable[str]) -> bool:
    """Whether any run may share eight characters with a token; hardly ever true by chance."""
    text = " ".join(tokens).encode()
    # Of eight in a row, five are at a place that four divides, wherever they begin.
    return any(run[at : at + 5] in text for run in runs for at in range(0, len(run) - 4, 4))


class Bodies:
    """An index of a few tokens by four blocks of four characters: eight in a row always hold one of them."""

    __slots__ = ("_blocks",)

    def __init__(self, tokens: Iterable[str]) -> None:
        """Index the tokens to look for, four entries each."""
        self._blocks: dict[bytes, list[tuple[bytes, int]]] = {}
        for token in map(str.encode, tokens):
            for at in range(0, _BODY, _BLOCK):
                block = token[PREFIX_LENGTH + at : PREFIX_LENGTH + at + _BLOCK]
                self._blocks.setdefault(block, []).append((token, at))

    def find(self, runs: Iterable[bytes]) -> tuple[Hit, ...]:
        """The tokens of which eight characters or more, counted after the prefix, stand in `runs`."""
        best: dict[str, int] = {}
        for run in runs:
            for start in range(len(run) - _BLOCK + 1):
                for token, at in self._blocks.get(run[start : start + _BLOCK], ()):
                    length = _around(run, start, token[PREFIX_LENGTH:], at)
                    if length >= _LEAST:
                        best[token.decode()] = max(length, best.get(token.decode(), 0))
        return tuple(
            Hit(token, Form.FRAGMENT, Tier.CONFIRMED if length >= _SURE else Tier.SUSPECT, 0)
            for token, length in best.items()
        )


def _around(run: bytes, start: int, body: bytes, at: int) -> int:
    """How many characters of `run` and `body` agree around two places that do."""
    first, last = 0, 0
    while first < min(start, at) and run[start - first - 1] == body[at - first - 1]:
        first += 1
    while last < min(len(run) - start, len(body) - at) and run[start + last] == body[at + last]:
        last += 1
    return first + last
