"""The call chain: who handed which task to whom, from the root's turn down to here (article 003, 5.2).

The article's two agents called each other until the tokens ran out. A task that comes up again among its own
ancestors is stopped, and so is a chain that has grown too long. The chain stays with the runtime: no context,
brief or header holds any of it, for a child that knew its ancestors' tasks would know their content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from isolation_kit.runtime.text import Digest, canonical

__all__ = ["ROOT", "Chain", "Link"]


class Link(NamedTuple):
    """One delegation of a chain: the agent, and a keyed digest of what it was handed."""

    agent: str
    task: str


@dataclass(frozen=True, slots=True)
class Chain:
    """The delegations above an agent, the root's first; empty for the root itself.

    Args:
        trace_id: names the whole chain in logs and alarms: the id of its first task, a keyed digest of agent
            and task. Never made of a session, which would tie its other turns to this one.
        most: the most delegations below the root: 3 make a tree of depth 4.
    """

    links: tuple[Link, ...] = ()
    trace_id: str = ""
    most: int = 3

    @property
    def namespace(self) -> tuple[str, ...]:
        """The names from the root's child to here: the space in which a layer's ids and scope are made.

        Names are declared and the same in each run; ids made of ancestors' tasks would tell of them.
        """
        return tuple(link.agent for link in self.links)

    def problem(self, agent: str, inputs: Mapping[str, str], digest: Digest) -> str:
        """Why `agent` may not be handed `inputs` from here, as a reason code, or ""."""
        if not self.links:
            return "" if self.most > 0 else "too_deep"
        if _link(agent, inputs, digest) in self.links:
            return "call_repeated"
        return "too_deep" if len(self.links) >= self.most else ""

    def to(self, agent: str, inputs: Mapping[str, str], task_id: str, digest: Digest) -> Chain:
        """This chain, longer by one delegation."""
        return replace(
            self,
            links=(*self.links, _link(agent, inputs, digest)),
            trace_id=self.trace_id or task_id,
        )


ROOT = Chain()


def _link(agent: str, inputs: Mapping[str, str], digest: Digest) -> Link:
    return Link(agent, digest(canonical(inputs).encode("utf-8", "surrogatepass")))
