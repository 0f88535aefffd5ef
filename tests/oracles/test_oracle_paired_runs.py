"""Noninterference and repeat: what no matcher can see differs between paired runs, chance does not count."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from hashlib import blake2b
from typing import Any
from uuid import uuid4

import pytest
from tiny_target import at, full_case, tiny, two_users

from isolation_kit.finding import Judgement, Verdict
from isolation_kit.oracles import Variant, all_oracles, drive
from isolation_kit.oracles.paired import Compared, Pair, compare
from isolation_kit.oracles.variants import pair
from isolation_kit.oracles.views import Key, Seen, Views
from isolation_kit.policy import Policy
from isolation_kit.scenario import Answer, Delegate, Temperament, TurnPlan
from isolation_kit.target import declaration_of
from isolation_kit.trace import Channel, Trace

Judge = Callable[..., Judgement]


def cache_key(history: list[str]) -> dict[str, str]:
    """A hash of the dialogue, as a provider's cache key."""
    return {"X-Cache-Key": blake2b("".join(history).encode(), digest_size=16).hexdigest()}


def chance(history: list[str]) -> dict[str, str]:
    """A request id that differs each time."""
    return {"X-Request-Id": uuid4().hex}


DERIVED = {
    "hash": (tiny(headers=cache_key), "child.headers"),
    "choice": (
        tiny(brief=lambda task, h: f"{task} {'!' if sum(map(ord, h[-1])) % 2 else '?'}"),
        "child.context",
    ),
    "order": (tiny(tools=lambda h: "find" if h[-1][-1] < "m" else "find_too"), "child.tools"),
    "arithmetic": (tiny(brief=lambda task, h: f"{task} {sum(map(ord, h[-1]))}"), "child.context"),
}


@pytest.mark.parametrize("name", ["hash", "arithmetic"])
def test_a_derived_value_is_caught_though_no_token_is_there(name: str, judge: Judge) -> None:
    """The canary oracle is silent; the paired run names slot, channel and direction."""
    factory, channel = DERIVED[name]
    judgement = judge("noninterference", factory, full_case())
    assert judgement.verdict is Verdict.LEAK
    found = {(f.fingerprint.what, f.fingerprint.channel, f.fingerprint.direction) for f in judgement.findings}
    assert ("user.current", channel, "down") in found
    assert {f.fingerprint.what for f in judgement.findings} == {"user.current"}
    assert {f.form for f in judgement.findings} == {"derived"}
    assert judge("canary", factory, full_case()).findings == ()


@pytest.mark.parametrize("name", ["choice", "order"])
def test_a_one_bit_leak_is_caught_in_some_cases(name: str, judge: Judge) -> None:
    """A choice differs for half of the pairs: twelve cases find it, and what is found is the right slot."""
    factory, _ = DERIVED[name]
    findings = [
        f for seed in range(12) for f in judge("noninterference", factory, full_case(seed=seed)).findings
    ]
    assert {finding.fingerprint.what for finding in findings} == {"user.current"}


def test_the_clean_twin_passes(judge: Judge) -> None:
    """The View of the child is byte-identical once its tokens are replaced by their slots."""
    judgement = judge("noninterference", tiny(), full_case())
    assert (judgement.verdict, judgement.findings, judgement.applicable) == (Verdict.PASS, (), True)


@pytest.mark.parametrize("oracle", ["repeat", "noninterference"])
def test_chance_is_inconclusive_and_never_a_leak(oracle: str, judge: Judge) -> None:
    """A target that differs from itself cannot be compared."""
    judgement = judge(oracle, tiny(headers=chance), full_case())
    assert (judgement.verdict, judgement.findings) == (Verdict.INCONCLUSIVE, ())
    assert judgement.reason


def test_repeat_names_the_channel_that_differs(judge: Judge) -> None:
    """And says how to make it deterministic."""
    reason = judge("repeat", tiny(headers=chance), full_case()).reason
    assert "kid/child.headers" in reason
    assert "stage.ids" in reason


