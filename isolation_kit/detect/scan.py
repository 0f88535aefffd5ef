"""Find every token of a pool in one recorded event, in whatever rendering it travels.

The common case is an event without any token: one squashed view (ASCII letters and digits only) and a dozen
literal searches in it settle that. Every further decoding stands behind a gate that costs less than a
microsecond on a kilobyte.
"""

from __future__ import annotations

from collections import Counter

from isolation_kit.detect.automaton import Match, Pool
from isolation_kit.detect.blobs import decodings_of, digests_in, long_runs, packed_at, unpack
from isolation_kit.detect.decodings import BRANCHES, CHAIN, UNICODE_BRANCHES, near_escapes, strip_breaks
from isolation_kit.detect.forms import Budget, Form, Hit, ScanResult, Tier
from isolation_kit.detect.locate import NO_LETTERS, Sighting, locate
from isolation_kit.detect.needles import Needle

__all__ = ["Budget", "Form", "Hit", "Pool", "ScanResult", "Tier", "scan"]

WINDOW = 256 * 1024
OVERLAP = 4 * 1024
ROUNDS = 3
_DEFAULT = Budget()
_NOTHING = ScanResult()
_NO_COUNTS: Counter[Match] = Counter()


def scan(data: bytes, pool: Pool, *, decode: bool = True, budget: Budget = _DEFAULT) -> ScanResult:
    """Find the tokens of `pool` in `data`, each once per form, with the first offset.

    Args:
        data: the bytes of one event.
        pool: the tokens to look for.
        decode: also look into encodings; without it only the bytes as they are, in any case of letters.
        budget: bounds of the work; what it leaves unread is counted in `unscanned`, never silently clean.
    """
    if not len(pool):
        return _NOTHING
    work = _Work(pool, budget)
    if not decode:
        work.plain(data)
    elif len(data) <= WINDOW:
        work.view(data, (), 0, 0, 0)
    else:
        for start in range(0, max(1, len(data) - OVERLAP), WINDOW - OVERLAP):
            work.decoded_left = budget.decoded
            work.view(data[start : start + WINDOW], (), start, 0, OVERLAP)
        work.blobs(strip_breaks(data), (), 0, 0, least=OVERLAP, most=0)
    if not work.found and not work.unscanned:
        return _NOTHING
    return ScanResult(tuple(work.found.values()), work.unscanned)


