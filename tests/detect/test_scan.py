"""What a scan says: forms, offsets, tiers, budgets; and that no input breaks it."""

from __future__ import annotations

import base64
import gzip
import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolation_kit.canary import Mint, Skin
from isolation_kit.detect import Budget, Form, Pool, Tier, scan
from isolation_kit.errors import UsageError
from isolation_kit.scenario import Place

from .more_renderings import _NATO as NATO
from .renderings import RENDERINGS

MINT = Mint(7)
TOKENS = [MINT.mint("case", Place("parent.state", turn=turn)).token for turn in range(30)]
TOKEN = TOKENS[3]


def pool_of(*tokens: str) -> Pool:
    """A pool of these tokens."""
    pool = Pool(MINT.prefix)
    for token in tokens or TOKENS:
        pool.add(token)
    return pool


FORMS = {
    "verbatim": (TOKEN, Form.VERBATIM),
    "case": (TOKEN.upper(), Form.CASE),
    "separated": ("-".join(TOKEN), Form.SEPARATED),
    "zero-width": ("\u200b".join(TOKEN), Form.ZERO_WIDTH),
    "reversed": (TOKEN[::-1], Form.REVERSED),
    "percent": ("".join(f"%{ord(c):02x}" for c in TOKEN), Form.PERCENT),
    "html": ("".join(f"&#{ord(c)};" for c in TOKEN), Form.HTML),
    "quoted": ("".join(f"={ord(c):02X}" for c in TOKEN), Form.QUOTED),
    "hex": (TOKEN.encode().hex(), Form.HEX),
    "base64": (base64.b64encode(TOKEN.encode()).decode(), Form.BASE64),
    "nested": (base64.b64encode(gzip.compress(TOKEN.encode())).decode(), "base64>gzip"),
    "fragment": (TOKEN[:15], Form.FRAGMENT),
}


@pytest.mark.parametrize(("text", "form"), FORMS.values(), ids=FORMS.keys())
def test_a_hit_names_its_form_and_first_offset(text: str, form: str) -> None:
    """Each form is named once, at its first place."""
    hits = [hit for hit in scan(f"abc: {text} and {text}".encode(), pool_of()).hits if hit.form == form]
    assert [(hit.token, hit.offset) for hit in hits] == [(TOKEN, 5)]


def test_a_verbatim_token_has_no_second_form_only_because_its_text_is_unescaped() -> None:
    """An escape elsewhere in the event adds no form; the token in two forms has both."""
    plain = f'{{"a": "{TOKEN}", "b": "caf\\u00e9 50%25 &amp; x=3D"}}'
    assert [hit.form for hit in scan(plain.encode(), pool_of()).hits] == ["verbatim"]
    both = plain + "".join(f"\\u{ord(c):04x}" for c in TOKEN)
    assert {hit.form for hit in scan(both.encode(), pool_of()).hits} == {"verbatim", "json-escape"}


@pytest.mark.parametrize("pattern", ["={:02X}", "%{:02x}", "\\u{:04x}", "\\x{:02x}", "&#{};"])
@pytest.mark.parametrize("before", ["", "x=10, digest=41, ", "id: "], ids=["bare", "parameters", "text"])
def test_one_escaped_character_hides_nothing(pattern: str, before: str) -> None:
    """Whichever character of a token is escaped, the token is found, and a foreign one is not."""
    foreign = Mint(7).mint("other", Place("parent.state")).token
    for at in range(len(TOKEN)):
        for token, expected in ((TOKEN, {TOKEN}), (foreign, set())):
            text = f"{before}{token[:at]}{pattern.format(ord(token[at]))}{token[at + 1 :]} ok"
            assert {hit.token for hit in scan(text.encode(), pool_of()).hits} == expected


@pytest.mark.parametrize("gap", ["=20", "=E2=80=8B", "%20", "\\u200b", "\\n", "&#8203;", "=\n"])
def test_one_escaped_gap_hides_nothing(gap: str) -> None:
    """Wherever one escaped space or invisible character is put into a token, the token is found."""
    for at in range(1, len(TOKEN)):
        text = f"m=1, {TOKEN[:at]}{gap}{TOKEN[at:]} ok".encode()
        assert {hit.token for hit in scan(text, pool_of()).hits} == {TOKEN}


def test_a_whole_token_does_not_hide_its_other_forms() -> None:
    """A token spelled out and also separated, reversed and in base64 has all four forms."""
    text = f"{TOKEN} {'-'.join(TOKEN)} {TOKEN[::-1]} {base64.b64encode(TOKEN.encode()).decode()}"
    assert {hit.form for hit in scan(text.encode(), pool_of()).hits} == {
        Form.VERBATIM,
        Form.SEPARATED,
        Form.REVERSED,
        Form.BASE64,
    }


@pytest.mark.parametrize(
    ("length", "tiers"),
    [(11, []), (12, ["suspect"]), (13, ["suspect"]), (14, ["confirmed"]), (19, ["confirmed"])],
)
def test_fragments_are_suspect_at_8_and_confirmed_at_10_characters(length: int, tiers: list[str]) -> None:
    """Characters are counted after the four of the prefix; what follows the cut does not matter."""
    assert [hit.tier for hit in scan(TOKEN[:length].encode() + b"... ii", pool_of()).hits] == tiers