@pytest.mark.parametrize("oracle", ["repeat", "noninterference", "residue", "interleaving"])
def test_the_mask_that_is_advised_makes_it_pass(oracle: str, judge: Judge) -> None:
    """An id of the target's own, once it is declared, hinders no judgement; another difference still does."""
    case = two_users()
    doubt = judge(oracle, tiny(headers=chance), case)
    mask = "x_request_id: uuid"
    assert mask in doubt.reason
    policy = Policy(masks=(mask,))
    assert judge(oracle, tiny(headers=chance), case, policy).verdict is Verdict.PASS
    other = judge(oracle, tiny(brief=lambda task, h: f"{uuid4()} {task}"), case, policy)
    assert other.verdict is Verdict.INCONCLUSIVE


def test_repeat_passes_on_a_deterministic_target(judge: Judge) -> None:
    """Also on a leaky one: a leak that repeats is no chance."""
    assert judge("repeat", tiny(), full_case()).verdict is Verdict.PASS
    assert judge("repeat", tiny(headers=cache_key), full_case()).verdict is Verdict.PASS


def test_repeat_sees_a_changing_number_of_events(judge: Judge) -> None:
    """A call more is a difference too."""
    runs: list[int] = []

    def grows(history: list[str]) -> dict[str, str]:
        runs.append(1)
        return {"n": "1"} if len(runs) > 2 else {}

    assert judge("repeat", tiny(headers=grows), full_case()).verdict is Verdict.INCONCLUSIVE


def test_repeat_sees_one_event_more_at_the_end(execute: Callable[..., Any]) -> None:
    """All that both traces hold is equal, and yet they differ."""
    first = execute(tiny(), full_case())
    second = replace(first, events=(*first.events, first.events[-1]))
    traces = {Variant(full_case()): first, Variant(full_case(), 1): second}
    oracle = next(item for item in all_oracles() if item.name == "repeat")
    judgement = drive(oracle, full_case(), declaration_of(tiny()), Policy(), traces.__getitem__)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "the number of events" in judgement.reason


@pytest.mark.parametrize("oracle", ["repeat", "noninterference"])
def test_a_target_that_stays_up_cannot_be_compared(oracle: str, judge: Judge) -> None:
    """Campaign scope: not applicable, with the reason."""
    judgement = judge(oracle, tiny(headers=cache_key, scope="campaign"), full_case())
    assert not judgement.applicable
    assert judgement.reason


def plain(text: str) -> tuple[TurnPlan, ...]:
    """A turn that plants no secret but what is in its text."""
    return (TurnPlan(0, text, (Delegate(0, at("task.input"), (Answer("ok"),)),)),)


@pytest.mark.parametrize(
    "scenario",
    [full_case(root=Temperament.PARROT), full_case(turns=plain("hello"))],
    ids=["parrot", "no-secret"],
)
def test_without_a_secret_or_with_a_parrot_it_does_not_apply(scenario: Any, judge: Judge) -> None:
    """Nothing to vary, or a difference that the puppet itself would make."""
    judgement = judge("noninterference", tiny(headers=cache_key), scenario)
    assert not judgement.applicable


def test_a_failing_target_is_left_to_the_controls(judge: Judge) -> None:
    """Comparing oracles wait where the target failed."""

    def fails(history: list[str]) -> dict[str, str]:
        raise RuntimeError("no")

    for oracle in ("repeat", "noninterference"):
        assert not judge(oracle, tiny(headers=fails), full_case()).applicable


def test_what_the_matcher_sees_too_is_one_fingerprint(judge: Judge) -> None:
    """A verbatim leak differs in length only, for tokens stand for their places; both name it alike."""
    leaky = tiny(brief=lambda task, history: f"{history[-1]} {task}")
    scenario = full_case(seed=4)  # whose turn it is to be padded
    paired, matched = (judge(name, leaky, scenario).findings for name in ("noninterference", "canary"))
    assert {finding.form for finding in paired} == {"length or shape"}
    assert {finding.fingerprint for finding in paired} <= {finding.fingerprint for finding in matched}


