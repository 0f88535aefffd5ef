"""Tokens in pieces: over events, over chunks, without their prefix; and silence where no token was cut."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.canary import Mint
from isolation_kit.detect import Hit, Pool, Tier, scan
from isolation_kit.detect.fragments import Bodies, body_runs, may_hold
from isolation_kit.detect.splits import Seams, Stream
from isolation_kit.errors import UsageError
from isolation_kit.scenario import Place, Scenario, TurnPlan
from isolation_kit.stage import Ledger, Recorder
from isolation_kit.trace import Channel, Sighting

from .renderings import RENDERINGS

MINT = Mint(7)
TOKENS = [MINT.mint("case", Place("parent.state", turn=turn)).token for turn in range(30)]
FOREIGN = MINT.mint("other", Place("parent.state")).token
SHORT = sorted(name for name, render in RENDERINGS.items() if len(render(TOKENS[0])) <= 400)
POOL = Pool(MINT.prefix)
for known in TOKENS:
    POOL.add(known)


def log_line(piece: str, number: int) -> str:
    """A line of a log that holds one word of what is split."""
    return f"12:00:{number:02} INFO chunk {number} holds {piece}"


def delta(piece: str, number: int) -> str:
    """A server-sent event as models stream them."""
    body = {"id": "chatcmpl-1", "created": number, "choices": [{"index": 0, "delta": {"content": piece}}]}
    return f"data: {json.dumps(body)}\n\n"


FRAMES: dict[str, Callable[[str, int], str]] = {
    "bare": lambda piece, number: piece,
    "log lines": log_line,
    "JSON": lambda piece, number: json.dumps({"n": number, "part": piece}),
    "server-sent events": delta,
}


def pieces_of(text: str, size: int) -> list[str]:
    """`text` in pieces of `size` characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def fed(events: Iterable[str]) -> list[Hit]:
    """What the seams of these events hold."""
    seams = Seams(POOL)
    return [hit for event in events for hit in seams.feed(event.encode())] + [*seams.close()]


def best(hits: Iterable[Hit]) -> dict[str, Tier]:
    """The best tier of each token."""
    out: dict[str, Tier] = {}
    for hit in hits:
        if out.get(hit.token) is not Tier.CONFIRMED:
            out[hit.token] = hit.tier
    return out


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 11, 19])
def test_pieces_of_any_size_are_joined(frame: Callable[[str, int], str], size: int) -> None:
    """Bare, in log lines, in JSON and in a model's stream; the foreign twin is silent."""
    for token, expected in ((TOKENS[3], {TOKENS[3]}), (FOREIGN, set())):
        hits = fed(frame(piece, number) for number, piece in enumerate(pieces_of(token, size)))
        sure = [hit for hit in hits if hit.tier is Tier.CONFIRMED]
        assert {hit.token for hit in sure} == expected
        assert {hit.form for hit in sure} <= {"split"}


@given(
    st.sampled_from(TOKENS),
    st.integers(1, 19),
    st.sampled_from(["", "code ", "是"]),
    st.sampled_from(["", " ok", "。"]),
)
def test_a_cut_anywhere_is_joined(token: str, cut: int, before: str, after: str) -> None:
    """Two events, text around both, as they are and as fields of JSON."""
    parts = (before + token[:cut], token[cut:] + after)
    for texts in (parts, [json.dumps({"text": part}) for part in parts]):
        assert [(hit.token, hit.form) for hit in fed(texts)] == [(token, "split")]


@given(st.lists(st.text(max_size=60), max_size=6), st.sampled_from(TOKENS), st.integers(1, 19))
def test_events_without_a_cut_token_are_silent(texts: list[str], token: str, cut: int) -> None:
    """Any texts, a whole token, and pieces that do not meet are no split."""
    assert fed([*texts, f"a {token} b", *texts, token[:cut], "between: iii", token[cut:]]) == []


