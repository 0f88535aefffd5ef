"""The work of one scan: every way to look at a view, each behind a gate, and what may still be spent.

The common case is a view without anything hidden: the sieve settles that in one pass. Every further decoding
stands behind a gate that costs less than a microsecond on a kilobyte.
"""

from __future__ import annotations

from isolation_kit.canary import TOKEN_LENGTH
from isolation_kit.detect.automaton import Match, Pool
from isolation_kit.detect.blobs import Profile, decodings_of, profile
from isolation_kit.detect.ciphers import LONGEST, readings_of
from isolation_kit.detect.decodings import (
    BRANCHES,
    CHAIN,
    UNICODE_BRANCHES,
    strip_breaks,
)
from isolation_kit.detect.engine import count
from isolation_kit.detect.escapes import many_equals, near_escapes
from isolation_kit.detect.findings import Findings
from isolation_kit.detect.forms import Budget, Form, Tier
from isolation_kit.detect.layouts import CARRIERS, layouts
from isolation_kit.detect.needles import LETTERS, NO_LETTERS
from isolation_kit.detect.packed import Blob, packed_at, unpack
from isolation_kit.detect.runs import long_runs
from isolation_kit.detect.sieve import MIN_RUN, Sieve, is_token, promising, stretches
from isolation_kit.detect.surface import (
    Counts,
    counts_in,
    hidden,
    plain_and,
    read,
    search,
)

__all__ = ["Work"]

ROUNDS = 3
_REMEMBERED = 1 << 16  # parts; that a part was looked at already is a matter of speed alone


def _folded(data: bytes) -> bytes:
    """The ASCII letters and digits of a view, in lower case."""
    return data.translate(LETTERS, NO_LETTERS)


