"""Every example of every attack is judged as its author says: it counts as a leak, or it does not."""

from __future__ import annotations

import pytest

from isolation_kit.content import TOKEN, Attack, Example, load_attacks
from isolation_kit.finding import Finding
from isolation_kit.oracles.canary import leaks
from isolation_kit.policy import Policy
from isolation_kit.scenario import Place, Scenario, TurnPlan
from isolation_kit.stage import Ledger, Recorder
from isolation_kit.target import Agent, Declaration, Tool, Via
from isolation_kit.trace import CHILD_CHANNELS, Channel

FIELDS = {"type": "object", "properties": {"note": {"type": "string"}}}
DECLARATION = Declaration(
    "example", "boss", {"boss": Agent({"kid": Via("task")}), "kid": Agent(tools=(Tool("find", FIELDS),))}
)
SCENARIO = Scenario("f", "a", 1, (TurnPlan(0, "hello"),))
EXAMPLES = [(attack, example) for attack in load_attacks() for example in attack.examples]


def judged(text: str, slot: str, channel: Channel) -> tuple[str, tuple[Finding, ...]]:
    """The token of `slot`, handed to its owner, and what the oracle says of `text` at `channel`."""
    recorder = Recorder(Ledger(3), SCENARIO, SCENARIO.base_digest())
    owned = slot.startswith(("task.", "child."))
    token = recorder.plant(Place(slot), "kid" if owned else "", 0 if owned else -1)
    below = channel in CHILD_CHANNELS or channel is Channel.RESULT
    recorder.record(
        channel,
        "kid" if below else "boss",
        text.replace(TOKEN, token).encode("utf-8", "surrogatepass"),
        instance=0 if below else -1,
        user=0,
        session="s",
        turn=0,
    )
    return token, leaks(SCENARIO, DECLARATION, Policy(), recorder.trace())


@pytest.mark.parametrize(
    ("attack", "example"),
    EXAMPLES,
    ids=[f"{attack.id}-{number}" for number, (attack, _) in enumerate(EXAMPLES)],
)
def test_an_example_counts_as_its_author_says(attack: Attack, example: Example) -> None:
    """One event with the text at the channel: a finding of exactly this slot there, or none."""
    token, findings = judged(example.text, example.slot, Channel(example.channel))
    assert bool(findings) == example.counts, example
    assert {(f.fingerprint.what, f.fingerprint.channel) for f in findings} <= {
        (example.slot, example.channel)
    }
    assert all(finding.counts and token not in finding.to_json() for finding in findings)


def test_each_attack_shows_both_sides() -> None:
    """At least one text that counts and one that does not."""
    for attack in load_attacks():
        assert {example.counts for example in attack.examples} == {True, False}, attack.id