def test_a_fragment_over_a_seam_is_told_once_it_has_ended() -> None:
    """Fourteen characters in two events, then something else: confirmed; eight of the body: suspect."""
    for length, tier in ((14, "confirmed"), (12, "suspect")):
        events = (f"so {TOKENS[2][:7]}", f"{TOKENS[2][7:length]} iii")
        assert [(hit.form, hit.tier) for hit in fed(events)] == [("split>fragment", tier)]
        assert [(hit.form, hit.tier) for hit in fed((*events[:1], events[1][:-4]))] == [
            ("split>fragment", tier)
        ]
    assert fed((f"so {TOKENS[2][:7]}", f"{TOKENS[2][7:11]} iii")) == []


@pytest.mark.parametrize("size", range(5, 33, 4))
def test_encoded_text_is_joined(size: int) -> None:
    """Base64 in pieces, each an event of its own."""
    for token, expected in ((TOKENS[4], {TOKENS[4]}), (FOREIGN, set())):
        encoded = base64.b64encode(f"hello {token} there".encode()).decode()
        events = pieces_of(encoded, size)
        alone = {hit.token for event in events for hit in scan(event.encode(), POOL).hits}
        assert {hit.token for hit in fed(events)} | alone == expected


RENDERED = st.builds(
    lambda name, token: RENDERINGS[name](token), st.sampled_from(SHORT), st.sampled_from(TOKENS)
)
FILLER = st.integers(0, 60).map(lambda count: b" The quick brown fox: it jumps, " * count)


@given(
    st.lists(FILLER | RENDERED, max_size=10).map(b" ".join),
    st.lists(st.integers(0, 9000), max_size=30).map(sorted),
    st.sampled_from([512, 700]),
)
def test_a_stream_finds_what_the_whole_text_holds(text: bytes, cuts: list[int], reach: int) -> None:
    """The same tokens at the same tier for every way of cutting, and no hit twice."""
    stream = Stream(POOL, reach=reach)
    hits: list[Hit] = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        hits += stream.feed(text[start:end])
    hits += stream.close()
    assert best(hits) == best(scan(text, POOL).hits)
    assert len({(hit.token, hit.form) for hit in hits}) == len(hits)


@given(st.integers(0, 3000), st.integers(1, 400), st.sampled_from(TOKENS))
def test_a_stream_gives_offsets_in_the_whole(before: int, size: int, token: str) -> None:
    """A plain token is found at its place, whatever was forgotten since the beginning."""
    text = b"i" * before + b" " + token.encode()
    stream = Stream(POOL, reach=256)
    hits = [hit for at in range(0, len(text), size) for hit in stream.feed(text[at : at + size])]
    assert [(hit.token, hit.form, hit.offset) for hit in (*hits, *stream.close())] == [
        (token, "verbatim", before + 1)
    ]


def test_a_stream_forgets() -> None:
    """After ten megabytes it holds no more than four times its reach and one chunk."""
    stream = Stream(POOL, reach=1024)
    for number in range(2500):
        stream.feed(b"line %06d of a long stream; " % number * 140)
        assert len(stream._buffer) <= 2 * 1024
    assert sys.getsizeof(stream._buffer) < 5 * 4096
    assert stream.unscanned == 0


def test_seams_forget() -> None:
    """Long events, many fields and long runs leave a few kilobytes."""
    seams = Seams(POOL)
    for number in range(300):
        fields = {f"{number}.{field}": POOL.prefix[:3] for field in range(9)}
        seams.feed(json.dumps(fields).encode())
        seams.feed(b"Ab1" * 5000)
    kept = [*seams._fields.values(), seams._end]
    assert len(kept) <= 65
    assert max(len(trail.letters) for trail in kept) <= 19
    assert len(seams._glue) <= 2048


def test_a_run_longer_than_the_reach_is_counted_as_unscanned() -> None:
    """Its nested decodings cannot be joined from a bounded tail, and that is said."""
    stream = Stream(POOL, reach=512)
    for piece in pieces_of(base64.b64encode(bytes(range(256)) * 40).decode(), 100):
        stream.feed(piece.encode())
    stream.close()
    assert stream.unscanned > 0


