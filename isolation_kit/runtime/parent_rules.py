"""The parent of article 000: rules route, a state machine drives, and no model decides (3.1, 4.3).

All of the user's text that no rule captures is ignored: it reaches neither a child nor the store. A follow-up
that repeats no reference (查张伟的账单, 查李娜的账单, 张伟的账单最便宜吗) is resolved to the earlier step
about the same person, and hands that step's inputs down anew.

A turn whose steps could not be stored ends in an error and acknowledges nothing: an answer that the store
does not know cannot be asked about later.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from isolation_kit.errors import IsolationKitError, KitError
from isolation_kit.runtime.attempts import attempted
from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.contract import check_child
from isolation_kit.runtime.failures import Language, failure_of, in_language, told
from isolation_kit.runtime.hooks import Decision
from isolation_kit.runtime.log import write
from isolation_kit.runtime.machine import Machine, State
from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.parts import ParentScope, Step, step_of
from isolation_kit.runtime.result import Status, SubAgentResult
from isolation_kit.runtime.routing import Routed, Rule, RuleError, checked_rules, parse
from isolation_kit.runtime.store import Store, StoreError
from isolation_kit.runtime.text import canonical
from isolation_kit.runtime.wiring import Runtime

__all__ = [
    "Routed",
    "Rule",
    "RulesParent",
    "parse",
    "rules_turn",
]

T = TypeVar("T")


class _StoreFailed(IsolationKitError):
    """The store raised; what it said stays where it was caught."""


@dataclass(slots=True)
class RulesParent:
    """A parent without a model: its rules, its children, the session store.

    Args:
        responses: for a seam that caches (`Parts.response_key`); the clean runtime never does.
        language: in which the parent says what is its own to say: that it did not understand, or failed.

    Raises:
        RuleError: for rules that nobody can follow or answer for.
        ContractError: for a child that its contract keeps from starting.
    """

    name: str
    rules: tuple[Rule, ...]
    children: Mapping[str, ChildSpec]
    store: Store
    responses: dict[Hashable, SubAgentResult] = field(default_factory=dict)
    language: Language = Language.CHINESE

    def __post_init__(self) -> None:
        self.rules = checked_rules(self.rules, self.children)
        for spec in self.children.values():
            check_child(spec.name, spec.contract, spec.tools)


async def rules_turn(runtime: Runtime, parent: RulesParent, scope: ParentScope, text: str) -> str:
    """Answer one user turn: parse, route, execute, aggregate."""
    scope.history.append(Message("user", text))
    with Machine(runtime.clock, partial(runtime.hooks.state_entered, parent.name)) as machine:
        try:
            answer = await _answer(runtime, parent, scope, machine, text)
        except _StoreFailed:
            machine.to(State.ERROR)
            answer = in_language("not_stored", parent.language)
    scope.history.append(Message("assistant", answer))
    return answer


async def _answer(
    runtime: Runtime, parent: RulesParent, scope: ParentScope, machine: Machine, text: str
) -> str:
    try:
        tasks = parse(text, parent.rules)
    except RuleError:
        return _refused(runtime, parent, machine, "ambiguous")
    machine.to(State.ROUTING)
    if not tasks:
        return _refused(runtime, parent, machine, "no_rule")
    if len(tasks) > runtime.limits.rounds:
        return _refused(runtime, parent, machine, "too_many")
    for task in tasks:
        _decide(runtime, parent, task.rule.child, task.rule.name)
    machine.to(State.EXECUTING)
    results = [await _carried_out(runtime, parent, scope, task) for task in tasks]
    end = _end(results)
    machine.to(*((State.AGGREGATING, State.DONE) if end is State.DONE else (end,)))
    return "\n".join(
        _line(task, result, parent.language) for task, result in zip(tasks, results, strict=True)
    )


def _refused(runtime: Runtime, parent: RulesParent, machine: Machine, reason: str) -> str:
    _decide(runtime, parent, "", reason)
    machine.to(State.ERROR)
    return in_language(reason, parent.language)


def _decide(runtime: Runtime, parent: RulesParent, child: str, reason: str) -> None:
    candidates = tuple(dict.fromkeys(rule.child for rule in parent.rules))
    runtime.hooks.decided(parent.name, Decision("route", child, candidates, reason))


def _end(results: list[SubAgentResult | None]) -> State:
    """How a turn ends: one task that did not fail is worth an answer."""
    failed = [result.status for result in results if result is not None and failure_of(result) is not None]
    if len(failed) < len(results):
        return State.DONE
    return State.TIMEOUT if all(status is Status.TIMEOUT for status in failed) else State.ERROR


async def _carried_out(
    runtime: Runtime, parent: RulesParent, scope: ParentScope, task: Routed
) -> SubAgentResult | None:
    """The result of one task, or None for a follow-up to a step that does not exist."""
    inputs = await _inputs(runtime, parent, scope, task)
    if inputs is None:
        return None
    key = runtime.parts.response_key(scope, task.rule.name, task.subject, inputs)
    if key is not None and key in parent.responses:
        return parent.responses[key]
    result = await attempted(runtime, parent.name, scope, parent.children[task.rule.child], inputs)
    if not task.rule.question and failure_of(result) is None:
        step = {
            "rule": task.rule.name,
            "subject": task.subject,
            "inputs": inputs,
            "outputs": result.key_outputs,
        }
        await _kept(runtime, parent, parent.store.append(scope.user, scope.session, step))
    if key is not None:
        parent.responses[key] = result
    return result


async def _kept(runtime: Runtime, parent: RulesParent, operation: Awaitable[T]) -> T:
    """What the store says.

    Raises:
        _StoreFailed: whatever the store raised; its words may hold a statement, a path or a value.
    """
    try:
        return await operation
    except KitError:
        raise
    except Exception as error:  # a store is foreign code
        reason = error.reason if isinstance(error, StoreError) else "store_failed"
        line = runtime.parts.error_line(parent.name, reason, error, "")
        write(runtime.hooks, parent.name, logging.ERROR, line)
    raise _StoreFailed("the session store failed; the log has the reason's code")


async def _inputs(
    runtime: Runtime, parent: RulesParent, scope: ParentScope, task: Routed
) -> Mapping[str, str] | None:
    if not task.rule.question:
        return {"person": task.subject, **task.inputs}
    stored = await _kept(runtime, parent, parent.store.steps(scope.user, scope.session))
    steps = tuple(step for raw in stored if (step := step_of(raw)) is not None)
    subject = _known(task.subject, steps)
    step = runtime.parts.resolve_subject(steps, subject)
    if step is None:
        return None
    return {**step.inputs, "person": subject, "question": task.rule.question}


def _known(said: str, steps: tuple[Step, ...]) -> str:
    """The longest run of last words of `said` that names the subject of a step: "hello 张伟" means 张伟."""
    subjects = {step.subject for step in steps}
    words = said.split(" ")
    tails = (" ".join(words[start:]) for start in range(len(words)))
    return next((tail for tail in tails if tail in subjects), said)


def _line(task: Routed, result: SubAgentResult | None, language: Language) -> str:
    who = f"{task.subject}: " if task.subject else ""
    if result is None:
        return who + in_language("no_step", language)
    failure = failure_of(result)
    if failure is not None:
        return who + told(failure, language)
    answer = result.key_outputs.get("answer")
    return who + (answer if isinstance(answer, str) else canonical(result.key_outputs))
