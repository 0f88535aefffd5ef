"""Tokens that arrive in pieces: over the events of one recipient, or over the chunks of a stream.

`Seams` joins the consecutive events of one channel and recipient as text, at hardly any cost; `Stream` reads
chunks with all decodings and a bounded tail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from isolation_kit.canary import TOKEN_LENGTH
from isolation_kit.detect.automaton import Match, Pool
from isolation_kit.detect.forms import Budget, Form, Hit
from isolation_kit.detect.frames import FRAME, framed
from isolation_kit.detect.needles import LETTERS, NO_LETTERS
from isolation_kit.detect.runs import long_runs
from isolation_kit.detect.scan import scan
from isolation_kit.errors import UsageError

__all__ = ["REACH", "Seams", "Stream"]

REACH = 4 * 1024
_LETTERS = TOKEN_LENGTH - 1  # of what came before: with one more there is a whole token, no split one
_EDGE = 96  # bytes of an event's end and beginning that are read as letters
_EVENTS = 40  # as many as the pieces of a token, and as many others between them
_FIELDS = 64
_GLUE = 2 * 1024  # bytes of an encoded run that are kept
_SHORTEST = 16  # encoded characters of a fragment that may be confirmed
_STUCK = rb"[^\s\"'<>(){}\[\]]"
_BREAKS = b" \t\r\n\x0b\x0c\"'<>(){}[]"
_BLANKS = bytes(32 if byte in _BREAKS else byte for byte in range(256))
_NEAR = 128
_FIRST_RUN = re.compile(_STUCK + rb"{1,2048}")
# What is left of encoded text is capitals and digits; of words that meet at a seam, hardly anything.
_PLAIN = bytes(byte for byte in range(256) if not 48 <= byte <= 57 and not 65 <= byte <= 90)
_DEFAULT = Budget()


class _Trail:
    """The last letters of one stream of pieces, and where its last piece begins among them."""

    __slots__ = ("letters", "older")

    def __init__(self) -> None:
        self.letters = b""
        self.older = 0

    def join(self, piece: bytes, pool: Pool) -> list[Match]:
        """What lies across the seam before `piece`, which is folded; what may still grow waits."""
        seam = len(self.letters)
        joined = self.letters + piece[:_LETTERS]
        found: list[Match] = []
        if pool.head in joined:
            found = self._crossing(joined, seam, pool, len(joined) if len(piece) <= _LETTERS else -1)
        letters = (joined if len(piece) <= _LETTERS else piece)[-_LETTERS:]
        self.older = max(0, len(letters) - len(piece))
        self.letters = letters
        return found

    def close(self, pool: Pool) -> list[Match]:
        """What waited for more, now that nothing more comes."""
        return self._crossing(self.letters, len(self.letters), pool, -1)

    def _crossing(self, joined: bytes, seam: int, pool: Pool, growing: int) -> list[Match]:
        out = []
        at = joined.find(pool.head)
        while 0 <= at < seam:
            match = pool.match(joined[at : at + TOKEN_LENGTH])
            if match is not None:
                end = at + match.length
                # One character more may be chance: a fragment needs two on the other side.
                least = 1 if match.length == TOKEN_LENGTH else 2
                crosses = end - seam >= least or at < self.older <= end - least
                if crosses and (least == 1 or end != growing):
                    out.append(match)
            at = joined.find(pool.head, at + 1)
        return out


class Seams:
    """Joins the consecutive events of one channel and recipient and finds what lies across their seams.

    Events are joined in three ways: as letters, end to beginning; field by field, where they are JSON objects
    or lines of one template; and as encoded runs that one event ends with and the next goes on with. Its
    memory is bounded whatever the events are: 19 letters of each of 64 fields, two kilobytes of a run and
    of the event before.
    """

    __slots__ = ("_cut", "_end", "_fields", "_framed", "_glue", "_pool", "_told")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._cut = _cut_head(pool.prefix)
        self._end = _Trail()
        self._fields: dict[str, _Trail] = {}
        self._framed = 0  # events whose fields are still to be read
        self._glue = b""
        self._told: set[Hit] = set()

    def feed(self, data: bytes) -> tuple[Hit, ...]:
        """The tokens that are whole, or fragments that have ended, only now that `data` has come."""
        pool = self._pool
        found = self._end.join(_edges(data), pool)
        if len(data) <= FRAME:
            # Fields are worth reading only if one of them may end within a token.
            if self._cut.search(data):
                self._framed = _EVENTS
            if self._framed:
                self._framed -= 1
                found += self._fielded(data)
        hits = [_split(match) for match in found]
        if self._glue or data[-1:] not in _BREAKS:
            hits += self._glued(data)
        return self._new(hits)

    def close(self) -> tuple[Hit, ...]:
        """The fragments that still waited for more."""
        trails = (self._end, *self._fields.values())
        return self._new([_split(match) for trail in trails for match in trail.close(self._pool)])

    def _new(self, hits: list[Hit]) -> tuple[Hit, ...]:
        if not hits:
            return ()
        news = tuple(dict.fromkeys(hit for hit in hits if hit not in self._told))
        self._told.update(news)
        return news

    def _fielded(self, data: bytes) -> list[Match]:
        out = []
        for name, value in framed(data):
            trail = self._fields.get(name)
            if trail is None:
                if len(self._fields) >= _FIELDS:
                    continue
                trail = self._fields[name] = _Trail()
            out += trail.join(value.translate(LETTERS, NO_LETTERS), self._pool)
        return out

    def _glued(self, data: bytes) -> list[Hit]:
        first = _FIRST_RUN.match(data) if self._glue else None
        glued = self._glue + first[0] if first else b""
        seam = len(self._glue)
        if first is not None and first.end() == len(data):
            self._glue = glued[-_GLUE:]
        else:
            self._glue = _last_run(data)
        if len(glued) < _SHORTEST or not _may_encode(glued, seam):
            return []
        parts = (glued[:seam], glued[seam:])
        alone = {(hit.token, hit.form) for part in parts for hit in scan(part, self._pool).hits}
        hits = [hit for hit in scan(glued, self._pool).hits if (hit.token, hit.form) not in alone]
        return [hit._replace(form=_form(hit.form), offset=0) for hit in hits]


def _last_run(data: bytes) -> bytes:
    """What an event ends with, from its last blank, quote or bracket on."""
    if data[-1:] in _BREAKS:
        return b""
    for size in (_NEAR, _GLUE):
        end = data[-size:].translate(_BLANKS).rsplit(None, 1)[-1]
        if len(end) < size:
            break
    return data[-len(end) :]


@lru_cache(maxsize=8)
def _cut_head(prefix: str) -> re.Pattern[bytes]:
    """Where something that is not a key ends with a part of a token: one to nineteen of its characters."""
    one, two, three, four = tuple(prefix)
    rest = f"{two}(?:{three}(?:{four}[0-9a-z]{{0,15}}+)?+)?+(?![0-9A-Za-z])"
    return re.compile(f'{one}(?:{rest}|(?=\\s*\\Z|\\\\*"(?!\\s*:)))'.encode())


def _may_encode(run: bytes, seam: int) -> bool:
    left, right = run[max(0, seam - 24) : seam], run[seam : seam + 24]
    telling = len(right[1:].translate(None, _PLAIN)) + right[:1].isdigit()
    return telling > 0 and telling + len(left.translate(None, _PLAIN)) >= 3


def _edges(data: bytes) -> bytes:
    """The letters of an event: all of a short one, of a long one those at its ends with a gap between."""
    if len(data) <= 2 * _EDGE:
        return data.translate(LETTERS, NO_LETTERS)
    first = data[:_EDGE].translate(LETTERS, NO_LETTERS)
    return first + b"i" * TOKEN_LENGTH + data[-_EDGE:].translate(LETTERS, NO_LETTERS)


def _split(match: Match) -> Hit:
    whole = match.length == len(match.token)
    form = Form.SPLIT if whole else f"{Form.SPLIT}>{Form.FRAGMENT}"
    return Hit(match.token, form, match.tier, 0)


def _form(form: str) -> str:
    return Form.SPLIT if form == Form.VERBATIM else f"{Form.SPLIT}>{form}"


class Stream:
    """Reads the chunks of one stream with all decodings and finds what a scan of the whole text finds.

    It finds the same tokens at the same tier however the text is cut. It keeps the last `2 * reach` bytes and
    what has come since it last looked, which is at most as much again and one chunk. A rendering longer than
    `reach` bytes may be cut; the part of an encoded run that this touches is counted as unscanned.

    Args:
        pool: the tokens to look for.
        reach: longest rendering in bytes that is found wherever the chunks are cut; at least 256.
        budget: bounds of the work on what is looked at at once.
    """

    __slots__ = ("_budget", "_buffer", "_held", "_pool", "_reach", "_seen", "_start", "_whole", "unscanned")

    def __init__(self, pool: Pool, *, reach: int = REACH, budget: Budget = _DEFAULT) -> None:
        """Start at the beginning of a stream.

        Raises:
            UsageError: if `reach` is too small to hold a token in a common encoding.
        """
        if reach < 256:
            raise UsageError(
                f"a reach of {reach} bytes was given; it must be at least 256, for example {REACH}: a token "
                "in a nested encoding is that long. Leave `reach` out for the default"
            )
        self._pool, self._reach, self._budget = pool, reach, budget
        self._buffer = bytearray()
        self._start = 0  # of the buffer in the stream
        self._held: tuple[Hit, ...] = ()  # fragments that the next look may complete
        self._seen: set[tuple[str, str]] = set()
        self._whole: set[str] = set()
        self.unscanned = 0

    def feed(self, chunk: bytes) -> tuple[Hit, ...]:
        """The hits that have become certain with `chunk`, with their offsets in the stream."""
        self._buffer += chunk
        return () if len(self._buffer) < 4 * self._reach else self._look()

    def close(self) -> tuple[Hit, ...]:
        """The hits in what is left; the stream has ended."""
        hits = self._look()
        held, self._held = self._held, ()
        return (*hits, *self._new(held))

    def _look(self) -> tuple[Hit, ...]:
        """Scan the buffer and keep its end. What is cut there is whole next time."""
        result = scan(bytes(self._buffer), self._pool, budget=self._budget)
        self.unscanned += result.unscanned
        hits = [hit._replace(offset=self._start + hit.offset) for hit in result.hits]
        whole = self._new([hit for hit in hits if not hit.form.endswith(Form.FRAGMENT)])
        self._whole.update(hit.token for hit in whole)
        held, self._held = self._held, tuple(hit for hit in hits if hit.form.endswith(Form.FRAGMENT))
        gone = max(0, len(self._buffer) - 2 * self._reach)
        if gone:
            around = bytes(self._buffer[max(0, gone - self._reach) : gone + self._reach])
            self.unscanned += sum(len(run) for _, run in long_runs(around, self._reach))
        del self._buffer[:gone]
        self._start += gone
        return (*whole, *self._new(held))

    def _new(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """The hits not told yet, without fragments of tokens that were seen whole."""
        news = {(hit.token, hit.form): hit for hit in hits if (hit.token, hit.form) not in self._seen}
        self._seen.update(news)
        return tuple(
            hit
            for hit in news.values()
            if hit.token not in self._whole or not hit.form.endswith(Form.FRAGMENT)
        )