@pytest.mark.parametrize("reach", [-1, 0, 255])
def test_a_reach_below_a_rendering_is_refused(reach: int) -> None:
    """The message says what is allowed."""
    with pytest.raises(UsageError, match="at least 256"):
        Stream(POOL, reach=reach)


@given(
    st.sampled_from(TOKENS),
    st.integers(4, 12),
    st.integers(8, 16),
    st.sampled_from(["", "id-", "x=", "令牌"]),
)
def test_a_body_without_its_prefix_is_a_fragment(token: str, start: int, length: int, before: str) -> None:
    """Suspect at eight characters, confirmed at ten; the foreign twin is silent."""
    for value, expected in ((token, {token}), (FOREIGN, set())):
        piece = value[start : start + length]
        text = f"{before}{piece} and {value[4:11]} iii {value}".encode()
        runs = body_runs(text, POOL.head)
        hits = Bodies(TOKENS).find(runs)
        assert {hit.token for hit in hits} == expected
        assert {hit.tier for hit in hits} <= {Tier.CONFIRMED if len(piece) >= 10 else Tier.SUSPECT}
        assert not hits or may_hold(runs, TOKENS)


@given(st.text(st.characters(codec="ascii"), max_size=200))
def test_text_without_a_body_is_silent(text: str) -> None:
    """No run of any text is one of a token, and none of the runs is longer than the text."""
    runs = body_runs(text.encode(), POOL.head)
    assert Bodies(TOKENS).find(runs) == ()
    assert all(len(run) >= 8 and run in text.encode() for run in runs)


def sightings(channel: Channel, *events: str) -> list[Sighting]:
    """What a recorder sights in events of one recipient, where {token} stands for a planted token."""
    record = recorder()
    token = record.plant(Place("parent.state"))
    for event in events:
        record.record(channel, "kid", fill(event, token).encode(), instance=0)
    return list(record.trace().sightings)


def recorder() -> Recorder:
    """The record of one execution."""
    scenario = Scenario("f", "a", 1, (TurnPlan(0, "hello"),))
    return Recorder(Ledger(5), scenario, scenario.base_digest())


def fill(event: str, token: str) -> str:
    """`event` with {from:to} filled with that part of the token."""
    head, _, rest = event.partition("{")
    if not rest:
        return event
    part, _, tail = rest.partition("}")
    start, end = map(int, part.split(":"))
    return head + token[start:end] + fill(tail, token)


@pytest.mark.parametrize("channel", [Channel.LOG, Channel.STREAM, Channel.CHILD_REQUEST, Channel.STORE])
def test_the_record_joins_events_of_one_recipient(channel: Channel) -> None:
    """The sighting stands at the event that completes the token, live, and names the form."""
    seen = sightings(channel, "so {0:6}", "{6:20} it is")
    assert [(item.seq, item.form, item.tier, item.live) for item in seen] == [(2, "split", "confirmed", True)]


def test_the_record_joins_no_events_of_different_recipients() -> None:
    """Two children that each got a half hold no token, and neither does a channel beside another."""
    record = recorder()
    token = record.plant(Place("parent.state"))
    for number, part in enumerate((token[:11], token[11:18])):
        record.record(Channel.LOG, "kid", part.encode(), instance=number)
        record.record((Channel.STREAM, Channel.STORE)[number], "kid", part.encode(), instance=0)
    assert record.trace().sightings == ()


def test_a_stream_is_read_with_all_decodings() -> None:
    """Hex with spaces, cut everywhere, is told at the end of the stream."""
    record = recorder()
    token = record.plant(Place("parent.state"))
    for piece in pieces_of(token.encode().hex(" "), 7):
        record.record(Channel.STREAM, "boss", piece.encode())
    assert {item.form for item in record.trace().sightings if item.tier == "confirmed"} == {"split>hex"}


def test_the_record_sights_a_body_without_its_prefix() -> None:
    """Only where nothing better of the same token is seen."""
    seen = sightings(Channel.LOG, "the end is {8:20}.", "all: {0:20}, end: {8:20}", "nothing")
    assert [(item.seq, item.form, item.tier) for item in seen if item.form == "fragment"] == [
        (1, "fragment", "confirmed")
    ]
