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
from isolation_kit.runtime.observe.terms import Measure, message_text, terms
from isolation_kit.runtime.parts import ParentScope, write_brief
from isolation_kit.runtime.text import Digest

__all__ = ["Overlap", "Part", "Snapshot", "SnapshotLog", "overlap", "read_snapshots"]

Moment = Literal["held", "born", "crossed", "died"]
_SKETCH = 256
_REMEMBERED = 4096
_NONE: frozenset[str] = frozenset()


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

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Snapshot:
        """The snapshot of a line."""
        lists = {name: tuple(raw.get(name, ())) for name in ("terms", "inputs")}
        parts = tuple(Part(*part) for part in raw.get("parts", ()))
        return cls(**{**raw, **lists, "parts": parts})


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
        self._constants = {spec.name: _constants(spec, names.digest) for spec in specs}
        # What a message says that comes with each delegation, where all of it is constant: its part.
        self._explained: dict[tuple[str, str, int, int], str] = {}
        self._same: dict[int, str] = {}  # what a spec states comes with each of its briefs
        self._place: tuple[Where, str, str] = (Where(), "", "")
        self._held: ContextVar[Sequence[Message]] = ContextVar("held", default=())

    def delegation_began(self, agent: str, task_id: str, held: Sequence[Message]) -> None:
        """Keep the delegating side's history at hand until the child is born."""
        self._held.set(held)

    def context_born(self, agent: str, brief: TaskBrief, messages: tuple[Message, ...]) -> None:
        """Write what the child starts from; where some of it was not given, also what its parent holds."""
        held = self._held.get()
        self._held.set(())
        given = _canonical(brief.inputs)
        inputs = terms(" ".join([*brief.inputs, *brief.inputs.values()]))
        own: set[str] = set()
        parts = []
        for message in messages:
            text = message_text(message)
            part = self._explained.get((agent, message.role, hash(text), len(text)))
            if part is None:
                part = self._part(f"message.{self._names.shown(message.role)}", text)
                # The inputs as they were handed down: whatever they say was given, so nothing is looked for.
                if text != given:
                    own |= self._unexplained(agent, message.role, text, part) - inputs
            parts.append(part)
        parts += [
            self._part(f"brief.inputs.{self._names.shown(name)}", text) for name, text in brief.inputs.items()
        ]
        stated = self._stated(brief)
        digests = self._measure.digests
        rest = f',"parts":[{",".join(parts)}{stated}],"inputs":{_listed(digests(inputs))}'
        if own:
            history: set[str] = set().union(*[terms(message_text(message)) for message in held])
            self._put("held", agent, _sketch(digests(history)))
            rest += f',"carried":{len(own & history)}{_sketch(digests(own))}'
        self._put("born", agent, rest)

    def context_crossed(self, agent: str, way: Way, data: bytes) -> None:
        """Write how many bytes crossed, and their digest."""
        self._put(
            "crossed", agent, f',"way":"{way}","size":{len(data)},"digest":"{self._names.digest(data)}"'
        )

    def context_died(self, agent: str, ending: Ending) -> None:
        """Write that the child is gone."""
        self._put("died", agent, f',"ending":"{ending}"')

    def _unexplained(self, agent: str, role: str, text: str, part: str) -> set[str]:
        """The terms of a message that are no constants; a message without any is remembered."""
        own = terms(text) - self._constants.get(agent, _NONE)
        if not own and len(self._explained) < _REMEMBERED:
            self._explained[agent, role, hash(text), len(text)] = part
        return own

    def _put(self, moment: Moment, agent: str, rest: str) -> None:
        """Write a line, built by hand of quoted names, numbers and digests: an encoder costs five of them."""
        where, whose, shown = self._place
        here = self._where()
        if here is not where or agent != whose:  # mostly the place of the line before: `where` makes one each
            shown = (
                f'"agent":{self._names.quoted(agent)},"trace_id":{encode_basestring(here.trace_id)},'
                f'"task_id":{encode_basestring(here.task_id)}'
            )
            self._place = (here, agent, shown)
        self._write(f'{{"moment":"{moment}",{shown}{rest}}}')

    def _stated(self, brief: TaskBrief) -> str:
        """The parts that a spec states, each after a comma."""
        key = hash((brief.goal, brief.global_context, brief.constraints))
        known = self._same.get(key)
        if known is None:
            if len(self._same) >= _REMEMBERED:
                self._same.clear()
            texts = (brief.goal, brief.global_context, "".join(brief.constraints))
            fields = zip(("goal", "global_context", "constraints"), texts, strict=True)
            known = "".join([f",{self._part(f'brief.{name}', text)}" for name, text in fields if text])
            self._same[key] = known
        return known

    def _part(self, name: str, text: str) -> str:
        return f"[{encode_basestring(name)},{len(text)},{self._measure.tokens(text)}]"


def _canonical(inputs: Mapping[str, str]) -> str:
    """`text.canonical` of texts by name, for a fourth of its price."""
    quote = encode_basestring
    return "{" + ",".join([f"{quote(name)}:{quote(inputs[name])}" for name in sorted(inputs)]) + "}"


def _constants(spec: ChildSpec, digest: Digest) -> frozenset[str]:
    """The terms of the context of a child that is handed nothing: the deployment's, nobody's data."""
    empty = build_child_context(write_brief(ParentScope("", ""), spec, {}, digest))
    return frozenset().union(*[terms(message.content) for message in empty])


def _sketch(digests: list[str]) -> str:
    """The lowest digests: a choice that depends on the terms alone, so two sketches can be compared."""
    return f',"terms":{_listed(digests)},"sampled":{"true" if len(digests) > _SKETCH else "false"}'


def _listed(digests: list[str]) -> str:
    return '["' + '","'.join(digests[:_SKETCH]) + '"]' if digests else "[]"
