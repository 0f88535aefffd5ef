"""Each seeded defect is found by the audit as its table says; the clean runtime shows no structural leak.

The committed lists of parrot exposures (`tests/data/exposures-*.json`) are written anew by
`python tests/test_mutants.py`; look at the difference before committing it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.audit import FAMILIES, Campaign, Plan, items
from isolation_kit.content import Attack, load_attacks
from isolation_kit.finding import Mode, Verdict
from isolation_kit.matrix import hunt
from isolation_kit.mutants import Mutant, all_mutants
from isolation_kit.outcome import ItemOutcome
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference import reference_rules, reference_task

DATA = Path(__file__).parent / "data"
CLEAN = (reference_task, reference_rules)
Factory = Callable[..., Any]


def outcomes(factory: Factory, attacks: tuple[Attack, ...], cases: int) -> Iterator[ItemOutcome]:
    """The sweep, then each family, on one target."""
    declaration = declaration_of(factory)
    with Campaign(declaration, Plan(cases=cases, attacks=attacks)) as campaign:
        for item in items([declaration.name], FAMILIES):
            yield campaign.run(item)


def exposures(outcome: ItemOutcome) -> list[str]:
    """What a parrot can reach, as sorted texts."""
    return sorted({str(fingerprint) for fingerprint, _, mode in outcome.tally.hits if mode is Mode.EXPOSURE})


@pytest.fixture(scope="module")
def attacks() -> tuple[Attack, ...]:
    """Every attack of the kit."""
    return load_attacks()


@pytest.mark.parametrize("mutant", all_mutants()[::12], ids=lambda mutant: mutant.name)
def test_a_seeded_defect_is_found_and_reduced(mutant: Mutant, attacks: tuple[Attack, ...]) -> None:
    """Within 300 generated cases, by its oracle, and its smallest case is as small as the table says.

    Every twelfth defect here, at one seed; `isolation-kit matrix --mutants` hunts them all.
    """
    kill = hunt(mutant, mutant.oracle, attacks, cases=300)
    assert kill is not None, f"{mutant.name} survived"
    assert kill.reduced
    assert kill.size == mutant.size


@pytest.fixture(scope="module", params=CLEAN, ids=lambda factory: factory.__name__)
def clean(request: pytest.FixtureRequest, attacks: tuple[Attack, ...]) -> tuple[str, list[ItemOutcome]]:
    """The audit of one clean target."""
    return request.param.__name__, list(outcomes(request.param, attacks, 50))


def test_the_clean_runtime_has_no_structural_finding(clean: tuple[str, list[ItemOutcome]]) -> None:
    """In the sweep and in 50 cases of each family; every case concluded, every child was reached."""
    _, audited = clean
    for outcome in audited:
        structural = [str(key[0]) for key in outcome.tally.hits if key[2] is Mode.STRUCTURAL]
        assert structural == [], outcome.item.name
        assert dict(outcome.tally.verdicts) == {Verdict.PASS: outcome.tally.n}, outcome.tally.reasons
        assert (outcome.cut, outcome.error, outcome.unreached, outcome.not_tapped) == ("", "", (), ())
        assert outcome.tally.n == outcome.requested


def test_the_clean_runtime_exposes_what_is_written_down(clean: tuple[str, list[ItemOutcome]]) -> None:
    """What a model that copies its context reaches in the sweep is a committed list, no more and no less."""
    name, (swept, *_) = clean
    written = json.loads((DATA / f"exposures-{name}.json").read_text(encoding="utf-8"))
    assert exposures(swept) == written
    assert written


def test_the_families_expose_no_other_channel(clean: tuple[str, list[ItemOutcome]]) -> None:
    """Generated cases reach no recipient that the sweep does not reach.

    Only the direction may be new: the sweep has no conversation about two people.
    """
    _, (swept, *families) = clean
    known = reached(swept)
    assert set().union(*map(reached, families)) - known == set()


def reached(outcome: ItemOutcome) -> set[tuple[str, str]]:
    """Edge and channel of every exposure."""
    return {(key[0].edge, key[0].channel) for key in outcome.tally.hits if key[2] is Mode.EXPOSURE}


def regenerate() -> None:
    """Write the lists of exposures anew."""
    DATA.mkdir(exist_ok=True)
    for factory in CLEAN:
        swept = next(outcomes(factory, load_attacks(), 1))
        text = json.dumps(exposures(swept), indent=2, ensure_ascii=False) + "\n"
        (DATA / f"exposures-{factory.__name__}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    regenerate()
