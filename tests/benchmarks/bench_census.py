"""Cases per CPU second of the audit on a reference target, beside Hypothesis' floor in the same process."""

from __future__ import annotations

import sys
import time

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from isolation_kit.audit import FAMILIES, Campaign, Plan, items
from isolation_kit.content import load_attacks
from isolation_kit.target import declaration_of
from isolation_kit.targets import reference


def floor(examples: int = 2000) -> float:
    """Examples per CPU second of `integers()` with an empty body."""

    @seed("floor")
    @settings(
        max_examples=examples,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers())
    def nothing(value: int) -> None:
        pass

    start = time.process_time()
    nothing()
    return examples / (time.process_time() - start)


def main(name: str = "reference_task", cases: int = 1000) -> None:
    """Print one line an item, and the whole."""
    declaration = declaration_of(getattr(reference, name))
    before, total, cpu = floor(), 0, 0.0
    with Campaign(declaration, Plan(cases=cases, attacks=load_attacks())) as campaign:
        for item in items([declaration.name], FAMILIES):
            outcome = campaign.run(item)
            n, spent = outcome.tally.n, outcome.cpu_seconds
            print(
                f"{item.name:40} {n:5} cases  {spent:6.2f} CPU s  {outcome.wall_seconds:6.2f} s wall  "
                f"{n / spent:6.0f} cases/CPU s  {dict(outcome.tally.verdicts)}"
            )
            if item.family != "sweep":
                total, cpu = total + n, cpu + spent
    after = floor()
    rate, base = total / cpu, (before + after) / 2
    print(f"all families: {rate:.0f} cases per CPU second; integers(): {base:.0f} examples per CPU second;")
    print(f"ratio: one case costs as much as {base / rate:.1f} empty examples")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
