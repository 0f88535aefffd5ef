"""Turns the outcomes of an audit into facts: scrubbed of canaries and control characters, no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from isolation_kit.content import FingerprintClass, class_of_slot, classify
from isolation_kit.outcome import ItemOutcome, Smallest
from isolation_kit.policy import Allow, Policy
from isolation_kit.report.baseline import Baseline
from isolation_kit.report.blocks import RunBlock, Timing
from isolation_kit.report.clean import LINE_LENGTH, REASON_LENGTH, Scrub, scrub_tally
from isolation_kit.report.facts import (
    ClassFacts,
    Facts,
    ItemFacts,
    LeakKey,
    PolicyFacts,
    TargetFacts,
    canonical,
    smaller,
)
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration

__all__ = ["FIELD", "gather"]

FIELD = "field."

_LINES = 40


def gather(
    outcomes: Sequence[ItemOutcome],
    run: RunBlock,
    policy: Policy,
    classes: Sequence[FingerprintClass],
    declarations: Mapping[str, Declaration],
    baseline: Baseline | None,
    timing: Timing,
    refused_share: float,
    scrub: Scrub,
) -> Facts:
    """The facts of one run."""
    block = {**run.document(scrub), "policy_digest": run.policy_digest or policy.digest}
    parts = [Facts(items={_key(outcome, scrub): _item(outcome, run, scrub)}) for outcome in outcomes]
    items = reduce(Facts.add, parts, Facts()).items
    keys = {(key[0], key[1]) for item in items.values() for key in item.tally.hits}
    cases = [case for outcome in outcomes for case in _smallest(outcome, run, scrub)]
    return Facts(
        runs=(block,),
        timing=timing,
        items=items,
        targets={scrub(name): _target(entry, scrub) for name, entry in sorted(declarations.items())},
        classes=_classes(items.values(), classes),
        policy=PolicyFacts(
            frozenset(canonical(_entry(entry, policy, scrub)) for entry in policy.allow),
            policy.reachable,
            refused_share,
        ),
        smallest=smaller((key, case) for key, case in cases if key in keys),
        known=frozenset(
            fingerprint.id
            for fingerprint, _ in keys
            if baseline is not None and fingerprint.id in baseline.entries
        ),
    )


def _key(outcome: ItemOutcome, scrub: Scrub) -> tuple[str, str]:
    return scrub(outcome.item.target), scrub(outcome.item.family)


def _item(outcome: ItemOutcome, run: RunBlock, scrub: Scrub) -> ItemFacts:
    def texts(given: Iterable[str]) -> frozenset[str]:
        return frozenset(scrub(text, REASON_LENGTH) for text in given if text)

    return ItemFacts(
        order=outcome.item.order,
        requested=outcome.requested,
        tally=scrub_tally(outcome.tally, scrub),
        cut=texts([outcome.cut]),
        errors=texts([outcome.error]),
        failed=frozenset() if outcome.failed is None else frozenset([_file(outcome.failed, run, scrub)]),
        notes=texts(outcome.notes),
        not_tapped=texts(outcome.not_tapped),
        unreached=frozenset((scrub(child), scrub(why, REASON_LENGTH)) for child, why in outcome.unreached),
    )


def _target(declaration: Declaration, scrub: Scrub) -> TargetFacts:
    names = declaration.children
    agents = [(name, declaration.agents[name]) for name in (declaration.root, *names)]
    return TargetFacts(
        root=scrub(declaration.root),
        edges=frozenset((scrub(name), scrub(declaration.edge(name))) for name in names),
        tools=frozenset(scrub(tool.name) for _, agent in agents for tool in agent.tools),
        taps=frozenset(str(tap) for tap in declaration.taps),
        open_noise=frozenset(scrub(name) for name, agent in agents if not agent.declares_fields),
        declared=frozenset(
            (scrub(tool.name), tuple(sorted({scrub(name) for name in _field_names(tool.fields)})))
            for _, agent in agents
            for tool in agent.tools
            if tool.fields is not None
        ),
    )


def _field_names(schema: Any) -> Iterator[str]:
    """Every property that a schema declares, at any depth."""
    if isinstance(schema, Mapping):
        for name, inner in schema.get("properties", {}).items():
            yield str(name)
            yield from _field_names(inner)
        yield from _field_names(schema.get("items"))


def _entry(entry: Allow, policy: Policy, scrub: Scrub) -> dict[str, Any]:
    return {
        "label": scrub(entry.label, 400),
        "slot": scrub(entry.slot),
        "channel": scrub(entry.channel),
        "child": scrub(entry.child),
        "reason": scrub(entry.reason, REASON_LENGTH),
        "owner": scrub(entry.owner),
        "until": "" if entry.until is None else entry.until.isoformat(),
        "expired": policy.expired(entry),
    }


def _classes(items: Iterable[ItemFacts], classes: Sequence[FingerprintClass]) -> dict[str, ClassFacts]:
    whats: set[str] = set()
    for item in items:
        whats |= {fingerprint.what for fingerprint, _, _ in item.tally.hits}
        whats |= {FIELD + field for field, _ in item.tally.pollution}
    found: dict[str, ClassFacts] = {}
    for what in sorted(whats):
        if what.startswith(FIELD):
            entry = classify(what.removeprefix(FIELD), classes)
        else:
            entry = class_of_slot(what, classes)
        if entry is not None:
            facts = ClassFacts(_class_text(entry), frozenset({what}))
            found[entry.id] = found[entry.id].add(facts) if entry.id in found else facts
    return {name: found[name] for name in sorted(found)}


def _class_text(entry: FingerprintClass) -> dict[str, Any]:
    pairs = {name: getattr(entry, name) for name in ("title", "symptom", "cause", "remedy")}
    return {
        **{name: {"en": pair.en, "zh": pair.zh} for name, pair in pairs.items()},
        "severity": entry.severity,
        "rule": entry.rule,
    }


def _file(scenario: Scenario, run: RunBlock, scrub: Scrub) -> str:
    """Where a case is stored, as one would type it."""
    return f"{scrub(run.case_folder)}/{scenario.digest()}.json"


def _smallest(outcome: ItemOutcome, run: RunBlock, scrub: Scrub) -> Iterable[tuple[LeakKey, dict[str, Any]]]:
    for case in outcome.smallest:
        yield (scrub.fingerprint(case.fingerprint), case.kind), _case(case, outcome.item.family, run, scrub)


def _case(case: Smallest, family: str, run: RunBlock, scrub: Scrub) -> dict[str, Any]:
    users, turns, secrets = case.size
    return {
        "case": case.scenario.digest(),
        "file": _file(case.scenario, run, scrub),
        "family": scrub(family),
        "mode": str(case.mode),
        "oracle": scrub(case.oracle),
        "path": scrub(case.path, REASON_LENGTH),
        "pair": len(case.pair) == 2,
        "users": users,
        "turns": turns,
        "secrets": secrets,
        "executions": case.executions,
        "reduced": case.reduced,
        "lines": len(case.conversation),
        "conversation": [
            {"who": scrub(line.who, 60), "text": scrub(line.text, LINE_LENGTH)}
            for line in case.conversation[:_LINES]
        ],
    }
