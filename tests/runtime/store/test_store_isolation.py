"""No way to read across sessions: hostile names, as properties over every store."""

from __future__ import annotations

import asyncio
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isolation_kit.runtime import StepKey, Store
from isolation_kit.runtime.store import ID_LIMIT

Fresh = Callable[..., AbstractContextManager[Store]]
Name = tuple[str, str]

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# Each family holds names that a careless comparison takes for one: joined keys, LIKE and GLOB and Redis
# patterns, case, normal forms, look-alikes, C strings, numbers, quoting, cut names.
FAMILIES = (
    ("a", "a:b", "b", "b:c", ":", "a:", ":c", "a/b", "a\x1fb", "b\x1fc", "c"),
    ("agent_1", "agent_10", "agent%1", "agent-1", "agent?1", "agent", "%", "_", "*", "[a-z]*", "agent_[1]"),
    ("ann", "Ann", "ANN", "ann ", " ann", "ann\n", "ann\u200b", "\ufeffann"),
    ("é", "e\u0301", "É", "ﬁ", "fi", "ß", "ss", "ı", "i", "İ", "Å", "Å"),
    ("paypal", "pаypal", "ρaypal", "paypaI", "раура1"),
    ("a", "a\0", "a\0b", "\0", "a\\0", "\ud800", "\udc00", "\ud800\udc00", "\U00010000"),
    ("1", "01", "1.0", "0x1", "1e0", "True", "None", "null", "-1"),
    ("' OR 1=1 --", "' OR '1'='1", '"', "'", "''", "; DROP TABLE step", "../a", "a"),
    ("x" * ID_LIMIT, "x" * (ID_LIMIT - 1), "x" * (ID_LIMIT - 1) + "y", "y" + "x" * (ID_LIMIT - 1)),
)
hostile = st.sampled_from(FAMILIES).flatmap(st.sampled_from)
free = st.text(st.characters(), min_size=1, max_size=8)


def _like(name: str) -> st.SearchStrategy[str]:
    """Names that are almost `name`."""
    forms = [unicodedata.normalize(form, name) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    near = [*forms, name.upper(), name.casefold(), f"{name}\0", f"{name}:", f"{name}%", name[:-1], name[::-1]]
    return st.sampled_from(
        [near for near in near if near and len(near.encode("utf-8", "replace")) <= ID_LIMIT]
    )


@st.composite
def neighbours(draw: st.DrawFn) -> list[Name]:
    """Two to six (user, session) names that are easily taken for each other."""
    family = draw(st.sampled_from(FAMILIES))
    base = draw(st.sampled_from(family) | free)
    one = st.sampled_from(family) | _like(base) | st.just(base)
    return draw(st.lists(st.tuples(one, one), min_size=2, max_size=6, unique=True))


@pytest.mark.parametrize("family", FAMILIES, ids=range(len(FAMILIES)))
def test_every_name_of_a_family_is_a_session_of_its_own(fresh: Fresh, family: tuple[str, ...]) -> None:
    """All of them as users and as sessions in one store: each reads its own value, and nobody else's."""
    names = [(user, session) for user in family for session in (family[0], family[-1])]
    names = list(dict.fromkeys(names + [(session, user) for user, session in names]))

    async def scene(store: Store) -> None:
        for number, name in enumerate(names):
            assert (await store.append(*name, number)).step == 0
        for number, name in enumerate(names):
            assert await store.versions(StepKey(*name, 0)) == (number,)
            assert await store.steps(*name) == (number,)

    with fresh() as store:
        asyncio.run(scene(store))


@few
@given(names=neighbours(), order=st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_each_session_reads_exactly_what_it_wrote(fresh: Fresh, names: list[Name], order: list[int]) -> None:
    """However alike the names are, a store is a dictionary by exact (user, session)."""
    written: defaultdict[Name, list[str]] = defaultdict(list)

    async def scene(store: Store) -> None:
        for number, choice in enumerate(order):
            name = names[choice % len(names)]
            assert (await store.append(*name, f"value {number}")).step == len(written[name])
            written[name].append(f"value {number}")
        for name in names:
            assert await store.steps(*name) == tuple(written[name])
            for step in range(len(order)):
                value = written[name][step] if step < len(written[name]) else None
                assert await store.read(StepKey(*name, step)) == value

    with fresh() as store:
        asyncio.run(scene(store))


@few
@given(user=hostile | free, session=hostile | free, other=hostile | free, elsewhere=hostile | free)
def test_no_other_user_or_session_reads_or_edits_a_step(
    fresh: Fresh, user: str, session: str, other: str, elsewhere: str
) -> None:
    """Neither a value nor the number of its versions is seen under any other name."""

    async def scene(store: Store) -> None:
        key = await store.append(user, session, {"bill": 1})
        strange = StepKey(other, elsewhere, key.step)
        if (other, elsewhere) != (user, session):
            assert await store.read(strange) is None
            assert await store.versions(strange) == ()
            assert await store.steps(other, elsewhere) == ()
            await store.write(strange, {"bill": 2})
        assert await store.versions(key) == ({"bill": 1},)

    with fresh() as store:
        asyncio.run(scene(store))
