"""Judges what a user got back, headers and body, and what a child saw, against all tokens of the run.

Matching while loading is cheap: a whole token is found by one literal search for the run's prefix. All
decodings are undone only where something is odd (a required token is missing, an error answer, half a token,
the prefix in a common encoding), in a sample, and in everything after a leak that only decoding showed, so
that its share is not the sample's; a report says in how many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b

from isolation_kit.detect import Pool, scan
from isolation_kit.finding import Direction, Finding, Fingerprint, Verdict
from isolation_kit.load.hints import encoded, readings
from isolation_kit.load.identity import LoadTurn
from isolation_kit.load.tokens import Owner, Tokens
from isolation_kit.policy import Policy, audience
from isolation_kit.scenario import Slot
from isolation_kit.trace import Channel

__all__ = ["SAMPLE", "Checker", "Seen"]

SAMPLE = 100  # one response in so many is decoded whatever it looks like
_HEADER = "header"  # before the form of what stands in a header, for a report
_PLAIN = frozenset({"verbatim", _HEADER})  # forms that are seen without decoding
_UNFOLDED = 16 << 10  # bytes of which every reading is looked at, for tokens of other processes
_POOL = 8192  # tokens after which a pool begins anew with the recent ones
_TASKS = frozenset({Slot.TASK_GOAL, Slot.TASK_INPUT})
_AUDIENCE = {channel: audience(channel) for channel in (Channel.CHILD_REQUEST, Channel.FINAL_OUTPUT)}


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look came to: findings, and whether decodings were undone."""

    findings: tuple[Finding, ...] = ()
    decoded: bool = False
    unread: int = 0


