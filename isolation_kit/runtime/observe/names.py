"""Which names an observer may show. A model can make up a tool's name, and a key can itself be a secret."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import get_args

from isolation_kit.runtime.child import ChildSpec
from isolation_kit.runtime.failures import ErrorClass
from isolation_kit.runtime.hooks import DecisionKind
from isolation_kit.runtime.machine import State
from isolation_kit.runtime.messages import Role
from isolation_kit.runtime.result import Reason, Status
from isolation_kit.runtime.retry import GIVE_UP, RETRY
from isolation_kit.runtime.text import Digest
from isolation_kit.runtime.tools import TOOL_CODES

__all__ = ["OTHER", "Names", "names_of"]

OTHER = "other"
_ENDINGS = ("ok", "lost", "cancelled", "ended")
_PARENT_CODES = ("model", "no_rule", "too_many", "ambiguous", RETRY, GIVE_UP)
_HEX = "0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Names:
    """A closed set of names, and a keyed digest for all others."""

    known: frozenset[str]
    digest: Digest

    def shown(self, name: str) -> str:
        """`name` if it is known, else `#` and its digest: still comparable, never readable."""
        return name if name in self.known else self._masked(name)

    def quoted(self, name: str) -> str:
        """`shown` as a JSON string."""
        return encode_basestring(name if name in self.known else self._masked(name))

    def label(self, name: str) -> str:
        """`name` if it is known, else `other`: a metric's label must not grow with what others invent."""
        return name if name in self.known else OTHER

    def task(self, task_id: str) -> str:
        """A task id if it has the shape that the runtime gives, else its digest."""
        made_here = len(task_id) == 18 and task_id.startswith("t_") and not task_id[2:].strip(_HEX)
        return task_id if made_here or not task_id else self._masked(task_id)

    def _masked(self, text: str) -> str:
        return f"#{self.digest(text.encode('utf-8', 'surrogatepass'))}"


def names_of(
    specs: Iterable[ChildSpec], digest: Digest, *, parents: Iterable[str] = (), others: Iterable[str] = ()
) -> Names:
    """The names that a deployment declares: its children, their tools and inputs, its parents.

    Args:
        others: what else is written in code and may be shown: names of rules, codes of reasons.
    """
    known = {"", *get_args(Role), *parents, *others}
    known.update(_ENDINGS, _PARENT_CODES, TOOL_CODES, get_args(DecisionKind))
    for codes in (State, ErrorClass, Status, Reason):
        known.update(map(str, codes))
    for spec in specs:
        known.add(spec.name)
        known.update(tool.name for tool in spec.tools)
        known.update(spec.request_fields.names, spec.inputs.get("properties", {}))
    return Names(frozenset(known), digest)