def test_without_decoding_only_the_bytes_themselves_count() -> None:
    """`decode=False` finds verbatim and upper case and no encoding."""
    text = f"{TOKENS[0]} {TOKENS[1].upper()} {base64.b64encode(TOKENS[2].encode()).decode()}".encode()
    assert [(hit.token, hit.form) for hit in scan(text, pool_of(), decode=False).hits] == [
        (TOKENS[0], "verbatim"),
        (TOKENS[1], "case"),
    ]


def test_an_empty_pool_finds_nothing() -> None:
    """No tokens, no hits."""
    assert scan(TOKEN.encode(), Pool(MINT.prefix)).hits == ()


def test_a_pool_forgets_what_it_is_told_to() -> None:
    """The newest tokens stay, also for fragments and digests."""
    pool = pool_of()
    pool.clear_before(5)
    text = " ".join((*TOKENS, *(token[:15] for token in TOKENS))).encode()
    assert {hit.token for hit in scan(text, pool).hits} == set(TOKENS[-5:])
    assert TOKENS[-5] in pool
    assert TOKENS[-6] not in pool
    assert len(pool) == 5


@pytest.mark.parametrize(
    "token", ["", "short", "z" * 20, TOKEN + "0"], ids=["empty", "short", "foreign", "long"]
)
def test_a_pool_refuses_what_is_no_token_of_its_run(token: str) -> None:
    """A wrong token is refused without being shown."""
    with pytest.raises(UsageError, match="characters") as caught:
        pool_of().add(token)
    assert not token or token not in str(caught.value)


@pytest.mark.parametrize("prefix", ["", "abc", "ABCD", "abcu", "abcde"])
def test_a_pool_refuses_what_is_no_prefix(prefix: str) -> None:
    """A prefix is four characters of Crockford base32."""
    with pytest.raises(UsageError, match=r"Mint\(7\)\.prefix"):
        Pool(prefix)


def test_nothing_printed_holds_a_token() -> None:
    """The reprs of pools, hits and results mask every token."""
    pool = pool_of()
    result = scan(TOKEN.encode() + TOKEN.upper().encode(), pool)
    assert result.hits
    assert TOKEN not in f"{pool!r} {result!r} {result.hits}".lower()


@pytest.mark.parametrize("place", [0, 100_000, 258_035, 258_048, 262_140, 500_000, 599_900])
@pytest.mark.parametrize("name", ["verbatim", "zero-width", "base64 of gzip", "JSON escape, some"])
def test_windows_lose_nothing_at_their_seams(place: int, name: str) -> None:
    """In an event of several windows a token is found wherever it lies, at its offset."""
    filler = b"The quick brown fox jumps over the lazy dog. " * 13_334
    rendered = RENDERINGS[name](TOKEN)
    result = scan(filler[:place] + b" " + rendered + b" " + filler[place:], pool_of())
    assert {hit.token for hit in result.hits} == {TOKEN}
    assert result.unscanned == 0
    if name == "verbatim":
        assert result.hits[0].offset == place + 1


def test_a_blob_larger_than_a_window_is_unpacked_whole() -> None:
    """A long base64 of gzip that spans windows is decoded in one piece."""
    noise = random.Random(1).randbytes(300_000).hex()
    blob = base64.b64encode(gzip.compress(f"{noise} {TOKEN}".encode(), 1))
    result = scan(b'{"data": "' + blob + b'"}', pool_of())
    assert [(hit.form, hit.offset) for hit in result.hits] == [("base64>gzip", 10)]


def test_what_the_budget_leaves_unread_is_counted() -> None:
    """A bomb, a deep nest and too many blobs give `unscanned`; within the budget it stays 0."""
    bomb = base64.b64encode(gzip.compress(b"\0" * 3_000_000))
    deep = TOKEN.encode()
    for _ in range(6):
        deep = base64.b64encode(deep + b" and some more text")
    many = b" ".join(base64.b64encode(b"number %d of many texts" % n) for n in range(50))
    assert scan(bomb, pool_of()).unscanned > 0
    assert scan(deep, pool_of()).unscanned > 0
    assert scan(many, pool_of(), budget=Budget(blobs=10)).unscanned > 0
    assert scan(many, pool_of(), budget=Budget(runs=10)).unscanned > 0
    assert scan(many, pool_of()).unscanned == 0
    percent = b"%252525252541" * 50
    assert scan(percent, pool_of()).unscanned > 0
    assert scan(b"%41" * 50, pool_of(), budget=Budget(decoded=10)).unscanned > 0


