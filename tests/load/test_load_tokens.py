"""Tokens of a load run say whose they are, without any list of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isolation_kit.canary import Mint
from isolation_kit.errors import UsageError
from isolation_kit.load.tokens import LOCAL, SERIALS, WORKERS, Owner, Tokens, names
from isolation_kit.scenario import Place, Slot

SLOTS = st.sampled_from(tuple(map(str, Slot)))


@given(SLOTS, st.integers(0, WORKERS * LOCAL - 1), st.integers(0, SERIALS - 1), st.integers(0, 99))
def test_a_token_names_its_owner(slot: str, user: int, serial: int, seed: int) -> None:
    """Slot, user and number are read from the token alone; another run's seed reads nothing."""
    tokens = Tokens(seed)
    token = tokens.token(slot, user, serial)
    assert tokens.owner(token) == Owner(slot, user, serial)
    assert Tokens(seed + 1).owner(token) is None
    assert list(tokens.owners(f"a {token}{token}, {token[:-1]}".encode())) == [Owner(slot, user, serial)] * 2


@settings(max_examples=40)
@given(
    SLOTS,
    st.integers(-1, 200),
    st.integers(-1, 200),
    st.integers(-1, 300),
    st.integers(0, 300),
    st.text("ab:é", max_size=4),
)
def test_a_place_is_read_back_or_not_at_all(
    slot: str, user: int, subject: int, turn: int, n: int, case: str
) -> None:
    """`place_of` undoes `mint` for every place that was packed, and never tells a wrong one."""
    mint, place = Mint(7), Place(slot, user, subject, turn, n)
    found = mint.place_of(mint.mint(case, place).token, case)
    packed = 0 <= user < 128 and -1 <= subject < 127 and 0 <= turn < 256 and n < 256
    assert found == (place if packed else None)


def test_names_of_users_are_unlike_over_workers_and_runs() -> None:
    """No two workers share a number, a name is read back in its own run only, and too many are refused."""
    numbers = {names(worker, local) for worker in range(WORKERS) for local in (0, LOCAL - 1)}
    assert len(numbers) == 2 * WORKERS
    assert Tokens(1).user(Tokens(1).name(17)) == 17
    assert Tokens(2).user(Tokens(1).name(17)) == -1
    with pytest.raises(UsageError, match="32 workers"):
        names(0, LOCAL)
