"""Residue of an earlier case: what left it is put before what shows it, so that one case shows both alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from isolation_kit.finding import Finding
from isolation_kit.oracles.canary import leaks
from isolation_kit.oracles.variants import following
from isolation_kit.policy import Policy
from isolation_kit.reduction import reduce
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration
from isolation_kit.trace import Trace

__all__ = ["joined", "of_itself", "writer_of"]

_ENDS = (-1, 0)  # whose user is the earlier session's: residue shows at the last turn most often


def writer_of(finding: Finding, trace: Trace, cases: Mapping[str, Scenario]) -> Scenario | None:
    """The case that minted what `finding` saw, where it is over and still known.

    Args:
        cases: by base digest, those that ran before in this process.
    """
    left = (item.case for item in trace.sightings if not item.live and item.digest == finding.digest)
    return next((cases[case] for case in left if case in cases), None)


def of_itself(
    scenario: Scenario, declaration: Declaration, policy: Policy, trace: Trace
) -> tuple[Finding, ...]:
    """What the canary oracle finds of this execution's own tokens: nothing that other cases left."""
    live = tuple(item for item in trace.sightings if item.live)
    return leaks(scenario, declaration, policy, replace(trace, sightings=live))


def joined(
    reader: Scenario, writer: Scenario | None, shows: Callable[[Scenario], bool], budget: int, slot: str
) -> Scenario | None:
    """The reader, if its own sessions show it, else after the writer; as small as it gets, None in vain.

    Args:
        writer: its turns become an ended session before the reader's.
        shows: whether a case shows it by its own tokens.
        budget: the most candidates that may be tried.
        slot: what leaks; cases with nothing else in them are tried first.
    """
    tried: set[str] = set()

    def fresh(candidate: Scenario) -> bool:
        # A case that ran before has its tokens lying about already: it would look as if it showed itself.
        digest = candidate.digest()
        if digest in tried:
            return False
        tried.add(digest)
        return shows(candidate)

    reader = replace(reader, seed=reader.seed + 1)
    if fresh(reader):
        return reduce(reader, fresh, budget, slot)[0]
    if writer is None or reader.at_once or writer.at_once:  # turns that overlap are not before others
        return None
    for end in _ENDS:
        if fresh(following(reader, writer, end)):
            before = partial(following, reader, end=end)
            writer, _ = reduce(writer, lambda smaller: fresh(before(smaller)), budget // 2, slot)
            behind = partial(following, earlier=writer, end=end)
            reader, _ = reduce(reader, lambda smaller: fresh(behind(smaller)), budget // 2, slot)
            return behind(reader)
    return None