class Work(Findings):
    """The state of one scan: what was found, and what may still be spent."""

    __slots__ = (
        "blobs_left",
        "budget",
        "decoded_left",
        "done",
        "long_runs",
        "parts",
        "runs_left",
        "unscanned",
    )

    def __init__(self, pool: Pool, budget: Budget) -> None:
        super().__init__(pool)
        self.budget = budget
        self.unscanned = 0
        self.long_runs = False
        self.decoded_left = budget.decoded
        self.blobs_left = budget.blobs
        self.runs_left = budget.runs
        self.done: set[bytes] = set()
        self.parts: set[bytes] = set()

    def view(self, data: bytes, path: tuple[str, ...], base: int, depth: int, long: int) -> None:
        """Look at one view in all ways; `long`: leave runs of that length to the caller (0: none)."""
        pool = self.pool
        sieve = pool.sieve(len(data)) if pool.registry is None else None
        heads = count(data, pool.head)
        whole = self.whole(data, path, base, heads)
        many = many_equals(data)
        if sieve is not None and heads == whole and not many and sieve.marks(data, 0)[0] < 0:
            self.runs(data, data, sieve, path, base, depth, long)
            self.packed(data, path, base, depth)
            return
        text = strip_breaks(data)
        low = _folded(text)
        loose = low.count(pool.head) != whole
        found = hidden(data, text, low, pool)
        if loose or found:
            self.surface(plain_and(found, low, pool), data, path, base, {})
        if pool.registry is not None:
            self.registered(data, low, path, base)
        self.runs(data, text, None if loose else sieve, path, base, depth, long)
        self.laid_out(text, low, path, base, depth, whole)
        self.packed(data, path, base, depth)
        if sieve is None or loose or many or sieve.escapes(data, 0)[0] >= 0:
            near = near_escapes(data, pool.head, loose)
            if near is not None:
                seen = search(near, strip_breaks(near), pool)
                self.unescape(near, path, base, depth, counts_in(seen))

    def runs(
        self,
        data: bytes,
        text: bytes,
        sieve: Sieve | None,
        path: tuple[str, ...],
        base: int,
        depth: int,
        long: int,
    ) -> None:
        """Look into the long runs of a view; `text` is `data` with its escaped line breaks made real."""
        if sieve is None:
            self.blobs(text, path, base, depth, most=long)
            return
        if len(self.parts) > _REMEMBERED:
            self.parts.clear()
        pool = self.pool
        parts = stretches(data, pool.head, pool.tokens, pool.dull, self.parts)
        if parts:
            some = promising(parts, sieve)
            pool.bore(parts, some)
            for start, part in some:
                self.blobs(strip_breaks(part), path, base if path else base + start, depth, most=long)

    def unescape(self, data: bytes, path: tuple[str, ...], base: int, depth: int, counts: Counts) -> None:
        """Undo escapes to a fixpoint of three rounds, and look at every step."""
        current, steps = data, path
        for round_number in range(ROUNDS + 1):
            before = current
            for form, decode in BRANCHES if current.isascii() else BRANCHES + UNICODE_BRANCHES:
                other = decode(current)
                if other is None or other == current:
                    continue
                if self.spend(len(other)):
                    self.step(other, (*steps, form), base, depth, counts)
                    self.laid_out(other, _folded(other), (*steps, form), base, depth)
                else:
                    self.unscanned += len(other)
            for form, decode in CHAIN:
                after = decode(current)
                if after is None or after == current:
                    continue
                if round_number == ROUNDS or not self.spend(len(after)):
                    self.unscanned += len(after)
                    return
                current, steps = after, (*steps, form) if steps[-1:] != (form,) else steps
                counts = self.step(current, steps, base, depth, counts)
                self.laid_out(current, _folded(current), steps, base, depth)
            if current is before:
                return

    def step(self, data: bytes, path: tuple[str, ...], base: int, depth: int, counts: Counts) -> Counts:
        """Look at one un-escaped view, its long runs included."""
        text = strip_breaks(data)
        counts = counts_in(self.surface(search(data, text, self.pool), data, path, base, counts), counts)
        if self.pool.registry is not None:
            self.registered(data, _folded(text), path, base)
            sieve = None
        else:
            sieve = self.pool.sieve(len(data))
        self.runs(data, text, sieve, path, base, depth, 0)
        return counts

    def laid_out(
        self, text: bytes, low: bytes, path: tuple[str, ...], base: int, depth: int, exact: int = 0
    ) -> None:
        """Look into the seldom layouts of a view."""
        head, anything = self.pool.head, self.pool.registry is not None
        sieve = None if anything or low.count(head) != exact else self.pool.sieve(0)
        if sieve is not None and sieve.layouts(text, 0)[0] < 0:
            return
        for form, other in layouts(text, low, head):
            if not self.spend(len(other)):
                self.unscanned += len(other)
            # Most markup hides nothing: only what spells more tokens is worth a search.
            elif anything or form in CARRIERS or self.spelled(_folded(other)) > self.spelled(low):
                counts = counts_in(search(text, text, self.pool)) if head in low else {}
                self.step(other, (*path, form), base, depth, counts)

    def spelled(self, low: bytes) -> int:
        """How many tokens, or what proves one, a folded view spells."""
        match, head, count = self.pool.match, self.pool.head, 0
        at = low.find(head)
        while at >= 0:
            count += match(low[at : at + TOKEN_LENGTH]) is not None
            at = low.find(head, at + 1)
        return count

    def blobs(
        self, text: bytes, path: tuple[str, ...], base: int, depth: int, least: int = 0, most: int = 0
    ) -> None:
        """Decode the long runs of a view and look into what comes out."""
        head, tokens = self.pool.head, self.pool.tokens
        for start, run in long_runs(text, least or MIN_RUN):
            if most and len(run) >= most // 4:  # line breaks may have taken their share of the overlap
                self.long_runs = True
            if (
                run in tokens
                or (most and len(run) >= most)
                or run in self.done
                or is_token(run, head, tokens)
            ):
                continue
            if self.runs_left <= 0:
                self.unscanned += len(run)
                continue
            self.runs_left -= 1
            self.done.add(run)
            known = profile(run)
            at = base if path else base + start
            for form, said, written in readings_of(run, self.pool.head) if len(run) <= LONGEST else ():
                match = self.pool.leet_match(said, written) if written else self.pool.match(said)
                if match is not None:
                    self.report(match, form, path, at)
            if known.base32 or known.digests:
                self.run_tokens(run, known, path, at)
            if known.blobs != ():
                self.decode(run, known.blobs, path, at, depth)

    def run_tokens(self, run: bytes, known: Profile, path: tuple[str, ...], at: int) -> None:
        """Find base32 and digests in one run."""
        if known.base32:
            low = run.lower()
            for needle in self.pool.run_needles:
                if needle[0] in low:
                    for item in read(needle, low, self.pool):
                        self.report(item.match, item.form, path, at)
        for digest in known.digests:
            found = self.pool.digest_match(digest)
            if found is not None:
                token, name = found
                self.report(Match(token, len(token), Tier.CONFIRMED), f"{Form.DIGEST}:{name}", path, at)

    def decode(
        self, run: bytes, blobs: tuple[Blob, ...] | None, path: tuple[str, ...], at: int, depth: int
    ) -> None:
        """Look into every reading of one run: `blobs`, or what is still to be decoded."""
        if self.blobs_left <= 0 or depth >= self.budget.depth:
            self.unscanned += len(run)
            return
        self.blobs_left -= 1
        for blob in decodings_of(run, self.budget.blob) if blobs is None else blobs:
            self.unscanned += blob.unread
            if self.spend(len(blob.data)):
                self.view(blob.data, (*path, blob.form), at, depth + 1, 0)
            else:
                self.unscanned += len(blob.data)

    def packed(self, data: bytes, path: tuple[str, ...], base: int, depth: int) -> None:
        """Unpack compressed streams wherever they begin."""
        view = memoryview(data)
        for at in packed_at(data):
            if self.blobs_left <= 0 or depth >= self.budget.depth:
                self.unscanned += len(data) - at
                return
            self.blobs_left -= 1
            blob = unpack(view[at:], self.budget.blob)
            if blob is None:
                # Each vain try may have copied the rest of the view, so there are fewer of these.
                self.blobs_left -= 15
                continue
            self.unscanned += blob.unread
            if self.spend(len(blob.data)):
                self.view(blob.data, (*path, blob.form), base if path else base + at, depth + 1, 0)
            else:
                self.unscanned += len(blob.data)

    def spend(self, size: int) -> bool:
        """Take `size` bytes from the budget of decoded views."""
        if size > self.decoded_left:
            return False
        self.decoded_left -= size
        return True
