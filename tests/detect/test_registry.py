"""Texts that no prefix gives away are found in what their skin declares, and nothing like them is."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.canary import Canary, Mint, Skin
from isolation_kit.canary.skins import holds_token
from isolation_kit.detect import Form, Pool, Tier, scan
from isolation_kit.detect.reach import REACH, applies
from isolation_kit.detect.registry import Registry, register
from isolation_kit.scenario import Place

Render = Callable[[str], bytes]
MINT = Mint(7)
KEPT = [skin for skin in Skin if not holds_token(skin)]
AROUND = ((b"", b""), (b'{"role": "user", "content": "Look at: ', b' and answer 12."}'))

ANYWHERE: dict[str, Render] = {
    "as it is": str.encode,
    "JSON in JSON": lambda t: json.dumps(json.dumps({"k": t})).encode(),
    "JSON escape": lambda t: "".join(f"\\u{ord(c):04x}" for c in t).encode(),
    "percent": lambda t: "".join(f"%{byte:02X}" for byte in t.encode()).encode(),
    "HTML": lambda t: "".join(f"&#{ord(c)};" for c in t).encode(),
    "quoted-printable": lambda t: "".join(f"={byte:02X}" for byte in t.encode()).encode(),
    "base64": lambda t: base64.b64encode(t.encode()),
    "base64 without padding": lambda t: base64.urlsafe_b64encode(t.encode()).rstrip(b"="),
    "base64 of text": lambda t: base64.b64encode(f"please keep {t} to yourself".encode()),
    "hex": lambda t: t.encode().hex().encode(),
    "hex with spaces": lambda t: t.encode().hex(" ").encode(),
    "gzip": lambda t: gzip.compress(f"hello {t}, hello {t}".encode()),
    "base64 of zlib": lambda t: base64.b64encode(zlib.compress(f"hello {t}, hello {t}".encode())),
    "spaces": lambda t: " ".join(t).encode(),
    "dashes": lambda t: "-".join(t).encode(),
    "zero-width": lambda t: "\u200b".join(t).encode(),
    "full width": lambda t: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in t).encode(),
    "utf-16": lambda t: t.encode("utf-16-le"),
    "md5": lambda t: hashlib.md5(t.encode()).hexdigest().encode(),
    "sha256": lambda t: hashlib.sha256(t.encode()).hexdigest().encode(),
}
OF_A_SKIN: dict[tuple[Skin, str], Render] = {
    (Skin.UUID, "without dashes"): lambda t: t.replace("-", "").encode(),
    (Skin.UUID, "capitals in braces"): lambda t: f"{{{t.upper()}}}".encode(),
    (Skin.UUID, "URN"): lambda t: f"urn:uuid:{t}".encode(),
    (Skin.UUID, "without its end"): lambda t: t[:20].encode() + b"...",
    (Skin.DIGITS, "groups of four"): lambda t: " ".join(t[i : i + 4] for i in range(0, 16, 4)).encode(),
    (Skin.DIGITS, "groups with dashes"): lambda t: "-".join(t[i : i + 4] for i in range(0, 16, 4)).encode(),
    (Skin.DIGITS, "character codes"): lambda t: ", ".join(str(ord(c)) for c in t).encode(),
    (Skin.DIGITS, "Devanagari"): lambda t: "".join(chr(0x966 + int(c)) for c in t).encode(),
    (Skin.PHONE, "country code"): lambda t: f"+86{t}".encode(),
    (Skin.PHONE, "country code and spaces"): lambda t: f"+86 {t[:3]} {t[3:7]} {t[7:]}".encode(),
    (Skin.PHONE, "country code with zeros"): lambda t: f"0086-{t[:3]}-{t[3:7]}-{t[7:]}".encode(),
    (Skin.PHONE, "parentheses"): lambda t: f"(+86) {t[:3]}.{t[3:7]}.{t[7:]}".encode(),
    (Skin.PERSON, "middle dot"): lambda t: f"{t[0]}·{t[1:3]}{t[3:]}".encode(),
    (Skin.PERSON, "spaces in the name"): lambda t: f"{t[0]} {t[1]} {t[2]} {t[3:]}".encode(),
    (Skin.PERSON, "number first"): lambda t: f"员工编号：{t[7:14]}，姓名：{t[:3]}".encode(),
    (Skin.PERSON, "GB 18030"): lambda t: f"姓名{t}".encode("gb18030"),
    (Skin.PROSE, "capitals"): lambda t: t.upper().encode(),
    (Skin.PROSE, "broken lines"): lambda t: t.replace(" ", "\n").encode(),
    (Skin.PROSE, "markdown and tags"): lambda t: f"**{t[:12]}**<b>{t[12:20]}</b>{t[20:]}".encode(),
    (Skin.PROSE, "without its end"): lambda t: t.rpartition(" ")[0].encode() + b" ...",
}
CASES = [(skin, name, render) for skin in KEPT for name, render in ANYWHERE.items()]
CASES += [(skin, name, render) for (skin, name), render in OF_A_SKIN.items()]
cases = pytest.mark.parametrize(("skin", "name", "render"), CASES, ids=[f"{c[0]}, {c[1]}" for c in CASES])


def canaries(skin: Skin, count: int = 20) -> list[Canary]:
    """So many canaries of one skin."""
    return [MINT.mint(f"case{n // 10}", Place("user.current", n % 10), skin=skin) for n in range(count)]


def pool_of(given: list[Canary]) -> Pool:
    """A pool with a registry of these canaries."""
    pool = Pool(MINT.prefix)
    for canary in given:
        register(pool, MINT.marks, canary)
    return pool


@cases
def test_a_text_is_found_and_a_foreign_one_is_not(skin: Skin, name: str, render: Render) -> None:
    """Confirmed with its token, alone and in an event; a text that the pool does not hold is silent."""
    given = canaries(skin)
    pool = pool_of(given[:18])
    for before, after in AROUND:
        for canary in given[:4]:
            hits = scan(before + render(canary.text) + after, pool).hits
            assert {hit.token for hit in hits if hit.tier is Tier.CONFIRMED} == {canary.token}
        for foreign in given[18:]:
            assert scan(before + render(foreign.text) + after, pool).hits == ()


@pytest.mark.parametrize("skin", Skin, ids=str)
def test_the_table_covers_every_skin(skin: Skin) -> None:
    """Skins that hold the token reach everywhere; the others leave ciphers out and define fragments."""
    reach = REACH[skin]
    assert applies(skin, ("base64>gzip", Form.VERBATIM))
    assert applies(skin, (Form.ROT13,)) == holds_token(skin)
    assert (Form.FRAGMENT in reach.forms) == bool(reach.unit)
    assert 0 <= reach.suspect <= reach.confirmed


@pytest.mark.parametrize("skin", [skin for skin in KEPT if not REACH[skin].unit], ids=str)
def test_a_part_of_what_proves_only_whole_is_silent(skin: Skin) -> None:
    """A phone number without its last digit, a name without its number."""
    given = canaries(skin)
    assert scan(given[0].text[:-2].encode(), pool_of(given)).hits == ()


def test_a_longer_number_is_no_phone_number() -> None:
    """Digits on either side are another number."""
    given = canaries(Skin.PHONE)
    for text in (f"7{given[0].text}", f"{given[0].text}0", f"9986{given[0].text}"):
        assert scan(text.encode(), pool_of(given)).hits == ()


@given(st.text(max_size=200))
def test_text_without_a_canary_is_silent(text: str) -> None:
    """The clean twin for all skins at once."""
    pool = pool_of([canary for skin in KEPT for canary in canaries(skin)])
    assert scan(text.encode("utf-8", "replace"), pool).hits == ()


def test_secrets_of_the_users_own_are_found_by_name() -> None:
    """A secret is shown by the name that the user gave it."""
    pool = Pool(MINT.prefix)
    pool.registry = Registry(MINT.marks)
    pool.add(MINT.mint("c", Place("user.current")).token)
    pool.registry.add_secret("staging key", "AK-77QX-Zebra-991")
    assert [hit.token for hit in scan(b"key=ak 77qx zebra 991;", pool).hits] == ["staging key"]
    assert scan(b"key=ak 77qx zebra 992;", pool).hits == ()


def test_old_texts_are_forgotten_with_their_tokens() -> None:
    """A pool bounded to its newest tokens bounds its registry too."""
    given = canaries(Skin.UUID)
    pool = pool_of(given)
    pool.clear_before(5)
    assert scan(given[0].text.encode(), pool).hits == ()
    assert scan(given[-1].text.encode(), pool).hits != ()
