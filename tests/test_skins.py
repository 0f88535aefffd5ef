"""Skins: the same seed, the same text; no two alike; each of the shape that it names."""

from __future__ import annotations

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.canary import Canary, Mint, Skin, check_secret
from isolation_kit.canary.skins import holds_token
from isolation_kit.canary.words import ADJECTIVES, ADVERBS, GIVEN_NAMES, NOUNS, SURNAMES, SYLLABLES, VERBS
from isolation_kit.errors import UsageError
from isolation_kit.scenario import Place, Slot

SHAPES = {
    Skin.OPAQUE: r"[0-9a-z]{20}",
    Skin.EMAIL: r"[a-z][0-9a-z]{19}@example\.com",
    Skin.KEY: r"sk-[0-9a-z]{20}",
    Skin.JSON: r'\{"customer_ref": "[0-9a-z]{20}"\}',
    Skin.PATH: r"/srv/accounts/[0-9a-z]{20}/notes\.txt",
    Skin.UUID: r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    Skin.DIGITS: r"9[0-9]{15}",
    Skin.PHONE: r"1[3-9][0-9]{9}",
    Skin.PERSON: r"[\u4e00-\u9fff]{3}（工号 [1-9][0-9]{6}）",
    Skin.PROSE: r"[A-Z][a-z]+ [a-z]+ [a-z]+ the [a-z]+ [a-z]+ beside the [a-z]+ [a-z]+",
}
GRID = [
    Place(str(slot), user, subject, turn, n)
    for slot in Slot
    for user in (-1, 0, 1, 2)
    for subject in (-1, 3)
    for turn in range(6)
    for n in (0, 5)
]
skins = pytest.mark.parametrize("skin", Skin, ids=str)


def texts(skin: Skin, seed: int = 7, case: str = "c") -> list[Canary]:
    """The canaries of a whole grid of places."""
    mint = Mint(seed)
    return [mint.mint(case, place, skin=skin) for place in GRID]


@skins
@given(seed=st.integers(), turn=st.integers(0, 400), user=st.integers(-1, 90))
def test_a_text_has_its_shape_and_comes_again(skin: Skin, seed: int, turn: int, user: int) -> None:
    """The same seed and place give the same text, of the shape that the skin names."""
    place = Place("parent.state", user, turn=turn)
    one, two = Mint(seed).mint("c", place, skin=skin), Mint(seed).mint("c", place, skin=skin)
    assert one == two
    assert re.fullmatch(SHAPES[skin], one.text)


@skins
def test_no_two_places_or_cases_share_a_text(skin: Skin) -> None:
    """Within a case by a permutation, across cases and variants by a key: nothing collides."""
    mint = Mint(7)
    seen = [canary.text for canary in texts(skin)]
    seen += [mint.mint(f"case{n}", Place("user.current"), n % 3, skin).text for n in range(1, 600)]
    assert len(set(seen)) == len(seen)
    assert len({len(text) for text in seen}) == 1 or skin is Skin.PROSE


@skins
def test_only_some_skins_hold_the_token(skin: Skin) -> None:
    """Those of the prefix search contain the token, the registry's do not hold even its body."""
    for canary in texts(skin)[:50]:
        assert (canary.token in canary.text) == holds_token(skin)
        assert holds_token(skin) or canary.token[4:10] not in canary.text


@skins
def test_nothing_printed_holds_the_text(skin: Skin) -> None:
    """The repr names the skin and hides the text."""
    canary = Mint(5).mint("c", Place("parent.memory"), skin=skin)
    assert canary.text not in repr(canary)
    assert canary.token not in repr(canary)


def test_digits_carry_a_luhn_digit_and_uuids_their_version() -> None:
    """What validators check holds."""
    for canary in texts(Skin.DIGITS)[:200]:
        doubled = [int(c) * (1 + i % 2) for i, c in enumerate(reversed(canary.text))]
        assert sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
    assert {uuid.UUID(canary.text).version for canary in texts(Skin.UUID)} == {4}


def test_every_list_of_words_stands_for_six_bits() -> None:
    """Sixty-four different words each."""
    for words in (ADVERBS, VERBS, ADJECTIVES, NOUNS, SURNAMES, GIVEN_NAMES, SYLLABLES):
        assert len(words) == len(set(words)) == 64


def test_two_seeds_have_other_marks() -> None:
    """No filter can learn what the texts of a run share."""
    assert len({Mint(seed).marks.prose for seed in range(200)}) > 195
    assert len({Mint(seed).marks.uuid for seed in range(200)}) > 190


@pytest.mark.parametrize(
    ("secret", "reason"),
    [
        ("hunter2", "letters and digits, and shorter"),
        ("a-b-c-d-e", "letters and digits, and shorter"),
        ("1111111111111", "different letters"),
        ("abcdefghijklmnop", "order of the alphabet"),
        ("9876543210", "order of the alphabet"),
        ("qwertyuiopasd", "order of the alphabet"),
        ("Password-Admin-2024", "common words"),
        ("your_api_key_here", "common words"),
        ("ab12" * 3000, "more than 4096"),
        (7, "is a int"),
    ],
    ids=["short", "dashes", "one", "alphabet", "numbers", "keyboard", "words", "placeholder", "long", "type"],
)
def test_short_and_common_secrets_are_refused_with_the_reason(secret: object, reason: str) -> None:
    """The message says why, and never shows the secret."""
    with pytest.raises(UsageError, match=reason) as caught:
        check_secret(secret)  # type: ignore[arg-type]
    assert str(secret) not in str(caught.value) or secret == 7


@pytest.mark.parametrize(
    "secret",
    ["K7-qpx-991-Tz0", "6222021234567890123", "Ostrava Kestrel Juniper", "张三丰的银行账户密码是八八"],
)
def test_other_secrets_are_taken(secret: str) -> None:
    """Folded to what is looked for."""
    assert check_secret(secret).isalnum()
