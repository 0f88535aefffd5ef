"""What each oracle costs a case that it judges, and how often each profile asks it.

Run `python tests/benchmarks/bench_oracles.py [target] [cases a family]`. Every oracle judges the same cases
alone; its milliseconds are processor time beside that of `controls`, which reads the base run and hardly
more. Executions are runs of the target beside the base run.
"""

from __future__ import annotations

import sys
import time

from isolation_kit.audit import FAMILIES, Campaign, Plan, items
from isolation_kit.content import load_attacks
from isolation_kit.oracles import all_oracles
from isolation_kit.target import Declaration, declaration_of
from isolation_kit.targets import reference

BASE = "controls"
PROFILES = ("quick", "ci", "deep")


def spent(declaration: Declaration, name: str, cases: int) -> tuple[int, int, float]:
    """Cases, executions and CPU seconds of all families with this oracle alone."""
    plan = Plan(cases=cases, attacks=load_attacks(), oracles=frozenset({name}), reduce=False)
    count = executions = 0
    with Campaign(declaration, plan) as campaign:
        start = time.process_time()
        for item in items([declaration.name], FAMILIES)[1:]:  # the first is the sweep
            tally = campaign.run(item).tally
            count, executions = count + tally.n, executions + tally.executions
        return count, executions, time.process_time() - start


def main(name: str = "reference_task", cases: int = 40) -> None:
    """Print one line an oracle, then what a case costs in each profile."""
    declaration = declaration_of(getattr(reference, name))
    spent(declaration, BASE, 10)  # what is loaded and compiled once
    count, _, base = spent(declaration, BASE, cases)
    print(f"{declaration.name}, {count} cases, {base / count * 1000:.1f} ms a case with {BASE} alone")
    print(f"{'oracle':17}{'executions':>12}{'ms a case':>11}   judges 1 case in: {', '.join(PROFILES)}")
    share = dict.fromkeys(PROFILES, 0.0)
    for oracle in all_oracles():
        number, executions, seconds = spent(declaration, oracle.name, cases)
        more, beside = executions / number - 1, (seconds - base) / number * 1000
        rates = [oracle.every[profile] for profile in PROFILES]
        print(f"{oracle.name:17}{more:12.2f}{beside:11.1f}   {', '.join(map(str, rates))}")
        for profile, every in zip(PROFILES, rates, strict=True):
            share[profile] += more / every
    told = ", ".join(f"{profile} {value:.2f}" for profile, value in share.items())
    print(f"executions beside the base run, over all cases: {told}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
