"""What one user gets alone is what that user gets among others, in whatever order their turns interleave.

Each user's Views (children, parent, final output) are taken alone and compared under bounded schedules: a
step each in turn (round-robin), the last one first (reversed), one after the other (sequential), and in turn
with a cancellation, a timeout or a retry of one turn at one of its model calls. A token of another user in a
schedule is found here as well. A census case tries round-robin and two of the others, by its seed; a case
that a person wrote tries all, at every model call of each user's first turn; the sweep tries two. What is
found must hold in ten runs of the same schedule, else it is FLAKY: no leak, and no pass.

Kills: 31, 32, 33, 34, 37 and 39, and sees 6, 7, 9, 35, 42, 43 and 45 of the table of seeded defects.
Source: article 000 section 4.7; mem0ai/mem0#4359; redis/redis-py#2665 (an unread reply after a cancellation).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement, Verdict
from isolation_kit.oracles.canary import leaks
from isolation_kit.oracles.paired import unsteady
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of, verdict_of
from isolation_kit.oracles.views import (
    Difference,
    Views,
    child_views,
    differences,
    learn,
    masked,
    parent_views,
)
from isolation_kit.policy import Policy
from isolation_kit.scenario import Break, Breaking, Order, Place, Scenario, Schedule
from isolation_kit.target import Declaration
from isolation_kit.trace import Channel, Trace

__all__ = ["ORACLE", "schedules"]

_NAME = "interleaving"
_REPEATS = 10
_CENSUS = 1 << 16  # every case of a census has a seed of 48 bits; those that a person wrote have small ones
_CALLS = (Channel.PARENT_REQUEST, Channel.CHILD_REQUEST)
_DIGITS = re.compile(rb"\d+")

Runs = Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]


def _check(scenario: Scenario, declaration: Declaration, policy: Policy) -> Runs:
    users = sorted({turn.user for turn in scenario.turns})
    if len(users) < 2 or scenario.schedule.only >= 0:
        return Judgement.not_applicable(_NAME, "one user only: there is nobody to interleave with")
    if not scenario.quiet:
        return Judgement.not_applicable(_NAME, "a parrot's own copying is no plumbing")
    (base,) = yield (Variant(scenario),)
    if base.error or base.refused:
        return Judgement.not_applicable(_NAME, "the target failed or refused; the controls say how")
    case = _Case(scenario, declaration, policy)
    tried = schedules(scenario, base)
    seen: list[tuple[Schedule, Trace]] = []
    for schedule in tried:
        (trace,) = yield (Variant(scenario.scheduled(schedule)),)
        seen.append((schedule, trace))
        if case.foreign(trace):
            return (yield from case.confirmed(schedule, {}))
        if trace.error:
            return Judgement(_NAME, Verdict.ERROR, reason=f"{schedule}: {trace.error}")
        if trace.off_schedule:
            return Judgement.not_applicable(_NAME, f"{schedule}: {trace.off_schedule[0]}")
    if declaration.scope == "campaign":
        return Judgement(_NAME, reason="Views are not compared: the target stays up, and remembers")
    alone = dict(zip(users, (yield tuple(Variant(case.alone(user)) for user in users)), strict=True))
    for schedule, trace in seen:
        if case.changed(trace, alone, schedule):
            return (yield from case.confirmed(schedule, alone))
    return Judgement(_NAME, masks=tuple(sorted(policy.masks)))


ORACLE = Oracle(
    name=_NAME,
    claim="what one user gets alone is what that user gets among others",
    check=_check,
    every={"quick": 100, "ci": 10, "deep": 1},
    source="article 000 section 4.7",
    scheduled=True,
)


def schedules(scenario: Scenario, base: Trace) -> tuple[Schedule, ...]:
    """The schedules that a case is tried under, the likeliest to show something first.

    The turn that is broken, and at which of its model calls, follow from the case's seed.
    """
    if scenario.schedule.gated:
        return (scenario.schedule,)
    steps = Counter(event.turn for event in base.events if event.channel in _CALLS)
    turns = [index for index in range(len(scenario.turns)) if steps[index]]
    in_turn = Schedule(Order.ROUND_ROBIN)
    if not turns:
        return (in_turn,)

    def broken(kind: Breaking, turn: int, step: int) -> Schedule:
        return replace(in_turn, breaks=(Break(kind, turn, step),))

    if scenario.family == "sweep":  # the first turn's child has answered, and is not heard
        return (in_turn, broken(Breaking.CANCEL, turns[0], max(0, steps[turns[0]] - 2)))
    whole = (Schedule(Order.REVERSED), Schedule(Order.SEQUENTIAL))
    if scenario.seed < _CENSUS:
        first = {scenario.turns[turn].user: turn for turn in reversed(turns)}.values()
        every = [
            broken(kind, turn, step) for kind in Breaking for turn in first for step in range(steps[turn])
        ]
        return (in_turn, *every, *whole)
    turn = _victim(scenario, turns)
    step = steps[turn] * (scenario.seed // 64 % 64) // 64  # a share, so that a shorter turn breaks alike
    others = (*(broken(kind, turn, step) for kind in Breaking), *whole)
    return (in_turn, *_two_of(others, scenario.seed // 4096))


def _victim(scenario: Scenario, turns: Sequence[int]) -> int:
    """The first or last turn of some user, by a share, so that a case with fewer turns breaks alike."""
    users = sorted({scenario.turns[turn].user for turn in turns})
    user = users[len(users) * (scenario.seed % 64) // 64]
    mine = [turn for turn in turns if scenario.turns[turn].user == user]
    return mine[-(scenario.seed // 2**20 % 2)]


def _two_of(others: Sequence[Schedule], number: int) -> tuple[Schedule, Schedule]:
    size = len(others)
    first = number % size
    return others[first], others[(first + 1 + number // size % (size - 1)) % size]


class _Case:
    """One case under interleaving: what counts as seen, and what its ten repeats say."""

    def __init__(self, scenario: Scenario, declaration: Declaration, policy: Policy) -> None:
        self._scenario = scenario
        self._declaration = declaration
        self._policy = policy
        self._masks = frozenset(policy.masks)

    def alone(self, user: int) -> Scenario:
        """The case with nobody but `user`."""
        return self._scenario.scheduled(Schedule(Order.SEQUENTIAL, only=user))

    def foreign(self, trace: Trace) -> tuple[Finding, ...]:
        """Tokens of one user at a recipient of another, as findings of this oracle."""
        found = leaks(self._scenario, self._declaration, self._policy, trace)
        return tuple(
            replace(item, oracle=_NAME)
            for item in found
            if item.fingerprint.direction == Direction.ACROSS and item.user != self._user_of(item)
        )

    def _user_of(self, finding: Finding) -> int:
        return self._scenario.turns[finding.turn].user if finding.turn >= 0 else -1

    def changed(
        self, trace: Trace, alone: dict[int, Trace], schedule: Schedule
    ) -> list[tuple[int, Difference]]:
        """Where the Views of a user whose turns were not broken differ from the ones alone."""
        broken = {self._scenario.turns[item.turn].user for item in schedule.breaks}
        return [
            (user, difference)
            for user, own in alone.items()
            if user not in broken
            for difference in differences(self._views(own, user), self._views(trace, user))
        ]

    def _views(self, trace: Trace, user: int) -> Views:
        turns = {index for index, turn in enumerate(self._scenario.turns) if turn.user == user}
        views = {**child_views(trace), **parent_views(trace, self._declaration.root)}
        return masked({key: view for key, view in views.items() if key.turn in turns}, self._masks)

    # -- ten runs of one schedule --------------------------------------------------------------------------

    def confirmed(self, schedule: Schedule, alone: dict[int, Trace]) -> Runs:
        """The judgement of a schedule that showed something: a leak if all repeats say the same."""
        case = self._scenario.scheduled(schedule)
        again = yield tuple(Variant(self.alone(user), 1) for user in alone)
        learnt: frozenset[str] = frozenset()
        for (user, one), two in zip(alone.items(), again, strict=True):
            masks, rest = learn(self._views(one, user), self._views(two, user))
            if rest:
                return _inconclusive(unsteady(masks, rest))
            learnt |= masks
        self._masks |= learnt
        runs = yield tuple(Variant(case, repeat) for repeat in range(_REPEATS))
        said = [self._findings(trace, alone, schedule) for trace in runs]
        if any(_identities(found) != _identities(said[0]) for found in said):
            return _inconclusive(f"FLAKY: {_REPEATS} runs of one schedule ({schedule}) did not say the same")
        counters = self._counters(runs[0], alone, schedule)
        if not said[0] or counters:
            return _inconclusive(unsteady(counters or learnt, ()))
        reason = f"seen under the schedule: {schedule}"
        return Judgement(_NAME, verdict_of(said[0]), said[0], reason, masks=tuple(sorted(self._masks)))

    def _counters(self, trace: Trace, alone: dict[int, Trace], schedule: Schedule) -> frozenset[str]:
        """The masks for what differs by digits alone: a counter that users share tells of nobody's data."""
        masks: frozenset[str] = frozenset()
        for user, difference in self.changed(trace, alone, schedule):
            one = {difference.key: self._views(alone[user], user).get(difference.key, ())}
            two = {difference.key: self._views(trace, user).get(difference.key, ())}
            found, rest = learn(one, two)
            if rest or self._without_digits(one) != self._without_digits(two):
                return frozenset()
            masks |= found
        return masks

    def _without_digits(self, views: Views) -> Views:
        names = sorted(enumerate(self._scenario.users), key=lambda item: -len(item[1]))

        def blind(data: bytes) -> bytes:
            for number, name in names:  # names may differ by digits alone, and then they tell of somebody
                data = data.replace(name.encode("utf-8", "surrogatepass"), b"<user %c>" % (97 + number % 26))
            return _DIGITS.sub(b"#", data)

        return {
            key: tuple(seen._replace(data=blind(seen.data)) for seen in view) for key, view in views.items()
        }

    # -- findings ----------------------------------------------------------------------------------------

    def _findings(self, trace: Trace, alone: dict[int, Trace], schedule: Schedule) -> tuple[Finding, ...]:
        found = list(self.foreign(trace))
        if not found:
            for user, difference in self.changed(trace, alone, schedule):
                lost = _places(alone[user], difference, user) - _places(trace, difference, user)
                found += self._lost(lost, difference) if lost else [self._differs(difference)]
        unique = {(item.fingerprint, item.kind): item for item in reversed(found)}
        return tuple(unique[key] for key in sorted(unique))

    def _lost(self, lost: Iterable[Place], difference: Difference) -> list[Finding]:
        """A user's own token that arrives when that user is alone, and not among others."""
        return [
            self._finding(place.slot, difference, kind=Verdict.LOSS, user=place.user)
            for place in sorted(lost)
        ]

    def _differs(self, difference: Difference) -> Finding:
        name = re.split(r"[.\[ ]", difference.path)[0 if difference.path.startswith("(") else -1]
        last = difference.path if difference.path.startswith("(") else name.rstrip("*]") or "(text)"
        user = self._scenario.turns[difference.key.turn].user
        return self._finding(f"field.{last}", difference, kind=Verdict.LEAK, user=user)

    def _finding(self, what: str, difference: Difference, *, kind: Verdict, user: int) -> Finding:
        agent, channel = difference.key.agent, str(difference.channel)
        return Finding(
            Fingerprint(
                self._declaration.name,
                self._declaration.edge(agent),
                what,
                channel,
                str(Direction.ACROSS),
            ),
            _NAME,
            kind=kind,
            mode=mode_of(self._scenario),
            form="another View among others",
            path=difference.path,
            turn=difference.key.turn,
            user=user,
            instance=difference.key.ordinal,
            allowed_by=self._policy.allowed_by(what, channel, agent, Direction.ACROSS),
        )


def _places(trace: Trace, difference: Difference, user: int) -> set[Place]:
    """The user's own canaries that one recipient saw in the turn of a difference."""
    key = difference.key
    events = {
        event.seq
        for event in trace.events
        if (event.agent, event.turn, event.channel) == (key.agent, key.turn, difference.channel)
    }
    return {item.place for item in trace.sightings if item.seq in events and item.place.user == user}


def _identities(found: Sequence[Finding]) -> frozenset[tuple[Fingerprint, Verdict]]:
    return frozenset((item.fingerprint, item.kind) for item in found)


def _inconclusive(reason: str) -> Judgement:
    return Judgement(_NAME, Verdict.INCONCLUSIVE, reason=reason)