class _Work:
    """The state of one scan: what was found, and what may still be spent."""

    __slots__ = ("blobs_left", "budget", "decoded_left", "done", "found", "pool", "unscanned")

    def __init__(self, pool: Pool, budget: Budget) -> None:
        self.pool = pool
        self.budget = budget
        self.found: dict[tuple[str, str], Hit] = {}
        self.unscanned = 0
        self.decoded_left = budget.decoded
        self.blobs_left = budget.blobs
        self.done: set[bytes] = set()

    def plain(self, data: bytes) -> None:
        """Only the bytes as they are."""
        low = data.lower()
        at = low.find(self.pool.prefix.encode())
        while at >= 0:
            match = self.pool.match(low[at : at + 20])
            if match is not None:
                verbatim = data[at : at + match.length] == match.token[: match.length].encode()
                self.report(match, Form.VERBATIM if verbatim else Form.CASE, (), at)
            at = low.find(self.pool.prefix.encode(), at + 1)

    def view(self, data: bytes, path: tuple[str, ...], base: int, depth: int, long: int) -> None:
        """Look at one view in all ways; `long`: leave runs of that length to the caller (0: none)."""
        text = strip_breaks(data)
        counts = self.surface(data, text, path, base, _NO_COUNTS)
        self.blobs(text, path, base, depth, most=long)
        if not data.isascii():
            self.packed(data, path, base, depth)
        self.unescape(data, path, base, depth, counts)

    def surface(
        self,
        data: bytes,
        text: bytes,
        path: tuple[str, ...],
        base: int,
        carried: Counter[Match],
        silent: bool = False,
    ) -> Counter[Match]:
        """Count the tokens of one view and report those that the view before did not hold as often."""
        kept = text.translate(None, NO_LETTERS)
        low = kept.lower()
        pool = self.pool
        seen: list[Sighting] = []
        for needle in pool.folded_needles:
            if needle[0] in low:
                seen += self.read(needle, low)
        for needle in pool.case_needles:
            if needle[0] in kept:
                seen += self.read(needle, kept)
        for needle in pool.raw_needles:
            if needle[0] in data:
                seen += self.read(needle, data, raw=True)
        if not seen:
            return _NO_COUNTS if silent else carried
        counts: Counter[Match] = Counter(item.match for item in seen)
        if silent:
            return counts
        news = [item for item in seen if counts[item.match] > carried[item.match]]
        for item, form, at in locate(data, news):
            self.report(item.match, form, path, base if path else base + at)
        return counts | carried

    def read(self, needle: Needle, view: bytes, raw: bool = False) -> list[Sighting]:
        """The matches behind every place of one needle."""
        out = []
        literal, form, reader = needle
        at = view.find(literal)
        while at >= 0:
            match = self.pool.match(reader(view, at))
            if match is not None:
                out.append(Sighting(match, form, at, len(literal), raw))
            at = view.find(literal, at + 1)
        return out

    def unescape(
        self, data: bytes, path: tuple[str, ...], base: int, depth: int, counts: Counter[Match]
    ) -> None:
        """Undo escapes to a fixpoint of three rounds, and look at every step."""
        near = near_escapes(data)
        if near is None:
            return
        if near is not data:
            counts = self.surface(near, strip_breaks(near), path, base, counts, silent=True)
        current, steps = near, path
        for round_number in range(ROUNDS + 1):
            before = current
            for form, decode in BRANCHES if current.isascii() else BRANCHES + UNICODE_BRANCHES:
                other = decode(current)
                if other is not None and self.spend(len(other)):
                    self.step(other, (*steps, form), base, depth, counts)
            for form, decode in CHAIN:
                after = decode(current)
                if after is None or after == current:
                    continue
                if round_number == ROUNDS or not self.spend(len(after)):
                    self.unscanned += len(after)
                    return
                current, steps = after, (*steps, form) if steps[-1:] != (form,) else steps
                counts = self.step(current, steps, base, depth, counts)
            if current is before:
                return

    def step(
        self, data: bytes, path: tuple[str, ...], base: int, depth: int, counts: Counter[Match]
    ) -> Counter[Match]:
        """Look at one un-escaped view, its long runs included."""
        text = strip_breaks(data)
        counts = self.surface(data, text, path, base, counts)
        self.blobs(text, path, base, depth)
        return counts

    def blobs(
        self, text: bytes, path: tuple[str, ...], base: int, depth: int, least: int = 0, most: int = 0
    ) -> None:
        """Decode the long runs of a view and look into what comes out."""
        for start, run in long_runs(text, least) if least else long_runs(text):
            if (most and len(run) >= most) or run in self.done:
                continue
            self.done.add(run)
            at = base if path else base + start
            self.run_tokens(run, path, at)
            if self.blobs_left <= 0 or depth >= self.budget.depth:
                self.unscanned += len(run)
                continue
            self.blobs_left -= 1
            for blob in decodings_of(run, self.budget.blob):
                self.unscanned += blob.unread
                if self.spend(len(blob.data)):
                    self.view(blob.data, (*path, blob.form), at, depth + 1, 0)
                else:
                    self.unscanned += len(blob.data)

    def run_tokens(self, run: bytes, path: tuple[str, ...], at: int) -> None:
        """Find base32 and digests in one run."""
        low = run.lower()
        for needle in self.pool.run_needles:
            if needle[0] in low:
                for item in self.read(needle, low):
                    self.report(item.match, item.form, path, at)
        for digest in digests_in(run):
            match = self.pool.digest_match(digest)
            if match is not None:
                token, name = match
                self.report(Match(token, len(token), Tier.CONFIRMED), f"{Form.DIGEST}:{name}", path, at)

    def packed(self, data: bytes, path: tuple[str, ...], base: int, depth: int) -> None:
        """Unpack compressed streams wherever they begin."""
        for at in packed_at(data):
            blob = unpack(data[at:], self.budget.blob)
            if blob is None:
                continue
            self.unscanned += blob.unread
            if depth < self.budget.depth and self.blobs_left > 0 and self.spend(len(blob.data)):
                self.blobs_left -= 1
                self.view(blob.data, (*path, blob.form), base if path else base + at, depth + 1, 0)
            else:
                self.unscanned += len(blob.data)

    def spend(self, size: int) -> bool:
        """Take `size` bytes from the budget of decoded views."""
        if size > self.decoded_left:
            return False
        self.decoded_left -= size
        return True

    def report(self, match: Match, form: str, path: tuple[str, ...], offset: int) -> None:
        """Keep the first hit of this token in this form; a whole token beats its own fragment."""
        whole = match.length == len(match.token)
        steps = path if form == Form.VERBATIM and (path or not whole) else (*path, form)
        if not whole:
            steps = (*steps, Form.FRAGMENT)
        key = (match.token, ">".join(steps))
        if key not in self.found:
            self.found[key] = Hit(match.token, key[1], match.tier, offset)
