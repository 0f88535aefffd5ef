"""How long a step lives: 30 minutes, and at least 10 more after each read (article 000, section 3.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isolation_kit.runtime import StepKey, Store
from isolation_kit.runtime.store import StepMissingError, StoreUnavailableError

Fresh = Callable[..., AbstractContextManager[Store]]

few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
moves = st.lists(
    st.tuples(st.sampled_from(["append", "read", "edit", "steps"]), st.integers(0, 3), st.integers(0, 17)),
    max_size=12,
)


@few
@given(moves=moves)
def test_expiry_follows_the_rule(fresh: Fresh, clock: Any, moves: list[tuple[str, int, int]]) -> None:
    """In whatever order: 30 min after a write, max(expiry, now + 10 min) after a read."""
    expires: dict[int, float] = {}

    async def scene(store: Store) -> None:
        for move, step, minutes in moves:
            clock.pass_minutes(minutes)
            now = clock()
            for gone in [known for known, until in expires.items() if until <= now]:
                del expires[gone]
            key = StepKey("u", "s", step)
            if move == "append":
                expires[(await store.append("u", "s", 0)).step] = now + 1800
            elif move == "steps":
                assert len(await store.steps("u", "s")) == len(expires)
                expires.update({known: max(until, now + 600) for known, until in expires.items()})
            elif step not in expires:
                assert await store.read(key) is None
            elif move == "read":
                assert await store.read(key) is not None
                expires[step] = max(expires[step], now + 600)
            else:
                count = len(await store.versions(key))
                await store.edit(key, count, now)
                expires[step] = max(expires[step], now + 1800)

    with fresh(now=clock) as store:
        asyncio.run(scene(store))


def test_an_unread_step_lives_thirty_minutes(fresh: Fresh, clock: Any) -> None:
    """Up to the last second, and not at the thirtieth minute."""

    async def scene(store: Store) -> None:
        for minutes, expected in ((29.99, "kept"), (30, None)):
            key = await store.append("u", str(minutes), "kept")
            clock.pass_minutes(minutes)
            assert await store.read(key) == expected

    with fresh(now=clock) as store:
        asyncio.run(scene(store))


def test_a_read_never_shortens_a_life(fresh: Fresh, clock: Any) -> None:
    """A step that is read in its first minute still lives for its thirty."""

    async def scene(store: Store) -> None:
        key = await store.append("u", "s", "kept")
        clock.pass_minutes(1)
        await store.read(key)
        clock.pass_minutes(28)
        assert await store.read(key) == "kept"

    with fresh(now=clock) as store:
        asyncio.run(scene(store))


def test_reading_does_not_add_up(fresh: Fresh, clock: Any) -> None:
    """After a hundred reads at once a step lives ten more minutes, not a thousand."""

    async def scene(store: Store) -> None:
        key = await store.append("u", "s", "kept")
        clock.pass_minutes(25)
        for _ in range(100):
            await store.read(key)
        clock.pass_minutes(10)
        assert await store.read(key) is None

    with fresh(now=clock) as store:
        asyncio.run(scene(store))


def test_the_versions_of_a_step_live_and_die_together(fresh: Fresh, clock: Any) -> None:
    """An edit lets the older versions live on as well: a version number never changes its meaning."""

    async def scene(store: Store) -> None:
        key = await store.append("u", "s", "first")
        clock.pass_minutes(20)
        await store.edit(key, 1, "second")
        clock.pass_minutes(29)
        assert await store.versions(key) == ("first", "second")
        clock.pass_minutes(10)
        assert await store.versions(key) == ()

    with fresh(now=clock) as store:
        asyncio.run(scene(store))


def test_a_kept_key_never_names_another_step(fresh: Fresh, clock: Any) -> None:
    """The number of an expired step is not given out again while its session has a step."""

    async def scene(store: Store) -> None:
        first = await store.append("u", "s", "first")
        clock.pass_minutes(5)
        newest = await store.append("u", "s", "newest")
        clock.pass_minutes(24)
        await store.read(first)
        clock.pass_minutes(7)
        assert await store.read(newest) is None
        assert (await store.append("u", "s", "later")).step == 2
        with pytest.raises(StepMissingError):
            await store.edit(newest, 1, "late edit")
        clock.pass_minutes(30)
        assert (await store.append("u", "s", "anew")).step == 0

    with fresh(now=clock) as store:
        asyncio.run(scene(store))


@pytest.mark.parametrize("seconds", [float("nan"), float("inf")], ids=repr)
def test_a_clock_that_tells_no_number_is_refused(fresh: Fresh, clock: Any, seconds: float) -> None:
    """A step of such a time would expire never, or be gone at once; nothing was changed."""
    with fresh(now=clock) as store:
        asyncio.run(store.append("u", "s", 1))
        told, clock.seconds = clock.seconds, seconds
        with pytest.raises(StoreUnavailableError):
            asyncio.run(store.append("u", "s", 2))
        clock.seconds = told
        assert asyncio.run(store.steps("u", "s")) == (1,)
