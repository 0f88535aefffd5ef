"""Canaries: same inputs, same token; everything else differs; the checksum needs no registry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.canary import ALPHABET, Canary, Mint, verify_in
from isolation_kit.errors import UsageError
from isolation_kit.scenario import Place, Slot

SLOTS = [str(slot) for slot in Slot]
places = st.builds(
    Place,
    st.sampled_from([*SLOTS, "x.cache", "x.a.b"]),
    st.integers(0, 300),
    st.integers(-1, 300),
    st.integers(0, 600),
    st.integers(0, 600),
)
keys = st.tuples(st.sampled_from(["a1", "b2", ""]), places, st.integers(0, 3))


@given(st.integers(), keys)
def test_same_inputs_give_the_same_valid_token(seed: int, key: tuple[str, Place, int]) -> None:
    """A token is a pure function of seed, case, place and variant, and its checksum holds."""
    mint = Mint(seed)
    first, second = mint.mint(*key), Mint(seed).mint(*key)
    assert first == second
    assert len(first.token) == 20
    assert set(first.token) <= set(ALPHABET)
    assert first.token.startswith(mint.prefix)
    assert mint.verify(first.token)


@given(keys, keys)
def test_different_inputs_give_different_tokens(
    one: tuple[str, Place, int], two: tuple[str, Place, int]
) -> None:
    """Another case, variant or place is another token, and none contains another."""
    mint = Mint(7)
    assert (mint.mint(*one).token == mint.mint(*two).token) == (one == two)


def test_no_two_places_of_a_case_share_a_token() -> None:
    """The body is a permutation: a whole grid of places has as many tokens."""
    mint = Mint(3)
    grid = [
        Place(slot, u, s, t, n)
        for slot in SLOTS
        for u in range(4)
        for s in (-1, 2)
        for t in range(9)
        for n in (0, 9)
    ]
    assert len({mint.mint("c", place).token for place in grid}) == len(grid)


def test_tokens_do_not_depend_on_the_order_of_minting() -> None:
    """Cached keys of one case never colour the next."""
    mint, place = Mint(1), Place("user.current")
    first = [mint.mint(case, place, variant).token for case in "ab" for variant in (0, 1)]
    again = [mint.mint(case, place, variant).token for case in "ba" for variant in (1, 0)]
    assert first == again[::-1]
    assert len(set(first)) == 4


@given(st.integers(0, 19), st.sampled_from(ALPHABET), st.integers(0, 1 << 30))
def test_a_mutated_token_is_refused(at: int, char: str, seed: int) -> None:
    """One changed character breaks the checksum (false accepts: 2**-44)."""
    mint = Mint(seed)
    token = mint.mint("c", Place("parent.state", turn=2)).token
    mutated = token[:at] + char + token[at + 1 :]
    assert mint.verify(mutated) == (mutated == token)


@given(st.text(ALPHABET, min_size=16, max_size=16))
def test_a_random_candidate_with_the_right_prefix_is_refused(tail: str) -> None:
    """The prefix alone proves nothing."""
    mint = Mint(11)
    assert not mint.verify(mint.prefix + tail)


@given(st.text(max_size=30))
def test_verify_takes_any_text(text: str) -> None:
    """Any other text is refused without an error."""
    assert not Mint(11).verify(text)


def test_another_seed_is_another_run() -> None:
    """Two seeds share no token and do not accept each other's."""
    one, two = Mint(1), Mint(2)
    token = one.mint("c", Place("user.current")).token
    assert one.prefix != two.prefix
    assert not two.verify(token)


@given(st.integers(0, 1 << 20))
def test_a_prefix_is_no_word_and_no_number(seed: int) -> None:
    """Every prefix begins with a letter that is no hex digit of a to b and holds a digit."""
    prefix = Mint(seed).prefix
    assert prefix[0].isalpha()
    assert any(char.isdigit() for char in prefix)
    assert len(set(prefix)) == 4


def test_nothing_printed_holds_the_token() -> None:
    """The repr names place, variant and digest only."""
    canary = Mint(5).mint("c", Place("parent.memory", user=1, turn=2), variant=1)
    assert canary.token not in f"{canary!r} {canary} {[canary]}"
    assert repr(canary) == f"Canary(parent.memory/u1/t2, variant=1, {canary.digest[:6]})"
    assert len(canary.digest) == 8
    assert "prefix" not in repr(Mint(5))


@pytest.mark.parametrize("seed", ["7", 7.0, None, True], ids=repr)
def test_a_seed_must_be_an_integer(seed: object) -> None:
    """A wrong seed is refused with the type and an example."""
    with pytest.raises(UsageError, match="for example 7"):
        Mint(seed)  # type: ignore[arg-type]


def test_archives_are_read_without_a_registry() -> None:
    """Tokens beside CJK text and underscores are found, those inside a longer word are not."""
    mint = Mint(9)
    token = mint.mint("c", Place("user.current")).token
    text = f"x={token} 令牌{token}。_{token}_ a{token} {token}9 {token.upper()}"
    assert [at for at, _ in verify_in(text, mint)] == [2, 25, 47]
    assert list(verify_in(text, Mint(10))) == []


def test_a_canary_is_hashable_and_frozen() -> None:
    """Canaries are keys of ledgers."""
    canary = Canary("t" * 20, Place("user.current"), "c", 0)
    assert {canary: 1}[Canary("t" * 20, Place("user.current"), "c", 0)] == 1