HOSTILE = {
    "percent": b"%25" * 350_000,
    "backslashes": b"\\" * (1 << 20),
    "broken escapes": (b"\\" * 1500 + b"q\\u0041") * 690,
    "deep line breaks": (b"\\" * 255 + b"n") * 4096,
    "equals of parameters": b"id=41&m=7a" * 104_857,
    "escapes": b"\\u0041" * 174_000,
    "ampersands": b"&amp;" * 209_000,
    "equals": b"=3D" * 349_000,
    "base64": base64.b64encode(bytes(range(256)) * 3072),
    "nested base64": base64.b64encode(base64.b64encode(b"some text " * 58_000)),
    "hex": b"0123456789abcdef" * 65_536,
    "prefixes": MINT.prefix.encode() * 262_144,
    "separated prefixes": b".".join(MINT.prefix.encode() for _ in range(209_000)),
    "accents": "é".encode() * 524_288,
    "cyrillic": "асе ".encode() * 149_000,
    "gzip heads": b"\x1f\x8b\x08" * 349_000,
    "zlib heads": b"x\x9c" * 524_288,
    "base85": b"!#$%&()*+-;<=>?@^_`{|}~0" * 43_000,
    "runs": b" ".join(b"Abcdefgh%020d" % n for n in range(36_000)),
    "line breaks": b"A\\n" * 349_000,
    "random": random.Random(3).randbytes(1 << 20),
    "capitals": TOKEN.upper().encode() * 52_000,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_costs_no_more_than_its_size(data: bytes) -> None:
    """Eight times the text costs about eight times, not sixty-four (compared in one run: machines differ)."""
    pool = pool_of()
    part = data[: len(data) // 8]
    assert any(seconds_of(data, pool) < 30 * seconds_of(part, pool) + 0.2 for _ in range(2))


def seconds_of(data: bytes, pool: Pool) -> float:
    """The processor time of one scan in seconds."""
    start = time.process_time()
    scan(data, pool)
    return time.process_time() - start


ESCAPES = (
    b"\\u",
    b"%",
    b"&#",
    b"=",
    b"\x1f\x8b\x08",
    b"x\x9c",
    b"\\",
    b"\xf3\xa0\x84\x80",
    b"{",
    b'"',
    b"A" * 30,
    b"0x",
)
PARTS = (MINT.prefix.encode(), TOKEN.encode(), base64.b64encode(TOKEN.encode()))
PIECES = st.sampled_from((*ESCAPES, *PARTS))


@settings(deadline=None)
@given(st.lists(PIECES | st.binary(max_size=40), max_size=12).map(b"".join))
def test_no_input_breaks_a_scan(data: bytes) -> None:
    """Any bytes give a result; what holds the token is found."""
    result = scan(data, pool_of())
    if TOKEN.encode() in data:
        assert any(hit.token == TOKEN and hit.tier is Tier.CONFIRMED for hit in result.hits)


@settings(deadline=None)
@given(st.text(max_size=80), st.text(max_size=80), st.integers(0, 3), st.sampled_from(TOKENS))
def test_json_in_json_hides_nothing(before: str, after: str, depth: int, token: str) -> None:
    """A token inside any text, dumped as JSON several times over, is found and is the only one."""
    text = f"{before} {token} {after}"
    for _ in range(depth):
        text = json.dumps(text)
    result = scan(text.encode("utf-8", "replace"), pool_of())
    assert {hit.token for hit in result.hits} == {token}


@settings(deadline=None)
@given(st.text(max_size=300))
def test_text_without_a_token_is_silent(text: str) -> None:
    """The clean twin: no token, no hit."""
    assert scan(text.encode("utf-8", "replace"), pool_of()).hits == ()


@pytest.mark.parametrize("sieved", [False, True])
def test_base85_without_any_punctuation_is_read(sieved: bool) -> None:
    """One text in a hundred has none: it is told by its first letters; a foreign token is silent."""
    mint = Mint(7919 * 18 + 1)
    own, foreign = (
        [mint.mint(case, Place("parent.state", turn=turn), skin=Skin.KEY) for turn in range(400)]
        for case in ("case", "other")
    )
    encoded = {canary.token: base64.b85encode(canary.text.encode()) for canary in own + foreign}
    plain = {token for token, text in encoded.items() if text.translate(None, b"+-_=").isalnum()}
    pool = Pool(mint.prefix)
    for canary in own:
        pool.add(canary.token)
    if sieved:
        scan(b"word " * 20_000, pool)
    for canary in [canary for canary in own + foreign if canary.token in plain]:
        hits = scan(b'{"content": "Look: ' + encoded[canary.token] + b' and answer."}', pool).hits
        assert {hit.token for hit in hits} == ({canary.token} if canary in own else set())
    assert plain & {canary.token for canary in own}


@pytest.mark.parametrize("pair", ["9r", "jt", "j3", "j2"])
def test_spelled_words_that_share_a_letter_are_parted(pair: str) -> None:
    """Nine and romeo run together as niner does, juliet and tango as juliett: both are read."""
    many = (MINT.mint("spelled", Place("parent.state", turn=turn)).token for turn in range(4000))
    token = next(token for token in many if pair in token[4:])
    for juliet in ("juliet", "juliett"):
        words = " ".join(juliet if char == "j" else NATO[char] for char in token)
        assert token in {hit.token for hit in scan(words.encode(), pool_of(token)).hits}
        assert scan(words.encode(), pool_of(TOKEN)).hits == ()
