"""What every session store does: written once, read as it was written, nothing lost by concurrent writers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isolation_kit.runtime import StepKey, StepTakenError, Store
from isolation_kit.runtime.store import ID_LIMIT, StoreInputError

Fresh = Callable[..., AbstractContextManager[Store]]

KEY = StepKey("u", "s", 1)
SECRET = "sk-fake-4711"
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


@few
@given(value=json_values)
def test_a_value_is_read_as_it_was_written(fresh: Fresh, value: Any) -> None:
    """Every JSON value comes back equal, at its own number and in the session's steps."""

    async def scene(store: Store) -> None:
        key = await store.append("u", "s", value)
        assert (await store.read(key), await store.steps("u", "s")) == (value, (value,))

    with fresh() as store:
        asyncio.run(scene(store))


def test_a_step_is_written_once(fresh: Fresh) -> None:
    """Of twenty writers at once exactly one succeeds, and its value stands."""

    async def scene(store: Store) -> None:
        done = await asyncio.gather(*(store.write(KEY, n) for n in range(20)), return_exceptions=True)
        winners = [n for n, outcome in enumerate(done) if outcome is None]
        assert [await store.read(KEY)] == winners
        assert sum(isinstance(outcome, StepTakenError) for outcome in done) == 19

    with fresh() as store:
        asyncio.run(scene(store))


def test_an_append_goes_past_written_steps(fresh: Fresh) -> None:
    """A step that was written by number is never given out again."""

    async def scene(store: Store) -> None:
        await store.write(StepKey("u", "s", 4), "by number")
        assert (await store.append("u", "s", "next")).step == 5
        await store.write(StepKey("u", "s", 2), "in a gap")
        assert await store.steps("u", "s") == ("in a gap", "by number", "next")

    with fresh() as store:
        asyncio.run(scene(store))


def test_concurrent_tasks_lose_nothing(fresh: Fresh) -> None:
    """Fifty appends at once give fifty steps without a gap."""

    async def scene(store: Store) -> None:
        keys = await asyncio.gather(*(store.append("u", "s", number) for number in range(50)))
        assert sorted(key.step for key in keys) == list(range(50))
        assert sorted(await store.steps("u", "s")) == list(range(50))

    with fresh() as store:
        asyncio.run(scene(store))


def test_concurrent_threads_lose_nothing(fresh: Fresh) -> None:
    """Four event loops in four threads share one store object."""

    async def writer(store: Store, first: int) -> None:
        for number in range(first, first + 15):
            await store.append("u", "s", number)

    with fresh() as store, ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda first: asyncio.run(writer(store, first)), range(0, 60, 15)))
        assert sorted(asyncio.run(store.steps("u", "s"))) == list(range(60))


def test_a_reader_cannot_change_what_is_stored(fresh: Fresh) -> None:
    """Neither the written object nor a read one is the stored one."""

    async def scene(store: Store) -> None:
        value = {"items": [1]}
        key = await store.append("u", "s", value)
        value["items"].append(2)
        (await store.read(key))["items"].append(3)
        assert await store.read(key) == {"items": [1]}

    with fresh() as store:
        asyncio.run(scene(store))


def test_every_write_is_told_and_nothing_else(fresh: Fresh) -> None:
    """The watcher gets the key and the stored bytes of each write and edit, none of a refused one."""
    seen: list[tuple[StepKey, bytes]] = []

    async def scene(store: Store) -> None:
        key = await store.append("u", "s", {"b": 1, "a": 2})
        with pytest.raises(StepTakenError):
            await store.write(key, "second")
        await store.edit(key, 1, {"b": 1, "a": 3})
        await store.edit(key, 2, {"b": 1, "a": 3})
        await store.read(key)

    with fresh(on_write=lambda key, data: seen.append((key, data))) as store:
        asyncio.run(scene(store))
    assert seen == [(StepKey("u", "s", 0), b'{"a":2,"b":1}'), (StepKey("u", "s", 0), b'{"a":3,"b":1}')]


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        {SECRET},
        f"{SECRET}\ud800",
        {1: SECRET, "1": SECRET},
        10**5000,
        SECRET.encode(),
        {1: SECRET},
        (SECRET, 1),
        {"a": [(SECRET,)]},
    ],
    ids=["nan", "set", "surrogate", "equal-keys", "digits", "bytes", "number-key", "tuple", "inner-tuple"],
)
def test_a_value_that_could_not_be_read_back_is_refused(fresh: Fresh, value: Any) -> None:
    """The error names the type and nothing of the value; no step was taken."""

    async def scene(store: Store) -> None:
        with pytest.raises(StoreInputError) as caught:
            await store.append("u", "s", value)
        assert SECRET not in str(caught.value)
        assert caught.value.__cause__ is None
        assert (await store.append("u", "s", "good")).step == 0

    with fresh() as store:
        asyncio.run(scene(store))


def test_a_nesting_without_end_is_refused(fresh: Fresh) -> None:
    """Depth is refused at writing, not found at reading."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with fresh() as store, pytest.raises(StoreInputError):
        asyncio.run(store.append("u", "s", deep))


@pytest.mark.parametrize(
    ("user", "session", "step"),
    [
        ("", "s", 0), ("u", "", 0), ("u" * (ID_LIMIT + 1), "s", 0), ("u", "诶" * ID_LIMIT, 0),
        (None, "s", 0), ("u", b"s", 0), ("u", "s", -1), ("u", "s", True), ("u", "s", 2**63), ("u", "s", "0"),
    ],
    ids=["no-user", "no-session", "long", "long-bytes", "none", "bytes", "negative", "bool", "huge", "text"],
)  # fmt: skip
def test_what_is_no_key_is_refused(fresh: Fresh, user: Any, session: Any, step: Any) -> None:
    """A missing id, in which strangers would meet, is refused for writing and for reading."""
    with fresh() as store:
        for call in (store.write(StepKey(user, session, step), 1), store.read(StepKey(user, session, step))):
            with pytest.raises(StoreInputError) as caught:
                asyncio.run(call)
            assert "uuu" not in str(caught.value)


class _Posing(str):
    """A text that encodes itself as another's id."""

    def encode(self, *_: Any) -> bytes:
        """Another user's."""
        return b"victim"


def test_an_id_that_encodes_itself_reads_no_other_users_step(fresh: Fresh) -> None:
    """A subclass of str is refused: it may answer for itself what it is."""
    with fresh() as store:
        asyncio.run(store.append("victim", "s", SECRET))
        with pytest.raises(StoreInputError):
            asyncio.run(store.steps(_Posing("u"), "s"))
