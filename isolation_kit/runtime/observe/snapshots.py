"""The context snapshot log: what each context was made of, in lengths and keyed digests (article 002, 6.2).

A line when a context is born, crosses and dies. "The child's initial context holds no keyword that only the
parent's history has" is checked at birth, exactly (`carried`). Where a term in a child's context is explained
neither by its inputs nor by its deployment's constants, what the parent holds is logged too (`held`), so that
the check can be made again later, between two lines and without any text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from json.encoder import encode_basestring

from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.context import build_child_context
from isolation_kit.runtime.hooks import Ending, NoHooks, Way
from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.observe.lines import Write
from isolation_kit.runtime.observe.names import Names
from isolation_kit.runtime.observe.spans import Where, trace_ids
from isolation_kit.runtime.observe.terms import Measure, message_text, terms
from isolation_kit.runtime.parts import ParentScope, write_brief
from isolation_kit.runtime.result import Status, SubAgentResult

__all__ = ["SnapshotLog"]

_SKETCH = 256


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a deployment states of a child: it stands in each of its contexts and is nobody's data."""

    terms: frozenset[str] = frozenset()
    system: str | None = None
    system_part: str = ""
    fields: tuple[str, str, tuple[str, ...]] | None = None
    field_parts: str = ""


@dataclass(slots=True)
class _Life:
    """One open delegation; `shown` is how its lines name agent, trace and task."""

    agent: str
    task_id: str
    trace_id: str
    shown: str
    held: Sequence[Message]
    above: _Life | None


