"""The session store: written once, no reads over sessions or users, nothing lost by concurrent writers."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import MemoryStore, StepKey, StepTakenError

name = st.sampled_from(
    ["a", "b", "a:b", "b:", ":", "", "*", "a*", "agent_1", "agent_10", "acme", "acme-corp"]
)
odd = name | st.text(max_size=8)


@given(odd, odd, odd, odd)
def test_no_other_user_or_session_reads_a_step(user: str, session: str, other: str, elsewhere: str) -> None:
    """Separators, prefixes and wildcards in names open no way across."""

    async def scene() -> None:
        store = MemoryStore()
        key = await store.append(user, session, {"bill": 1})
        assert await store.read(key) == {"bill": 1}
        if (other, elsewhere) != (user, session):
            assert await store.read(StepKey(other, elsewhere, key.step)) is None
            assert await store.steps(other, elsewhere) == ()

    asyncio.run(scene())


def test_a_step_is_written_once() -> None:
    """The second write fails and the first value stands."""

    async def scene() -> None:
        store = MemoryStore()
        key = StepKey("u", "s", 1)
        await store.write(key, "first")
        with pytest.raises(StepTakenError):
            await store.write(key, "second")
        assert await store.read(key) == "first"

    asyncio.run(scene())


def test_concurrent_writers_lose_nothing() -> None:
    """Fifty appends at once give fifty steps in order."""

    async def scene() -> None:
        store = MemoryStore()
        await asyncio.gather(*(store.append("u", "s", number) for number in range(50)))
        assert sorted(await store.steps("u", "s")) == list(range(50))

    asyncio.run(scene())


def test_a_reader_cannot_change_what_is_stored() -> None:
    """Neither the written object nor a read one is the stored one."""

    async def scene() -> None:
        store = MemoryStore()
        value = {"items": [1]}
        key = await store.append("u", "s", value)
        value["items"].append(2)
        (await store.read(key))["items"].append(3)
        assert await store.read(key) == {"items": [1]}

    asyncio.run(scene())


def test_every_write_is_told() -> None:
    """The watcher gets the key and the stored bytes."""
    seen: list[tuple[StepKey, bytes]] = []
    asyncio.run(MemoryStore(lambda key, data: seen.append((key, data))).append("u", "s", {"b": 1, "a": 2}))
    assert seen == [(StepKey("u", "s", 0), b'{"a":2,"b":1}')]
