"""Each seeded defect: executions until its finding, size of the smallest case, CPU seconds."""

from __future__ import annotations

import sys
import time

from isolation_kit.audit import FAMILIES, Campaign, Plan, items
from isolation_kit.content import load_attacks
from isolation_kit.finding import Mode
from isolation_kit.mutants import Mutant, all_mutants
from isolation_kit.outcome import Smallest
from isolation_kit.target import declaration_of


def found(mutant: Mutant, case: Smallest) -> bool:
    """True if this smallest case is the one that the table expects."""
    seen = case.fingerprint
    return (
        case.mode is Mode.STRUCTURAL
        and case.reduced
        and (seen.what, seen.channel, seen.direction) == (mutant.slot, mutant.channel, mutant.direction)
    )


def hunt(mutant: Mutant, seed: int, cases: int) -> str:
    """One line of the table."""
    declaration, start, before = declaration_of(mutant.target), time.process_time(), 0
    with Campaign(declaration, Plan(seed=seed, cases=cases, attacks=load_attacks())) as campaign:
        for item in items([declaration.name], FAMILIES):
            outcome = campaign.run(item)
            for case in outcome.smallest:
                if found(mutant, case):
                    hits = outcome.tally.hits[case.fingerprint, case.kind, case.mode]
                    spent = time.process_time() - start
                    return (
                        f"{mutant.name:30} {mutant.oracle:16} {item.family:18} "
                        f"{before + hits.first_execution:5} executions  size {case.size} of {mutant.size}  "
                        f"{case.executions:3} to reduce  {spent:5.1f} CPU s"
                    )
            before += outcome.tally.executions
    return f"{mutant.name:30} SURVIVED {before} executions"


def main(cases: int = 300, seed: int = 7) -> None:
    """Print the table."""
    for mutant in all_mutants():
        print(hunt(mutant, seed, cases), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
