"""The state machine of a parent's turn: no way off the table, and no turn without an end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import KitError
from isolation_kit.runtime.clock import SteppedClock
from isolation_kit.runtime.machine import ENDS, WAYS, Machine, State

states = st.sampled_from(list(State))


def machine() -> tuple[Machine, list[State]]:
    """A machine and what its watcher was told."""
    told: list[State] = []
    return Machine(SteppedClock(), told.append), told


@given(st.lists(states, max_size=12))
def test_no_sequence_of_calls_leaves_the_table(wanted: list[State]) -> None:
    """Each step of the path is a listed way; a refused one changes nothing."""
    made, told = machine()
    for state in wanted:
        before = made.state
        if state in WAYS[before]:
            made.to(state)
        else:
            with pytest.raises(KitError, match=f"{before} to {state}"):
                made.to(state)
            assert made.state is before
    path = [visit.state for visit in made.path]
    assert path == told
    assert path[0] is State.IDLE
    assert all(after in WAYS[before] for before, after in pairwise(path))


@given(st.lists(states, max_size=6), st.sampled_from([None, RuntimeError, KeyboardInterrupt]))
def test_every_turn_ends(wanted: list[State], raised: type[BaseException] | None) -> None:
    """Whatever a turn does, and however it is left, its last state is an end."""
    made, told = machine()
    with suppress(KitError, RuntimeError, KeyboardInterrupt), made:
        made.to(*wanted)
        if raised is not None:
            raise raised
    assert made.state in ENDS
    assert told[-1] in ENDS


def test_a_turn_that_is_left_halfway_is_a_fault() -> None:
    """It ends in error, and the kit says so."""
    made, _ = machine()
    with pytest.raises(KitError, match="left in state parsing"), made:
        pass
    assert made.state is State.ERROR


def test_every_end_can_be_reached_and_error_from_everywhere() -> None:
    """The table has no dead end but the three ends."""
    assert {State.DONE, State.ERROR, State.TIMEOUT} == ENDS
    assert all(State.ERROR in ways for state, ways in WAYS.items() if state not in ENDS | {State.IDLE})
    assert set().union(*WAYS.values()) == set(State) - {State.IDLE}


def test_the_path_holds_the_times() -> None:
    """A stall shows as the time between two visits."""
    clock = SteppedClock()
    with Machine(clock, lambda state: None) as made:
        asyncio.run(clock.sleep(2.5))
        made.to(State.ROUTING, State.ERROR)
    assert [(visit.state, visit.at) for visit in made.path] == [
        (State.IDLE, 0.0),
        (State.PARSING, 0.0),
        (State.ROUTING, 2.5),
        (State.ERROR, 2.5),
    ]