class Checker:
    """The judge of one process.

    Args:
        target: the service's name in reports; `root` is its parent's.
    """

    def __init__(
        self,
        tokens: Tokens,
        policy: Policy,
        target: str = "service",
        root: str = "parent",
    ) -> None:
        self._tokens = tokens
        self._policy = policy
        self._target = target
        self._root = root
        self._count = 0
        self._pool = Pool(tokens.prefix.decode())
        self._pooled: set[str] = set()
        self._hints = encoded(tokens.prefix)
        self._wary = False  # something leaked in a form that only decoding shows

    def response(self, turn: LoadTurn, data: bytes, *, complete: bool, head: bytes = b"") -> Seen:
        """Judge a response.

        Args:
            data: its body, in which the user's own tokens must stand.
            head: its header lines: what must not be there must not be there either.
            complete: True if it is a whole answer, so that what is missing is lost.
        """
        self._count += 1
        channel = Channel.FINAL_OUTPUT
        owners = list(self._tokens.owners(data))
        found = self._judged(owners, turn.owner, turn.since, self._root, channel)
        lost = complete and any(token.encode() not in data for token in turn.required)
        odd = lost or (not complete and data != b"") or data.count(self._tokens.prefix) > len(owners)
        looked = self._due() or self._hidden(b"%s\n%s" % (data, head))  # one search for both
        decoded, unread = odd or looked, 0
        if decoded:
            hits, unread = self._hits(data, turn.required)
            found += self._decoded(data, hits, turn.owner, turn.since, self._root, channel)
            lost = lost and not {token for token, _ in hits}.issuperset(turn.required)
        if looked or self._tokens.prefix in head:
            found += self._in_head(head, turn, looked=looked)
        if lost:
            found.append(
                self._finding(_TASK_LOST, self._root, channel, "", Verdict.LOSS, "verbatim", turn.owner)
            )
        return self._seen(found, decoded, unread)

    def _in_head(self, head: bytes, turn: LoadTurn, *, looked: bool) -> list[Finding]:
        """What leaks in header lines: like the body's, the form says where it stood."""
        owners = list(self._tokens.owners(head))
        channel = Channel.FINAL_OUTPUT
        found = self._judged(owners, turn.owner, turn.since, self._root, channel, _HEADER)
        if not looked and head.count(self._tokens.prefix) == len(owners):
            return found  # whole tokens only, as in the body
        hits, _ = self._hits(head, ())
        hidden = self._decoded(head, hits, turn.owner, turn.since, self._root, channel)
        return found + [replace(item, form=f"{_HEADER}>{item.form}") for item in hidden]

    def view(self, user: str, agent: str, text: str, *, whole: bool) -> Seen:
        """Judge what one child saw.

        Args:
            whole: True if the child came to its end, so that it must have seen a task of its user.
        """
        self._count += 1
        number, data = self._tokens.user(user), text.encode("utf-8", "surrogatepass")
        if number < 0:
            return Seen()  # somebody else's user: not of this run
        owners = list(self._tokens.owners(data))
        found = self._judged(owners, number, 0, agent, Channel.CHILD_REQUEST)
        odd = data.count(self._tokens.prefix) > len(owners) or self._hidden(data)
        decoded, unread = odd or self._due(), 0
        if decoded:
            hits, unread = self._hits(data, ())
            found += self._decoded(data, hits, number, 0, agent, Channel.CHILD_REQUEST)
        if whole and not any(owner.user == number and owner.slot in _TASKS for owner in owners):
            found.append(
                self._finding(_TASK_LOST, agent, Channel.CHILD_REQUEST, "", Verdict.LOSS, "verbatim", number)
            )
        return self._seen(found, decoded, unread)

    def _judged(
        self,
        owners: list[Owner],
        user: int,
        since: int,
        agent: str,
        channel: Channel,
        form: str = "verbatim",
    ) -> list[Finding]:
        out = []
        for owner in owners:
            direction = _direction(owner, user, since, channel)
            if direction is not None:
                out.append(
                    self._finding(owner.slot, agent, channel, direction, Verdict.LEAK, form, owner.user)
                )
        return out

    def _due(self) -> bool:
        """True if all decodings are undone whatever it looks like."""
        return self._wary or self._count % SAMPLE == 0

    def _seen(self, found: list[Finding], decoded: bool, unread: int) -> Seen:
        once = _once(found)
        self._wary = self._wary or any(
            item.kind is Verdict.LEAK and item.counts and item.form not in _PLAIN for item in once
        )
        return Seen(once, decoded, unread)

    def _hidden(self, data: bytes) -> bool:
        """True if the run's prefix stands in `data` in a common encoding: then all of them are undone."""
        return any(hint in data for hint in self._hints)

    def _decoded(
        self, data: bytes, hits: list[tuple[str, str]], user: int, since: int, agent: str, channel: Channel
    ) -> list[Finding]:
        """What stands in other forms; tokens that this process never saw are read only where a hint is."""
        out: list[Finding] = []
        for token, form in hits:
            owner = self._tokens.owner(token)
            if owner is not None and form != "verbatim":
                out += self._judged([owner], user, since, agent, channel, form)
        if not out and self._hidden(data):
            for form, reading in readings(data[:_UNFOLDED]):
                owners = list(self._tokens.owners(reading))
                out += self._judged(owners, user, since, agent, channel, form)
        return out

    def _hits(self, data: bytes, own: tuple[str, ...]) -> tuple[list[tuple[str, str]], int]:
        """Tokens with the form in which they stand, all decodings undone, and the bytes left unread."""
        if len(self._pooled) > _POOL:
            self._pool, self._pooled = Pool(self._tokens.prefix.decode()), set()
        for token in {*self._tokens.recent, *own} - self._pooled:
            self._pool.add(token)
            self._pooled.add(token)
        result = scan(data, self._pool)
        return [(hit.token, hit.form) for hit in result.hits if hit.tier == "confirmed"], result.unscanned

    def _finding(
        self, what: str, agent: str, channel: Channel, direction: str, kind: Verdict, form: str, owner: int
    ) -> Finding:
        edge = agent if agent == self._root else f"{self._root}>{agent}"
        return Finding(
            Fingerprint(self._target, edge, what, str(channel), str(direction or Direction.DOWN)),
            "canary",
            kind=kind,
            form=form,
            user=owner,
            digest=_digest(self._target, what, owner),
            allowed_by=self._policy.allowed_by(what, str(channel), agent, str(direction)),
        )


_TASK_LOST = str(Slot.TASK_INPUT)


def _direction(owner: Owner, user: int, since: int, channel: Channel) -> Direction | None:
    """Which way a token came that `user` sees, or None if it may be there."""
    if owner.user != user:
        return Direction.ACROSS
    if owner.serial <= since and since:
        return Direction.AFTER
    if owner.slot in _AUDIENCE[channel]:
        return None
    return Direction.DOWN if channel is Channel.CHILD_REQUEST else Direction.UP


def _once(found: list[Finding]) -> tuple[Finding, ...]:
    """One finding a fingerprint, in the form that was seen first: a response counts once for each."""
    return tuple({(item.fingerprint, item.kind): item for item in reversed(found)}.values())[::-1]


def _digest(target: str, what: str, owner: int) -> str:
    return blake2b(f"{target} {what} {owner}".encode(), digest_size=4).hexdigest()
