"""What one scan has found so far, each token once a form, and how it is told."""

from __future__ import annotations

from isolation_kit.canary import TOKEN_LENGTH
from isolation_kit.detect.automaton import Match, Pool
from isolation_kit.detect.engine import find
from isolation_kit.detect.forms import Form, Hit, Tier
from isolation_kit.detect.locate import Offsets, locate, locate_plain
from isolation_kit.detect.surface import MANY, Counts, Surface, candidates_of, counts_in

__all__ = ["Findings"]

_VERBATIM, _CONFIRMED = Form.VERBATIM, Tier.CONFIRMED


class Findings:
    """The hits of one scan."""

    __slots__ = ("found", "pool", "worn")

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.found: dict[tuple[str, str], Hit] = {}
        self.worn: dict[str, int] = {}

    def plain(self, data: bytes) -> None:
        """Only the bytes as they are."""
        low, head = data.lower(), self.pool.head
        at = low.find(head)
        while at >= 0:
            match = self.pool.match(low[at : at + 20])
            if match is not None:
                verbatim = data[at : at + match.length] == low[at : at + match.length]
                self.report(match, Form.VERBATIM if verbatim else Form.CASE, (), at)
            at = low.find(head, at + 1)

    def whole(self, data: bytes, path: tuple[str, ...], base: int, heads: int = 1) -> int:
        """Report the tokens that a view spells exactly, and return how often; `heads`: its prefixes."""
        tokens, head, number = self.pool.tokens, self.pool.head, 0
        if not heads or (heads > MANY and tokens.keys().isdisjoint(candidates_of(head, data))):
            return 0
        form = ">".join(path) if path else _VERBATIM
        at = find(data, head)
        while at >= 0:
            token = tokens.get(data[at : at + TOKEN_LENGTH])
            if token is not None:
                number += 1
                if (token, form) not in self.found:
                    self.found[token, form] = Hit(token, form, _CONFIRMED, base if path else base + at)
            at = find(data, head, at + 1)
        return number

    def surface(
        self, seen: Surface, data: bytes, path: tuple[str, ...], base: int, carried: Counts
    ) -> Surface:
        """Report the tokens of one view that the view before it did not hold as often."""
        offsets: Offsets | None = None
        for token, places in seen.plain.items():
            if len(places) <= carried.get(token, 0):
                continue
            at = data.find(token.encode())
            if at >= 0:
                self.report(
                    Match(token, TOKEN_LENGTH, _CONFIRMED), _VERBATIM, path, base if path else base + at
                )
            if at < 0 or (len(places) > 1 and len(places) > data.count(token.encode())):
                offsets = offsets or Offsets(data)
                for match, form, at in locate_plain(data, offsets, token, places):
                    self.report(match, form, path, base if path else base + at)
        if seen.others:
            counts = counts_in(seen)
            news = [item for item in seen.others if counts[item.match] > carried.get(item.match, 0)]
            for match, form, at in locate(data, offsets or Offsets(data), news):
                self.report(match, form, path, base if path else base + at)
        return seen

    def registered(self, data: bytes, low: bytes, path: tuple[str, ...], base: int) -> None:
        """Report the texts that no prefix gives away, each in the first form in which it is met."""
        registry = self.pool.registry
        for match, steps, at in registry.find(data, low, path) if registry is not None else ():
            if self.worn.get(match.token, 0) < match.length:
                self.worn[match.token] = match.length
                self.report(match, steps[-1], steps[:-1], base if path else base + at)

    def report(self, match: Match, form: str, path: tuple[str, ...], offset: int) -> None:
        """Keep the first hit of this token in this form; a whole token beats its own fragment."""
        whole = match.length == len(match.token)
        steps = path if form == Form.VERBATIM and (path or not whole) else (*path, form)
        if not whole:
            steps = (*steps, Form.FRAGMENT)
        key = (match.token, ">".join(steps))
        if key not in self.found:
            self.found[key] = Hit(match.token, key[1], match.tier, offset)