class SnapshotLog(NoHooks):
    """Writes a line for each moment of a context, built by hand: an encoder costs five of them.

    Args:
        specs: the children; what their contexts hold in any case is given, not leaked.
        where: tells the trace; a tracer's `where`. Without one, each chain of delegations has a trace id.
    """

    def __init__(
        self,
        write: Write,
        names: Names,
        measure: Measure,
        specs: Iterable[ChildSpec],
        where: Callable[[], Where] | None = None,
    ) -> None:
        self._write = write
        self._names = names
        self._digest = names.digest
        self._measure = measure
        self._tokens = measure.tokens
        self._labels: dict[tuple[str, str], str] = {}
        self._where = where
        self._new_id = trace_ids()
        self._here: ContextVar[_Life | None] = ContextVar("life", default=None)
        self._stated = {spec.name: self._statement(spec) for spec in specs}

    def delegation_began(self, agent: str, task_id: str, held: Sequence[Message]) -> None:
        """Keep the delegating side's history at hand until the child is born."""
        above = self._here.get()
        if self._where is not None:
            trace_id = self._where().trace_id
        else:
            trace_id = self._new_id() if above is None else above.trace_id
        shown = self._shown(agent, trace_id, task_id)
        self._here.set(_Life(agent, task_id, trace_id, shown, held, above))

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """Write what the child starts from; where some of it was not given, also what its parent holds."""
        stated, inputs = self._stated.get(agent, _NOTHING), brief.inputs
        given = _canonical(inputs)
        parts, texts, others = [], [], []
        for message in messages:
            text = message.content
            if text == stated.system and message.role == "system" and not message.calls:
                parts.append(stated.system_part)
            else:
                text = message_text(message) if message.calls else text
                parts.append(self._part("message.", message.role, text))
                if text != given:  # the inputs as they were handed down: all of it was given
                    others.append(text)
            texts.append(text)
        for name, text in inputs.items():
            parts.append(self._part("brief.inputs.", name, text))
        if (brief.goal, brief.global_context, brief.constraints) == stated.fields:
            parts.append(stated.field_parts)
        else:
            parts += self._fields(brief)
        digest = self._digest("\x1f".join(texts).encode("utf-8", "surrogatepass"))
        life = self._here.get()
        shown, rest = self._of(life, agent), ""
        if others:
            rest = self._compared(agent, brief, others, shown, () if life is None else life.held)
        if life is not None:
            life.held = ()
        self._write(f'{{"moment":"born",{shown},"parts":[{",".join(parts)}],"digest":"{digest}"{rest}}}')

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Write how many bytes crossed, and their digest."""
        shown, digest = self._of(self._here.get(), agent), self._digest(data)
        self._write(f'{{"moment":"crossed",{shown},"way":"{way}","size":{len(data)},"digest":"{digest}"}}')

    def context_died(self, agent: str, ending: Ending) -> None:
        """Write that the child is gone; the result of one that was cancelled never comes."""
        life = self._here.get()
        self._write(f'{{"moment":"died",{self._of(life, agent)},"ending":"{ending}"}}')
        if ending == "cancelled" and life is not None:
            self._here.set(life.above)

    def delegation_ended(self, agent: str, result: SubAgentResult) -> None:
        """Go back to the delegation around it; one that was refused before it began was never entered."""
        life = self._here.get()
        # A launcher that raised leaves no task id behind: the innermost one ended.
        if result.task_id or result.status is Status.REFUSED:
            while life is not None and life.task_id != result.task_id:
                life = life.above
        if life is not None:
            self._here.set(life.above)

    def _compared(
        self, agent: str, brief: TaskBrief, others: list[str], shown: str, held: Sequence[Message]
    ) -> str:
        """What of messages that are neither the deployment's nor the inputs stands in the parent's history.

        Where a term is explained by neither, what the parent holds becomes a line of its own.
        """
        stated, digests = self._stated.get(agent, _NOTHING), self._measure.digests
        inputs = terms(" ".join([*brief.inputs, *brief.inputs.values()]))
        own = set().union(*[terms(text) for text in others]) - stated.terms - inputs
        rest = f',"inputs":{_listed(digests(inputs))}'
        if own:
            history: set[str] = set().union(*[terms(message_text(message)) for message in held])
            self._write(f'{{"moment":"held",{shown}{_sketch(digests(history))}}}')
            rest += f',"carried":{len(own & history)}{_sketch(digests(own))}'
        return rest

    def _of(self, life: _Life | None, agent: str) -> str:
        """How a line names this child, its trace and its task."""
        if life is not None and life.agent == agent:
            return life.shown
        where = self._where() if self._where is not None else Where()
        return self._shown(agent, where.trace_id, where.task_id)

    def _shown(self, agent: str, trace_id: str, task_id: str) -> str:
        task_id = self._names.task(task_id)
        return f'"agent":{self._names.quoted(agent)},"trace_id":"{trace_id}","task_id":"{task_id}"'

    def _part(self, kind: str, name: str, text: str) -> str:
        label = self._labels.get((kind, name))
        if label is None:
            label = encode_basestring(kind + self._names.shown(name))
            if name in self._names.known:  # a closed set: what a model makes up is not kept
                self._labels[kind, name] = label
        return f"[{label},{len(text)},{self._tokens(text)}]"

    def _fields(self, brief: TaskBrief) -> list[str]:
        texts = (brief.goal, brief.global_context, "".join(brief.constraints))
        fields = zip(("goal", "global_context", "constraints"), texts, strict=True)
        return [self._part(f"brief.{name}", "", text) for name, text in fields if text]

    def _statement(self, spec: ChildSpec) -> _Stated:
        """From the context of a child that is handed nothing."""
        brief = write_brief(ParentScope("", ""), spec, {}, self._names.digest)
        empty = build_child_context(brief)
        return _Stated(
            frozenset().union(*[terms(message.content) for message in empty]),
            empty[0].content,
            self._part("message.", "system", empty[0].content),
            (brief.goal, brief.global_context, brief.constraints),
            ",".join(self._fields(brief)),
        )


_NOTHING = _Stated()


def _canonical(inputs: Mapping[str, str]) -> str:
    """`text.canonical` of texts by name, for a fourth of its price."""
    quote = encode_basestring
    if len(inputs) == 1:  # the usual task
        ((name, text),) = inputs.items()
        return f"{{{quote(name)}:{quote(text)}}}"
    return "{" + ",".join([f"{quote(name)}:{quote(text)}" for name, text in sorted(inputs.items())]) + "}"


def _sketch(digests: list[str]) -> str:
    """The lowest digests: a choice that depends on the terms alone, so two sketches can be compared."""
    return f',"terms":{_listed(digests)},"sampled":{"true" if len(digests) > _SKETCH else "false"}'


def _listed(digests: list[str]) -> str:
    return '["' + '","'.join(digests[:_SKETCH]) + '"]' if digests else "[]"
