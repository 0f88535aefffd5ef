"""The ramp finds the smallest number of users that leaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import UsageError
from isolation_kit.load.ramp import Ramp


def climbed(ramp: Ramp, threshold: int) -> None:
    """A service that leaks once a second as soon as there are `threshold` users."""
    now, leaks = 0.0, 0
    while (users := ramp.users(now, leaks)) is not None:
        now += 0.5
        leaks += users >= threshold
        assert now < 1000


@given(st.integers(1, 200), st.integers(1, 200))
def test_the_smallest_number_is_found(threshold: int, most: int) -> None:
    """Whatever it is, if the ramp goes so far; else the run says that all was clean."""
    ramp = Ramp(most, hold=2, settle=1)
    climbed(ramp, threshold)
    assert ramp.leaky == (threshold if threshold <= most else 0)
    assert ramp.clean == (threshold - 1 if threshold <= most else most)


def test_leaks_of_the_step_before_do_not_count() -> None:
    """An answer that comes in while a step settles belongs to the step before."""
    ramp = Ramp(2, hold=2, settle=1)
    assert ramp.users(0, 0) == 1
    assert ramp.users(0.5, 3) == 1
    assert [ramp.users(now, 3) for now in (1.1, 2.0, 3.2)] == [1, 1, 2]
    assert "no leak" in ramp.told() or ramp.clean == 1


def test_a_ramp_without_users_is_refused() -> None:
    """Zero users make no ramp."""
    with pytest.raises(UsageError, match="at least one"):
        Ramp(0)
