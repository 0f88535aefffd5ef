"""The context snapshot log: what each context was made of, in lengths and keyed digests (article 002, 6.2).

A line when a context is handed over (`held`, the parent's side), is born, crosses and dies. "The child's
initial context holds no keyword that only the parent's history has" is checked at birth, exactly (`carried`),
and can be checked later between any two lines, without any text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.context import build_child_context
from isolation_kit.runtime.hooks import Ending, NoHooks, Way
from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.observe.lines import Write, read_lines
from isolation_kit.runtime.observe.names import Names
from isolation_kit.runtime.observe.spans import Where
from isolation_kit.runtime.observe.terms import Measure, message_text
from isolation_kit.runtime.parts import ParentScope, write_brief
from isolation_kit.runtime.text import Digest, canonical

__all__ = ["Overlap", "Part", "Snapshot", "SnapshotLog", "overlap", "read_snapshots"]

Moment = Literal["held", "born", "crossed", "died"]
_SKETCH = 256
_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Part:
    """A message (`message.system`) or a field of the brief (`brief.goal`), in characters and tokens."""

    name: str
    characters: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One line of the log.

    Args:
        terms: keyed digests of terms: of what a parent holds, or of what stands in a child's context and is
            neither in its inputs nor a constant of its deployment; a clean child has none.
        inputs: keyed digests of the terms of a child's inputs.
        sampled: True if there are more than 256 terms. The lowest digests are kept, which are the same in
            every context, so two samples can be compared.
        carried: how many terms of the parent's history stand in the child's context and were not given.
        size: bytes that crossed, and `digest` of them.
    """

    moment: Moment
    agent: str
    trace_id: str
    task_id: str
    parts: tuple[Part, ...] = ()
    terms: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    sampled: bool = False
    carried: int = 0
    way: Way | Literal[""] = ""
    size: int = 0
    digest: str = ""
    ending: Ending | Literal[""] = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON values, without what is empty."""
        raw = {name: getattr(self, name) for name in self.__slots__}
        raw["parts"] = [[part.name, part.characters, part.tokens] for part in self.parts]
        return {name: value for name, value in raw.items() if value or name == "agent"}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Snapshot:
        """The snapshot of a line."""
        lists = {name: tuple(raw.get(name, ())) for name in ("terms", "inputs")}
        parts = tuple(Part(*part) for part in raw.get("parts", ()))
        return cls(**{"task_id": "", "trace_id": "", **raw, **lists, "parts": parts})


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a child's context shares with its parent's history, beside what it was given.

    Args:
        terms: their digests.
        compared: how many terms of the history were looked for; 0 shows nothing.
        sampled: True if a side was too large to be logged whole: no overlap then proves little.
    """

    terms: tuple[str, ...]
    compared: int
    sampled: bool


def overlap(held: Snapshot, born: Snapshot) -> Overlap:
    """The terms that only the parent's history has and that stand in the child's context nevertheless."""
    own = set(held.terms).difference(born.inputs)
    return Overlap(tuple(sorted(own.intersection(born.terms))), len(own), held.sampled or born.sampled)


def read_snapshots(path: Path) -> tuple[Snapshot, ...]:
    """The lines of a snapshot log."""
    return read_lines(path, Snapshot.from_dict)


class SnapshotLog(NoHooks):
    """Writes a line for each moment of a context.

    Args:
        specs: the children; what their contexts hold in any case is given, not leaked.
        where: tells trace and task; a tracer's `where`.
    """

    def __init__(
        self,
        write: Write,
        names: Names,
        measure: Measure,
        specs: Iterable[ChildSpec],
        where: Callable[[], Where],
    ) -> None:
        self._write = write
        self._names = names
        self._measure = measure
        self._where = where
        self._constants = {spec.name: _constants(spec, names.digest, measure) for spec in specs}
        self._held: ContextVar[tuple[frozenset[str], ...]] = ContextVar("held", default=())
        self._sketches: dict[tuple[frozenset[str], ...], tuple[tuple[str, ...], bool]] = {}

    def delegation_began(self, agent: str, task_id: str, held: Sequence[Message]) -> None:
        """Write what the delegating side holds, and keep its digests until the child is born."""
        texts = [message_text(message) for message in held]
        known = tuple([self._measure.terms(text) for text in texts])
        self._held.set(known)
        if known not in self._sketches:
            if len(self._sketches) >= _REMEMBERED:
                self._sketches.clear()
            self._sketches[known] = _sketch(frozenset().union(*known))
        terms, sampled = self._sketches[known]
        whole = Part("history", sum(map(len, texts)), sum(map(self._measure.tokens, texts)))
        self._put("held", agent, parts=(whole,), terms=terms, sampled=sampled)

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """Write what the child starts from, and how much of the delegating side's history is in it."""
        known = self._measure.terms
        whole = frozenset().union(*[known(message.content) for message in messages])
        inputs = known(canonical(brief.inputs))
        own = whole - inputs - self._constants.get(agent, frozenset())
        carried = sum(any(term in history for history in self._held.get()) for term in own) if own else 0
        terms, sampled = _sketch(own)
        self._put(
            "born",
            agent,
            parts=(*self._message_parts(messages), *self._field_parts(brief)),
            terms=terms,
            inputs=_sketch(inputs)[0],
            sampled=sampled,
            carried=carried,
        )

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Write how many bytes crossed, and their digest."""
        self._put("crossed", agent, way=way, size=len(data), digest=self._names.digest(data))

    def context_died(self, agent: str, ending: Ending) -> None:
        """Write that the child is gone."""
        self._held.set(())
        self._put("died", agent, ending=ending)

    def _put(self, moment: Moment, agent: str, **rest: Any) -> None:
        where = self._where()
        snapshot = Snapshot(moment, self._names.shown(agent), where.trace_id, where.task_id, **rest)
        self._write(canonical(snapshot.to_dict()))

    def _message_parts(self, messages: tuple[Message, ...]) -> Iterator[Part]:
        for message in messages:
            yield self._part(f"message.{self._names.shown(message.role)}", message_text(message))

    def _field_parts(self, brief: TaskBrief) -> Iterator[Part]:
        yield self._part("brief.goal", brief.goal)
        for name, text in brief.inputs.items():
            yield self._part(f"brief.inputs.{self._names.shown(name)}", text)
        yield self._part("brief.global_context", brief.global_context)
        yield self._part("brief.constraints", "".join(brief.constraints))

    def _part(self, name: str, text: str) -> Part:
        return Part(name, len(text), self._measure.tokens(text))


def _constants(spec: ChildSpec, digest: Digest, measure: Measure) -> frozenset[str]:
    """The terms of the context of a child that is handed nothing: the deployment's, nobody's data."""
    empty = build_child_context(write_brief(ParentScope("", ""), spec, {}, digest))
    return frozenset().union(*[measure.terms(message.content) for message in empty])


def _sketch(terms: frozenset[str]) -> tuple[tuple[str, ...], bool]:
    """The lowest digests: a choice that depends on the terms alone, so two sketches can be compared."""
    return tuple(sorted(terms)[:_SKETCH]), len(terms) > _SKETCH