def test_a_few_bits_may_be_allowed_and_no_more(judge: Judge) -> None:
    """The finding stays and names the allowance; a hash tells more than one bit."""
    choice, _ = DERIVED["choice"]
    allowed = judge("noninterference", choice, full_case(seed=16), Policy(bits=1))
    assert allowed.verdict is Verdict.PASS
    assert {finding.allowed_by for finding in allowed.findings} == {"[policy] bits = 1"}
    assert "1.0 bits" in allowed.reason
    hashed, _ = DERIVED["hash"]
    assert judge("noninterference", hashed, full_case(seed=16), Policy(bits=1)).verdict is Verdict.LEAK


def test_a_declared_mask_makes_a_random_id_comparable(judge: Judge) -> None:
    """A pass, and the judgement says what was left out; a leak beside the mask is seen all the same."""
    policy = Policy(masks=("x_request_id: uuid",))
    judgement = judge("noninterference", tiny(headers=chance), full_case(), policy)
    assert (judgement.verdict, judgement.masks) == (Verdict.PASS, policy.masks)
    assert judgement.reason == "compared without x_request_id: uuid"
    both = tiny(headers=lambda history: {**chance(history), **cache_key(history)})
    assert judge("noninterference", both, full_case(), policy).verdict is Verdict.LEAK


def test_a_leak_is_seen_beside_an_undeclared_random_id(judge: Judge) -> None:
    """What differs within a case is masked, named and no leak; the hash beside it is one."""
    both = tiny(headers=lambda history: {**chance(history), **cache_key(history)})
    judgement = judge("noninterference", both, full_case())
    assert judgement.verdict is Verdict.LEAK
    assert {finding.path for finding in judgement.findings} == {"x_cache_key"}
    assert judgement.masks == ("x_request_id: uuid",)


def test_set_order_is_inconclusive(judge: Judge) -> None:
    """An order that changes from run to run is no choice of the secret."""
    turns: list[int] = []

    def shuffled(history: list[str]) -> dict[str, str]:
        turns.append(1)
        names = ["a", "b", "c"]
        start = len(turns) % 3
        return {"x-tools": " ".join(names[start:] + names[:start]) + " " * 40}

    judgement = judge("noninterference", tiny(headers=shuffled), full_case())
    assert (judgement.verdict, judgement.findings) == (Verdict.INCONCLUSIVE, ())
    assert "x_tools" in judgement.reason


def test_what_a_child_worked_with_chooses_nothing_above_it(judge: Judge) -> None:
    """The parent is a recipient too: a hash of a child's tool reply in its result goes up."""
    leaky = tiny(result=lambda answer, work: {"answer": answer, "n": cache_key([str(m) for m in work])})
    judgement = judge("noninterference", leaky, full_case())
    assert judgement.verdict is Verdict.LEAK
    assert {finding.fingerprint.direction for finding in judgement.findings} == {"up"}
    assert {finding.fingerprint.edge for finding in judgement.findings} == {"boss>kid"}


def test_a_finding_names_the_pair_that_shows_it(judge: Judge) -> None:
    """From the base case and the finding's variant both cases can be made again."""
    factory, _ = DERIVED["hash"]
    (finding, *_) = judge("noninterference", factory, full_case()).findings
    base, varied = pair(full_case(), finding.variant)
    assert base == full_case()
    assert dict(varied.variant) == {"user.current": 1}


@pytest.mark.parametrize(("later", "leak"), [("a", True), ("b", False)])
def test_three_steady_runs_by_chance_are_no_leak(later: str, leak: bool) -> None:
    """A coin that fell alike three times and then not is told as what varies; a secret's choice stays."""

    def seen(trace: Trace) -> Views:
        return {Key("kid", 0): (Seen(Channel.CHILD_REQUEST, "", trace.case.encode()),)}

    base, varied = full_case(), full_case(seed=2)

    def says(variant: Variant) -> Trace:
        if variant.scenario == varied:
            return Trace("v")
        return Trace("a" if variant.repeat < 3 else later)

    def told() -> Generator[Any, Any, None]:
        outcome.append((yield from compare(Pair(base, varied, seen, seen))))
        yield ()

    outcome: list[Compared] = []
    run = told()
    asked = next(run)
    while not outcome:
        asked = run.send(tuple(map(says, asked)))
    (compared,) = outcome
    assert bool(compared.differences) is leak
    assert bool(compared.rest) is not leak
