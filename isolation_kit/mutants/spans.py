"""Defects in what is traced: a span that holds more than lengths, counts and names."""

from __future__ import annotations

from collections.abc import Iterable

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import at, case, turn
from isolation_kit.mutants.catalogue import Mutant
from isolation_kit.runtime import Hooks, ModelRequest, NoHooks, keyed_digest
from isolation_kit.runtime.observe import Measure, Span, Tracer, names_of
from isolation_kit.runtime.text import canonical
from isolation_kit.runtime.tokens import utf8_ceiling
from isolation_kit.scenario import Delegate
from isolation_kit.stage import Stage
from isolation_kit.targets.reference import WORKER, clean_parts, make_reference_task
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


class _Inputs(NoHooks):
    """The last request of any agent, for whoever writes spans."""

    def __init__(self) -> None:
        self.last = ""

    def request_built(self, request: ModelRequest) -> None:
        self.last = "\n".join(message.content for message in request.messages)


def _with_inputs(stage: Stage) -> Iterable[Hooks]:
    """A tracer whose spans keep their inputs, though recording content is off."""
    digest, inputs = keyed_digest(b"spans"), _Inputs()

    def write(span: Span) -> None:
        told = {"kind": span.kind, "agent": span.agent, "status": span.status, "input": inputs.last}
        stage.record("span", "parent", canonical(told))

    names = names_of((WORKER,), digest, parents=("parent",))
    ids, no_time = (lambda: "0" * 32), (lambda: 0.0)
    yield Tracer(names, Measure(utf8_ceiling, digest), spans=(write,), clock=no_time, new_id=ids)
    yield inputs


m30_span_inputs = make_reference_task(clean_parts, "m30_span_inputs", watch=_with_inputs)

MUTANTS = (
    Mutant(
        30,
        "m30_span_inputs",
        "a span keeps its inputs with content recording off",
        "task",
        m30_span_inputs,
        oracle="canary",
        slot="task.input",
        channel=Channel.SPAN,
        direction=Direction.OUT,
        link="https://github.com/openai/openai-agents-python/issues/3848",
        smallest=case(turn(Delegate(0, f"for {at('task.input')}"))),
    ),
)
