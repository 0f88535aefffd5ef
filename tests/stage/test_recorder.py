"""The record: tokens by place, live once handed out, residue attributed, nothing missed by scanning less."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from zlib import compress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import places, slots

from isolation_kit.detect import scan
from isolation_kit.scenario import Place, Scenario, TurnPlan
from isolation_kit.stage import Ledger, Recorder
from isolation_kit.stage.recorder import clean_headers
from isolation_kit.trace import Channel, Lifecycle, Trace

SCENARIO = Scenario("f", "a", 1, (TurnPlan(0, "hello"),))
PLACE = Place("user.current")
CREDENTIALS = ("Authorization", "proxy-authorization", "X-API-Key", "api-key", "Cookie", "Set-Cookie")


def recorder(ledger: Ledger, scenario: Scenario = SCENARIO) -> Recorder:
    """The record of one execution."""
    return Recorder(ledger, scenario, scenario.base_digest())


@given(st.dictionaries(st.sampled_from((*CREDENTIALS, "X-Trace", "Accept")), st.text(max_size=5)))
def test_credentials_are_dropped_before_anything_is_stored(headers: dict[str, str]) -> None:
    """In any case of letters; the other headers stay, lower-cased."""
    kept = clean_headers(headers)
    secret = {name.lower() for name in CREDENTIALS}
    assert kept == {name.lower(): value for name, value in headers.items() if name.lower() not in secret}


@given(places, st.integers(0, 9))
def test_a_token_depends_on_seed_case_and_place_only(place: Place, seed: int) -> None:
    """Two ledgers of one seed give the same token; handing it out twice plants it once."""
    one, two = recorder(Ledger(seed)), recorder(Ledger(seed))
    assert one.plant(place) == two.plant(place) == one.plant(place)
    assert len(one.planted) == 1


@given(slots, slots)
def test_a_variant_draws_only_its_own_slots_anew(varied: str, other: str) -> None:
    """Public tokens stay the same in both runs of a pair."""
    ledger = Ledger(5)
    base, pair = recorder(ledger), recorder(ledger, SCENARIO.with_variant({varied: 1}))
    assert (base.plant(Place(other)) == pair.plant(Place(other))) == (other != varied)


def test_a_canary_is_planted_once_for_each_who_gets_it() -> None:
    """Two instances of a child that get the same task are both its owners."""
    record = recorder(Ledger(5))
    for instance in (0, 1, 0):
        record.plant(PLACE, "kid", instance)
    assert [(item.agent, item.instance) for item in record.planted] == [("kid", 0), ("kid", 1)]


def test_a_token_is_live_once_it_was_handed_out() -> None:
    """Seen before that, it can only be residue of an earlier execution of the same case."""
    ledger = Ledger(5)
    token = recorder(ledger).plant(PLACE)
    record = recorder(ledger)
    record.record(Channel.LOG, "boss", token.encode())
    record.plant(PLACE)
    record.record(Channel.LOG, "boss", token.encode())
    assert [sighting.live for sighting in record.trace().sightings] == [False, True]


def test_residue_of_another_case_is_attributed() -> None:
    """Place, case and variant of the execution that minted it."""
    ledger = Ledger(5)
    earlier = Scenario("f", "a", 2, (TurnPlan(0, "hello"),)).with_variant({"user.current": 1})
    token = recorder(ledger, earlier).plant(PLACE)
    record = recorder(ledger)
    record.record(Channel.CHILD_REQUEST, "kid", f"old {token}".encode())
    (sighting,) = record.trace().sightings
    assert (sighting.case, sighting.variant, sighting.place) == (earlier.base_digest(), 1, PLACE)
    assert (sighting.live, sighting.form, sighting.tier) == (False, "verbatim", "confirmed")


def test_the_oldest_executions_are_forgotten() -> None:
    """The ledger of a long campaign stays small; the newest stay known."""
    ledger = Ledger(5, keep=2)
    scenarios = [Scenario("f", "a", seed, (TurnPlan(0, "hello"),)) for seed in range(4)]
    tokens = [recorder(ledger, scenario).plant(PLACE) for scenario in scenarios]
    known = [ledger.owners.get(token) is not None for token in tokens]
    assert known == [False, False, True, True]


def test_an_unplanted_token_is_never_found() -> None:
    """A text of the right shape that nobody minted is no sighting."""
    ledger = Ledger(5)
    token = recorder(ledger).plant(PLACE)
    record = recorder(ledger)
    record.record(Channel.LOG, "boss", f"{token[:4]}{token[4:][::-1]}".encode())
    assert record.trace().sightings == ()


FORMS: dict[str, Callable[[str], str]] = {
    "verbatim": str,
    "upper": str.upper,
    "base64": lambda text: b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "base64 of base64": lambda text: b64encode(b64encode(f"x{text}y".encode())).decode(),
}


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(FORMS)), st.integers(0, 900), st.booleans()), min_size=1, max_size=5
    ),
    st.booleans(),
)
@settings(max_examples=80)
def test_growing_requests_are_searched_as_if_read_whole(
    messages: list[tuple[str, int, bool]], listed: bool
) -> None:
    """Each request repeats the one before; whatever was added and wherever the seam is, nothing is missed."""
    ledger = Ledger(5)
    record = recorder(ledger)
    said: list[dict[str, str]] = []
    for number, (form, filler, secret) in enumerate(messages):
        token = record.plant(Place("user.earlier", turn=number)) if secret else "nothing"
        said.append({"role": "user", "content": f"{'w ' * (filler // 2)}{FORMS[form](token)}"})
        body = json.dumps({"messages": said}) if listed else "".join(message["content"] for message in said)
        record.record(Channel.CHILD_REQUEST, "kid", body.encode(), instance=0)
    trace = record.trace()
    for event in trace.events:
        whole = {ledger.owners.get(hit.token) for hit in scan(event.data, ledger.pool).hits}
        seen = {sighting.place for sighting in trace.sightings if sighting.seq == event.seq}
        assert seen == {canary.place for canary in whole if canary is not None}


def test_a_growing_encoded_text_is_read_whole() -> None:
    """A long packed text that arrives in pieces holds its token only once it is complete."""
    record = recorder(Ledger(5))
    token = record.plant(PLACE)
    numbers = " ".join(str(number * 7919 % 10_007) for number in range(600))
    encoded = b64encode(compress(f"{numbers} {token} and on".encode())).decode()
    assert len(encoded) > 1500
    for end in (len(encoded) // 2 + 1, len(encoded)):
        record.record(Channel.STREAM, "boss", encoded[:end].encode())
    first, last = record.trace().events
    assert {sighting.seq for sighting in record.trace().sightings} == {last.seq}
    assert first.seq < last.seq


def test_a_trace_holds_all_that_was_told() -> None:
    """Events and lives share one order; problems are told once."""
    record = recorder(Ledger(5))
    record.record(Channel.LOG, "boss", b"one", user=0, session="s", turn=0, subject=1, tool="t")
    record.life(Lifecycle.SPAWNED, "kid", 0, 0, "detail")
    record.problems += ["twice", "twice"]
    record.responses, record.refused = 2, "too long"
    trace: Trace = record.trace((True,), "failed")
    assert (trace.events[0].seq, trace.lives[0].seq) == (0, 1)
    assert (trace.problems, trace.task_responses, trace.answered) == (("twice",), 2, (True,))
    assert (trace.refused, trace.error, trace.case) == ("too long", "failed", SCENARIO.base_digest())


@pytest.mark.parametrize("text", ["", "a", "\ud83d"], ids=["empty", "short", "surrogate"])
def test_any_bytes_can_be_recorded(text: str) -> None:
    """Nothing that a target hands over stops the record."""
    record = recorder(Ledger(5))
    record.plant(PLACE)
    record.record(Channel.LOG, "boss", text.encode("utf-8", "surrogatepass"))
    assert record.trace().sightings == ()


@given(st.integers(0, 1100), st.integers(0, 600), st.booleans())
def test_a_request_that_goes_on_is_read_as_well_as_one_read_whole(
    first: int, second: int, early: bool
) -> None:
    """Whatever the sizes, reading only what was added finds each token that reading all of it finds."""
    ledger = Ledger(seed=7)
    scenario = Scenario("noise-injection", "grow", first * 1000 + second, (TurnPlan(0, "hi"),))
    one, two = (ledger.issue(scenario, scenario.digest(), Place("user.current", n=n)).token for n in range(2))
    head = {"content": ("x" * first) + (one if early else "")}
    tail = {"content": ("y" * second) + two}
    before = json.dumps({"messages": [head]}, separators=(",", ":")).encode()
    after = json.dumps({"messages": [head, tail]}, separators=(",", ":")).encode()
    found = {hit.token for hit in ledger.scan(after, ledger.scan(before)).hits}
    assert found == ({one, two} if early else {two})


def test_what_is_too_large_to_read_is_counted_as_not_scanned() -> None:
    """Ten megabytes cost seconds to search: the rest is no proof, and it is said."""
    ledger = Ledger(seed=7)
    token = ledger.issue(SCENARIO, SCENARIO.digest(), PLACE).token.encode()
    near, far = ledger.scan(token + b" " * 3_000_000), ledger.scan(b" " * 3_000_000 + token)
    assert (len(near.hits), near.unscanned > 0) == (1, True)
    assert (len(far.hits), far.unscanned > 0) == (0, True)
