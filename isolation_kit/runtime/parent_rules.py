"""The parent of article 000: rules route, a state machine drives, and no model decides (3.1, 4.3).

All of the user's text that no rule captures is ignored: it reaches neither a child nor the store. A follow-up
that repeats no reference (查张伟的账单, 查李娜的账单, 张伟的账单最便宜吗) is resolved to the earlier step
about the same person, and hands that step's inputs down anew.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from isolation_kit.errors import KitError
from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.delegate import delegate
from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.parts import ParentScope, Step
from isolation_kit.runtime.result import Status, SubAgentResult
from isolation_kit.runtime.store import Store
from isolation_kit.runtime.text import canonical
from isolation_kit.runtime.wiring import Runtime

__all__ = [
    "NOT_UNDERSTOOD",
    "TOO_MUCH",
    "Machine",
    "Routed",
    "Rule",
    "RulesParent",
    "State",
    "parse",
    "rules_turn",
]

NOT_UNDERSTOOD = "没有适用的规则：请写明要查询的账单编号。"
TOO_MUCH = "一次的任务太多：请分几次提出。"
_NO_STEP = "没有找到此前的查询：请写明账单编号。"


class State(StrEnum):
    """Where a turn stands."""

    IDLE = "idle"
    PARSING = "parsing"
    ROUTING = "routing"
    EXECUTING = "executing"
    AGGREGATING = "aggregating"
    DONE = "done"
    ERROR = "error"
    TIMEOUT = "timeout"


_NEXT: Mapping[State, frozenset[State]] = {
    State.IDLE: frozenset({State.PARSING}),
    State.PARSING: frozenset({State.ROUTING, State.ERROR}),
    State.ROUTING: frozenset({State.EXECUTING, State.ERROR}),
    State.EXECUTING: frozenset({State.AGGREGATING, State.ERROR, State.TIMEOUT}),
    State.AGGREGATING: frozenset({State.DONE}),
    State.DONE: frozenset(),
    State.ERROR: frozenset(),
    State.TIMEOUT: frozenset(),
}


class Machine:
    """The states of one turn; a step that the table does not list is a fault of the runtime."""

    def __init__(self) -> None:
        self.state = State.IDLE

    def to(self, state: State) -> None:
        """Move on.

        Raises:
            KitError: for a transition that does not exist.
        """
        if state not in _NEXT[self.state]:
            raise KitError(f"the parent's state machine has no way from {self.state} to {state}")
        self.state = state


@dataclass(frozen=True, slots=True)
class Rule:
    """A routing rule. `owner` signed it off. `cue` is a literal that its pattern cannot match without.

    The pattern's groups: `subject` (whom it is about), `text` (free text for the child) or `id` (an
    identifier, refused if malformed). `question` makes it a follow-up, which needs an earlier step instead.
    """

    name: str
    owner: str
    child: str
    pattern: re.Pattern[str]
    cue: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class Routed:
    """One task that a rule found in the user's text."""

    rule: Rule
    subject: str
    inputs: Mapping[str, str]


@dataclass(slots=True)
class RulesParent:
    """A parent without a model: its rules in order of precedence, its children, the session store."""

    name: str
    rules: tuple[Rule, ...]
    children: Mapping[str, ChildSpec]
    store: Store
    responses: dict[Hashable, SubAgentResult] = field(default_factory=dict)


def parse(text: str, rules: tuple[Rule, ...]) -> tuple[Routed, ...]:
    """The tasks in `text` in order of appearance; where two rules meet, the earlier rule has precedence."""
    found: list[tuple[int, int, Routed]] = []
    for rule in rules:
        if rule.cue not in text:
            continue
        for match in rule.pattern.finditer(text):
            if all(match.end() <= start or end <= match.start() for start, end, _ in found):
                found.append((match.start(), match.end(), _routed(rule, match)))
    return tuple(routed for _, _, routed in sorted(found, key=lambda item: item[0]))


def _routed(rule: Rule, match: re.Match[str]) -> Routed:
    groups = match.groupdict()
    inputs: dict[str, str] = {}
    if groups.get("text") is not None:
        inputs["request"] = groups["text"]
    if groups.get("id") is not None:
        inputs["bill_id"] = groups["id"]
    return Routed(rule, (groups.get("subject") or "").strip(), inputs)


async def rules_turn(runtime: Runtime, parent: RulesParent, scope: ParentScope, text: str) -> str:
    """Answer one user turn: parse, route, execute, aggregate."""
    machine = Machine()
    machine.to(State.PARSING)
    scope.history.append(Message("user", text))
    tasks = parse(text, parent.rules)
    if not tasks or len(tasks) > runtime.limits.rounds:
        machine.to(State.ERROR)
        return TOO_MUCH if tasks else NOT_UNDERSTOOD
    machine.to(State.ROUTING)
    machine.to(State.EXECUTING)
    results = [await _carried_out(runtime, parent, scope, task) for task in tasks]
    if results and all(result is not None and result.status is Status.TIMEOUT for result in results):
        machine.to(State.TIMEOUT)
    else:
        machine.to(State.AGGREGATING)
        machine.to(State.DONE)
    lines = [_line(task, result) for task, result in zip(tasks, results, strict=True)]
    answer = "\n".join(lines)
    scope.history.append(Message("assistant", answer))
    return answer


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
    result = await delegate(runtime, scope, parent.children[task.rule.child], inputs)
    if key is not None:
        parent.responses[key] = result
    if not task.rule.question and result.status is Status.SUCCEEDED:
        step = {
            "rule": task.rule.name,
            "subject": task.subject,
            "inputs": inputs,
            "outputs": result.key_outputs,
        }
        await parent.store.append(scope.user, scope.session, step)
    return result


async def _inputs(
    runtime: Runtime, parent: RulesParent, scope: ParentScope, task: Routed
) -> Mapping[str, str] | None:
    if not task.rule.question:
        return {"person": task.subject, **task.inputs}
    stored = await parent.store.steps(scope.user, scope.session)
    steps = tuple(Step(raw["subject"], raw["inputs"]) for raw in stored if "subject" in raw)
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


def _line(task: Routed, result: SubAgentResult | None) -> str:
    who = f"{task.subject}: " if task.subject else ""
    if result is None:
        return who + _NO_STEP
    if result.status is not Status.SUCCEEDED:
        return f"{who}{result.status} ({', '.join(result.errors)})"
    answer = result.key_outputs.get("answer")
    return who + (answer if isinstance(answer, str) else canonical(result.key_outputs))
