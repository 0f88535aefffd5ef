"""A work budget that runs out is said: decoys in front of a token never make a scan silently clean."""

from __future__ import annotations

import base64
import gzip
import random
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.canary import Mint
from isolation_kit.detect import Budget, Pool, ScanResult, scan
from isolation_kit.finding import Judgement, Verdict
from isolation_kit.oracles import Variant, all_oracles, drive
from isolation_kit.policy import Policy
from isolation_kit.scenario import Place, Scenario, TurnPlan
from isolation_kit.stage import Ledger, Recorder
from isolation_kit.target import declaration_of
from isolation_kit.targets.reference import reference_task
from isolation_kit.trace import Channel, Trace

MINT = Mint(7)
TOKEN = MINT.mint("case", Place("parent.state")).token
POOL = Pool(MINT.prefix)
POOL.add(TOKEN)
NOISE = random.Random(1)


def packed(text: bytes) -> bytes:
    """Text that only the decoder of blobs can read."""
    return base64.b64encode(gzip.compress(text, mtime=0))


def blobs(count: int) -> bytes:
    """Different readable texts in base64."""
    return b" ".join(base64.b64encode(b"decoy number %07d of very many" % n) for n in range(count))


def nested(depth: int) -> bytes:
    """The token in base64 of base64 ..., each time with a text before it."""
    data = TOKEN.encode()
    for _ in range(depth):
        data = packed(b"and " + data)
    return data


SECRET = packed(b"the code is " + TOKEN.encode())
BOMB = packed(b"\0" * 3_000_000)
# What stands before the token, and what the token looks like behind it.
DECOYS: dict[str, tuple[bytes, bytes]] = {
    "5,000 blobs": (blobs(5000), SECRET),
    "a bomb": (BOMB, SECRET),
    "ten bombs": (b" ".join(packed(b"\0" * (3_000_000 + n)) for n in range(10)), SECRET),
    "a bomb before it in one blob": (b"", packed(b"\0" * 3_000_000 + TOKEN.encode())),
    "too deep": (b"", nested(5)),
    "gzip heads": (b"\xff\x1f\x8b\x08\x00" * 5000, gzip.compress(TOKEN.encode())),
    "zlib heads": (b"\xffx\x9c" * 5000, zlib.compress(TOKEN.encode())),
    "percent of percent": (b"", b"".join(b"%%252525252525%02x" % code for code in TOKEN.encode())),
    "one token many times": ((TOKEN[:13] + " ").encode() * 5000, SECRET),
    "foreign tokens": (
        b" ".join(MINT.mint(str(n), Place("log")).token.encode() for n in range(5000)),
        SECRET,
    ),
    "equals signs": (b"id=41&m=7a " * 5000, SECRET),
    "long run": (base64.b64encode(NOISE.randbytes(500_000)), SECRET),
    "escapes": (b"\\u0041" * 200_000, SECRET),
}


def honest(result: ScanResult) -> bool:
    """Found, or said that something was not read."""
    return result.unscanned > 0 or any(hit.token == TOKEN for hit in result.hits)


@pytest.mark.parametrize(("decoy", "secret"), DECOYS.values(), ids=DECOYS.keys())
def test_decoys_are_noticed(decoy: bytes, secret: bytes) -> None:
    """Whatever stands before it, a token is found or the scan says that it did not read all."""
    assert honest(scan(decoy + b" " + secret, POOL))
    assert honest(scan(secret + b" " + decoy, POOL))


@given(
    st.builds(Budget, st.integers(0, 300), st.integers(0, 4), st.integers(0, 3000), st.integers(0, 12)),
    st.integers(0, 20),
    st.sampled_from([SECRET, nested(2), nested(3), base64.b64encode(SECRET), SECRET.hex().encode()]),
)
def test_no_budget_is_silently_exceeded(budget: Budget, before: int, secret: bytes) -> None:
    """Any budget, any number of decoys: found or said."""
    assert honest(scan(blobs(before) + b" " + secret, POOL, budget=budget))


@given(st.integers(0, 40))
def test_ordinary_text_within_its_budget_says_nothing(count: int) -> None:
    """The clean twin: decoys that fit are read whole, and nothing is found."""
    assert scan(b"So it goes. " * count + blobs(count) + b" " + packed(b"all is well"), POOL) == ScanResult()


def trace_of(*events: tuple[Channel, bytes]) -> Trace:
    """What a recorder makes of these events, a token planted."""
    scenario = Scenario("f", "a", 1, (TurnPlan(0, "hello"),))
    record = Recorder(Ledger(5), scenario, scenario.base_digest())
    record.plant(Place("parent.state"))
    for channel, data in events:
        record.record(channel, "worker", data, instance=0)
    return record.trace()


def judged(trace: Trace) -> Judgement:
    """The canary oracle's judgement of a trace."""
    scenario = Scenario("f", "a", 1, (TurnPlan(0, "hello"),))
    oracle = next(item for item in all_oracles() if item.name == "canary")
    declaration = declaration_of(reference_task)
    return drive(oracle, scenario, declaration, Policy(), {Variant(scenario): trace}.__getitem__)


def test_unread_bytes_are_counted_by_channel() -> None:
    """Only the channel whose event could not be read whole is named, in the trace and in the judgement."""
    trace = trace_of((Channel.LOG, BOMB), (Channel.STORE, b"all is well"), (Channel.SPAN, BOMB + b" "))
    assert {channel for channel, count in trace.unread if count > 0} == {"log", "span"}
    assert sum(count for _, count in trace.unread) == trace.unscanned
    judgement = judged(trace)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert " on log" in judgement.reason
    assert " on span" in judgement.reason
    assert "store" not in judgement.reason


def test_a_trace_read_whole_passes() -> None:
    """The clean twin, and one whose bytes were counted without their channel."""
    trace = trace_of((Channel.LOG, packed(b"all is well")))
    assert (trace.unread, trace.unscanned, judged(trace).verdict) == ((), 0, Verdict.PASS)
    assert judged(replace(trace, unscanned=9)).reason.startswith("9 bytes were not scanned: ")


@pytest.mark.parametrize("make", [packed, base64.b64encode], ids=["packed", "base64"])
def test_what_is_unread_stays_so_however_often_it_is_recorded(make: Callable[[bytes], bytes]) -> None:
    """An event that is known already is as little proof as it was at first."""
    data = make(b"\0" * 8_000_000)
    trace = trace_of((Channel.LOG, data), (Channel.LOG, data), (Channel.STORE, data))
    assert {channel for channel, _ in trace.unread} == {"log", "store"}


BEHIND: dict[str, Callable[[bytes], bytes]] = {
    "base64": base64.b64encode,
    "hex": lambda data: data.hex().encode(),
}


@pytest.mark.parametrize("encode", BEHIND.values(), ids=BEHIND.keys())
@pytest.mark.parametrize("size", [200, 1000, 5000])
@pytest.mark.parametrize("secret", [SECRET, gzip.compress(TOKEN.encode())], ids=["text", "gzip"])
def test_binary_in_front_hides_nothing(encode: Callable[[bytes], bytes], size: int, secret: bytes) -> None:
    """A picture's bytes before it, all in one encoded run; without the secret the run is silent."""
    front = random.Random(size).randbytes(size) + b" "
    assert any(hit.token == TOKEN for hit in scan(encode(front + secret), POOL).hits)
    assert scan(encode(front), POOL).hits == ()
