"""An edit of an earlier step merges by version number (article 000, section 2.2); none is lost silently."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import Store
from isolation_kit.runtime.store import StaleEditError, StepMissingError, encoded
from isolation_kit.runtime.store_merge import merged
from isolation_kit.strictjson import loads

Fresh = Callable[..., AbstractContextManager[Store]]
Form = dict[str, Any]

SECRET = "sk-fake-4711"
forms = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0, 1, True, 1.0, "x", None]), max_size=4)


def _merge(base: Any, newest: Any, edited: Any) -> Any:
    return loads(merged((encoded(base), encoded(newest)), 1, encoded(edited)))


def _changed(before: Form, after: Form) -> dict[str, bytes | None]:
    """What became of each field that differs, as bytes: 1, 1.0 and true are three values."""
    shown = {
        name: [encoded(form[name]) if name in form else None for form in (before, after)] for name in "abcd"
    }
    return {name: new for name, (old, new) in shown.items() if old != new}


@given(forms, forms, forms)
def test_a_merge_has_both_changes_or_is_refused(base: Form, theirs: Form, ours: Form) -> None:
    """Each field is as the one who changed it left it; two different changes of one are never merged."""
    mine, other = _changed(base, ours), _changed(base, theirs)
    if any(name in other and other[name] != new for name, new in mine.items()):
        with pytest.raises(StaleEditError):
            _merge(base, theirs, ours)
    else:
        assert _changed(base, _merge(base, theirs, ours)) == mine | other


@given(forms, forms, forms)
def test_the_order_of_two_edits_does_not_matter(base: Form, theirs: Form, ours: Form) -> None:
    """Where a merge is possible, both orders give the same bytes."""
    try:
        one = encoded(_merge(base, theirs, ours))
    except StaleEditError:
        with pytest.raises(StaleEditError):
            _merge(base, ours, theirs)
    else:
        assert encoded(_merge(base, ours, theirs)) == one


@pytest.mark.parametrize(
    ("base", "theirs", "ours"),
    [("a", "b", "c"), ([1], [1, 2], [1, 3]), ({"a": 1}, [1], {"a": 2}), (1, True, 1.0)],
    ids=["texts", "lists", "object-and-list", "numbers"],
)
def test_values_that_are_no_objects_are_one_field(base: Any, theirs: Any, ours: Any) -> None:
    """Two different edits of a text or a list are refused."""
    with pytest.raises(StaleEditError):
        _merge(base, theirs, ours)


def test_a_form_edited_by_many_at_once_has_every_change(fresh: Fresh) -> None:
    """Twelve editors who all saw version 1 change one field each; all versions stay readable."""

    async def scene(store: Store) -> None:
        key = await store.append("u", "s", {str(n): 0 for n in range(12)})
        edits = (store.edit(key, 1, {**{str(m): 0 for m in range(12)}, str(n): n + 1}) for n in range(12))
        assert sorted(await asyncio.gather(*edits)) == list(range(2, 14))
        assert await store.read(key) == {str(n): n + 1 for n in range(12)}
        history = await store.versions(key)
        assert [sum(value != 0 for value in form.values()) for form in history] == list(range(13))

    with fresh() as store:
        asyncio.run(scene(store))


def test_a_stale_edit_is_refused_and_tells_nothing(fresh: Fresh) -> None:
    """The newest version stands, and the error shows no field and no value."""

    async def scene(store: Store) -> None:
        key = await store.append("u", "s", {SECRET: "a"})
        await store.edit(key, 1, {SECRET: "b"})
        with pytest.raises(StaleEditError) as caught:
            await store.edit(key, 1, {SECRET: "c"})
        assert SECRET not in str(caught.value)
        assert await store.versions(key) == ({SECRET: "a"}, {SECRET: "b"})
        assert await store.edit(key, 2, {SECRET: "c"}) == 3

    with fresh() as store:
        asyncio.run(scene(store))


@pytest.mark.parametrize("version", [0, 2, -1, True, 1.0], ids=repr)
def test_a_version_that_never_was_is_refused(fresh: Fresh, version: Any) -> None:
    """An edit names a version that its editor has seen."""

    async def scene(store: Store) -> None:
        key = await store.append("u", "s", 1)
        with pytest.raises(StepMissingError):
            await store.edit(key, version, 2)
        assert await store.versions(key) == (1,)

    with fresh() as store:
        asyncio.run(scene(store))


def test_an_edit_of_a_form_leaves_other_steps_alone(fresh: Fresh) -> None:
    """Changing an earlier step overwrites no other: the article's case of state that stays behind."""

    async def scene(store: Store) -> None:
        first, third = [await store.append("u", "s", {"field": n}) for n in (1, 3)]
        await store.edit(third, 1, {"field": 30})
        assert await store.steps("u", "s") == ({"field": 1}, {"field": 30})
        assert await store.versions(first) == ({"field": 1},)

    with fresh() as store:
        asyncio.run(scene(store))
