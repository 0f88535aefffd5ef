"""Vary exactly what a recipient is denied: its View stays byte-identical at every step.

Live tokens are replaced by their place before comparing, so equal Views under another secret say that nothing
of it arrived in a form that no matcher knows: no hash, cipher, arithmetic, order or choice. Variants, each
against the same base:

- value: other secrets of equal length and type; 2 in most sampled cases, 4 in the sweep, 32 in one of 16;
- length and shape: text in more bytes beside each secret, one turn of history more, an empty history;
- error path: every tool of the child fails, and the secret must not choose what happens then.

Control flow (number and order of requests, model, temperature, order of tools) is part of the View. All slots
are varied at once; only where a recipient's View differs, in three runs of each and within none, each slot is
varied alone to find the one to blame. `[policy] bits` allows so many bits of one, counted over 32 secrets.
Kills: 4, 21, 22, 23, 25 and 26, and sees 1, 2, 5 and 20, which the matcher sees too.
Source: J. Goguen and J. Meseguer, "Security Policies and Security Models", 1982.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from math import log2

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement, Verdict
from isolation_kit.oracles.paired import Compared, Pair, compare, equal, unsteady
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of, verdict_of
from isolation_kit.oracles.recipients import Recipients, recipients
from isolation_kit.oracles.soundness import same_secrets
from isolation_kit.oracles.variants import pair
from isolation_kit.oracles.views import Difference, bits, scripted_label
from isolation_kit.policy import Policy
from isolation_kit.scenario import Scenario, Slot
from isolation_kit.target import Declaration
from isolation_kit.trace import Trace

__all__ = ["ORACLE", "SECRETS"]

_NAME = "noninterference"
SECRETS = 32  # five bits at most can be told apart
_FEW = 4
_SMALL = 4  # secrets in a case; a generated one has seven or more
_SHAPES = ("padded", "chat", "empty", "error")

Runs = Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]


def _check(scenario: Scenario, declaration: Declaration, policy: Policy) -> Runs:
    if declaration.scope == "campaign":
        return Judgement.not_applicable(_NAME, "the target cannot be rebuilt for a paired run")
    if not scenario.quiet:
        return Judgement.not_applicable(_NAME, "a parrot's own copying would differ")
    (base,) = yield (Variant(scenario),)
    groups = recipients(base, declaration, policy.masks, scripted_label(scenario.places()))
    if base.error or base.refused or not groups:
        return Judgement.not_applicable(_NAME, "no secret was planted, or the target failed or refused")
    case = _Case(scenario, declaration, policy, base, groups)
    doubts = []
    for kind in _kinds(scenario):
        judgement = yield from case.tried(kind)
        if judgement.findings or judgement.verdict is Verdict.ERROR:
            return judgement
        if judgement.verdict is not Verdict.PASS:
            doubts.append(judgement)
    return doubts[0] if doubts else equal(_NAME, policy.masks)


ORACLE = Oracle(
    name=_NAME,
    claim="what a recipient sees does not depend on what it is denied",
    check=_check,
    every={"quick": 100, "ci": 10, "deep": 1},
    source="Goguen and Meseguer 1982",
)


def _kinds(scenario: Scenario) -> tuple[str, ...]:
    """What to vary: all of it in the sweep and in small cases, by turns in a census.

    A small case costs little, and a reduction must not stop at one that happens to tell two secrets alike.
    """
    shapes = tuple(kind for kind in _SHAPES if kind != "chat" or not scenario.concurrent)
    if scenario.family == "sweep":
        return (f"value:{_FEW}", *shapes)
    if len(scenario.places()) <= _SMALL:
        return ("value:2", *shapes, f"value:{SECRETS}")
    turn = scenario.seed % 16
    return (f"value:{SECRETS}",) if turn == 0 else ("value:2", shapes[turn % len(shapes)])


class _Case:
    """One case under comparison: its base, its recipients, and what each is denied."""

    def __init__(
        self,
        scenario: Scenario,
        declaration: Declaration,
        policy: Policy,
        base: Trace,
        groups: tuple[Recipients, ...],
    ) -> None:
        self.scenario = scenario
        self.declaration = declaration
        self.policy = policy
        self.base = base
        self.groups = groups

    def tried(self, kind: str) -> Runs:
        """All slots varied at once in one way; then each recipient that saw a difference by itself."""
        groups = [group for group in self.groups if group.varied(kind)]
        slots = sorted({slot for group in groups for slot in group.varied(kind)})
        names = _names(kind, slots)
        pairs = [pair(self.scenario, name) for name in names]
        if not pairs:
            return Judgement(_NAME)
        seen = yield (Variant(pairs[0][0]), *(Variant(varied) for _, varied in pairs))
        if any(trace.error or trace.refused for trace in seen):
            return self._failed(kind, seen)
        if kind.startswith("value") and any(same_secrets(seen[0], trace) for trace in seen[1:]):
            reason = "both runs of a pair planted the same secrets, so their Views say nothing"
            return Judgement(_NAME, Verdict.INCONCLUSIVE, reason=reason)
        for group in groups:
            one = group.views(seen[0])
            views = (
                group.views(trace, varied.lead - self.scenario.lead)
                for trace, (_, varied) in zip(seen[1:], pairs, strict=True)
            )
            first = next((name for name, other in zip(names, views, strict=True) if other != one), "")
            if first:
                judgement = yield from self._blamed(group, first)
                if judgement.findings or judgement.verdict is not Verdict.PASS:
                    return judgement
        return Judgement(_NAME)

    def _failed(self, kind: str, seen: tuple[Trace, ...]) -> Judgement:
        """A target that fails under another secret is an error; one that takes no such shape says nothing."""
        if kind.startswith("value"):
            reason = next((trace.error for trace in seen if trace.error), "it refused another secret")
            return Judgement(_NAME, Verdict.ERROR, reason=reason)
        return Judgement(_NAME)

    # -- who saw what ------------------------------------------------------------------------------------

    def _blamed(self, group: Recipients, name: str) -> Runs:
        """What this group's own secrets do to its Views, and which of them."""
        kind, _, rest = name.partition(":")
        _, _, number = rest.partition(":")
        slots = group.varied(kind)
        together = yield from self._compared(group, _named(kind, slots, number))
        if not together.differences:
            if together.masks or together.rest:
                reason = unsteady(together.masks, together.rest)
                return Judgement(
                    _NAME, Verdict.INCONCLUSIVE, reason=reason, masks=tuple(sorted(together.masks))
                )
            return Judgement(_NAME)
        findings: dict[Fingerprint, Finding] = {}
        for slot in slots if kind != "chat" else (Slot.USER_EARLIER,):
            alone = _named(kind, (slot,), number)
            compared = together if kind == "chat" else (yield from self._compared(group, alone))
            for item in compared.differences:
                finding = self._finding(group, slot, alone, item)
                findings.setdefault(finding.fingerprint, finding)
        if not findings:  # only together do they tell something: the first of them stands for all
            for item in together.differences:
                finding = self._finding(group, slots[0], _named(kind, slots, number), item)
                findings.setdefault(finding.fingerprint, finding)
        reason = ""
        if kind == "value":
            findings, reason = yield from self._measured(group, findings)
        found = tuple(findings[key] for key in sorted(findings))
        return Judgement(_NAME, verdict_of(found), found, reason, masks=tuple(sorted(together.masks)))

    def _compared(
        self, group: Recipients, name: str
    ) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Compared]:
        before, varied = pair(self.scenario, name)
        more = varied.lead - before.lead
        both = Pair(before, varied, group.views, lambda trace: group.views(trace, more))
        return (yield from compare(both))

    def _measured(
        self, group: Recipients, findings: dict[Fingerprint, Finding]
    ) -> Generator[tuple[Variant, ...], tuple[Trace, ...], tuple[dict[Fingerprint, Finding], str]]:
        """How many bits arrive, over more secrets where some are allowed; within the allowance: allowed."""
        count = SECRETS if self.policy.bits else _FEW
        slots = group.secrets
        names = [_named("value", slots, str(number)) for number in range(1, count)]
        traces = yield (Variant(self.scenario), *(Variant(pair(self.scenario, name)[1]) for name in names))
        views = [group.views(trace) for trace in traces]
        told = max(bits(view[key] for view in views if key in view) for key in views[0])
        more = " or more" if told >= log2(count) else ""  # so many secrets tell no more apart
        reason = f"{told:.1f} bits{more} of it arrive, counted over {count} secrets"
        if not self.policy.bits or told > self.policy.bits:
            return findings, reason
        label = f"[policy] bits = {self.policy.bits:g}"
        allowed = {key: replace(item, allowed_by=item.allowed_by or label) for key, item in findings.items()}
        return allowed, reason

    def _finding(self, group: Recipients, slot: str, name: str, item: Difference) -> Finding:
        kind = name.partition(":")[0]
        agent = item.key.agent
        edge = self.declaration.edge(agent)
        if group.direction is Direction.UP:
            owners = (given.agent for given in self.base.planted if given.place.slot == slot and given.agent)
            edge = self.declaration.edge(next(owners, agent))
        fingerprint = Fingerprint(self.declaration.name, edge, slot, str(item.channel), str(group.direction))
        return Finding(
            fingerprint,
            _NAME,
            mode=mode_of(self.scenario),
            form="derived" if kind in ("value", "error") else "length or shape",
            path=item.path,
            turn=item.key.turn,
            variant=name,
            allowed_by=self.policy.allowed_by(slot, str(item.channel), agent, group.direction),
        )


def _names(kind: str, slots: Sequence[str]) -> list[str]:
    """The variations of one kind, of all slots together."""
    kind, _, count = kind.partition(":")
    if kind == "value":
        return [_named(kind, slots, str(number)) for number in range(1, int(count))]
    return [_named(kind, slots, "1" if kind == "error" else "")]


def _named(kind: str, slots: Sequence[str], number: str) -> str:
    if kind == "chat":
        return kind
    return f"{kind}:{','.join(slots)}" + (f":{number}" if number else "")
