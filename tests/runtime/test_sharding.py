"""Sharding: the same user at the same parent, in any process, evenly, and a death moves one shard's users."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import UsageError
from isolation_kit.runtime.sharding import SHARDS, parent_of, parent_of_shard, shard_of

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
PARENTS = tuple(f"parent-{number}" for number in range(SHARDS))
FLEETS = st.integers(2, SHARDS).map(lambda count: PARENTS[:count])
# chi-square with 63 degrees of freedom: above this with probability 1e-6.
CHI_SQUARE_LIMIT = 131.4


@given(IDS)
def test_a_shard_is_the_articles_formula(user: str) -> None:
    """crc32(user_id) % 64, for Unicode ids by their UTF-8 bytes."""
    assert shard_of(user) == crc32(user.encode()) % 64


@given(IDS, FLEETS)
def test_the_same_user_is_always_at_the_same_parent(user: str, parents: tuple[str, ...]) -> None:
    """Asking again, or asking with an equal list, changes nothing."""
    assert parent_of(user, parents) == parent_of(user, list(parents))


def test_another_process_gives_the_same_shards() -> None:
    """Two interpreters with different hash seeds agree."""
    users = ["U_8a3f", "张伟", "é", "e\u0301", "🙂", "a" * 1000]
    code = (
        "import sys, json; from isolation_kit.runtime.sharding import parent_of, shard_of; "
        "users = json.loads(sys.argv[1]); fleet = ['p1', 'p2', 'p3']; "
        "print([(shard_of(u), parent_of(u, fleet, ['p2'])) for u in users])"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code, json.dumps(users)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = [(shard_of(user), parent_of(user, ["p1", "p2", "p3"], ["p2"])) for user in users]
    assert answers == {f"{here}\n"}


@pytest.mark.parametrize("form", ["U_{}", "用户{}", "{}@example.com"], ids=["ascii", "chinese", "mail"])
def test_shards_are_even(form: str) -> None:
    """Chi-square over 100,000 ids stays under the limit that chance passes once in a million."""
    count = 100_000
    seen = Counter(shard_of(form.format(number)) for number in range(count))
    mean = count / SHARDS
    assert sum((seen[shard] - mean) ** 2 / mean for shard in range(SHARDS)) < CHI_SQUARE_LIMIT


def test_the_chi_square_finds_uneven_shards() -> None:
    """The check above can fail: the sum of an id's bytes is no good hash."""
    count = 100_000
    seen = Counter(sum(f"U_{number}".encode()) % SHARDS for number in range(count))
    mean = count / SHARDS
    assert sum((seen[shard] - mean) ** 2 / mean for shard in range(SHARDS)) > CHI_SQUARE_LIMIT


@given(FLEETS, st.data())
def test_a_death_moves_the_dead_parents_shards_only(parents: tuple[str, ...], data: st.DataObject) -> None:
    """Every other shard stays where it was, whoever died before."""
    dead = data.draw(st.sampled_from(parents))
    before = data.draw(st.sets(st.sampled_from(parents), max_size=len(parents) - 2).map(lambda s: s - {dead}))
    for shard in range(SHARDS):
        was = parent_of_shard(shard, parents, before)
        now = parent_of_shard(shard, parents, {*before, dead})
        assert now == was if was != dead else now not in {*before, dead}


def test_with_64_parents_a_death_affects_a_64th_of_the_users() -> None:
    """One shard moves, about 500 of 32,000 users; the rest are not touched."""
    moved = [
        user
        for user in map("U_{}".format, range(32_000))
        if parent_of(user, PARENTS) != parent_of(user, PARENTS, {"parent-7"})
    ]
    assert {shard_of(user) for user in moved} == {7}
    assert 400 < len(moved) < 600


def test_a_dead_parents_shards_spread_over_the_survivors() -> None:
    """Of four parents one dies: each of the three others takes some of its 16 shards, and 64 are served."""
    owners = Counter(parent_of_shard(shard, PARENTS[:4], {"parent-1"}) for shard in range(SHARDS))
    assert set(owners) == {"parent-0", "parent-2", "parent-3"}
    assert min(owners.values()) > 16


@pytest.mark.parametrize("user", ["", "\ud800"], ids=["empty", "lone surrogate"])
def test_a_malformed_id_is_refused_not_repaired(user: str) -> None:
    """A repaired id can be another user's; the message does not quote it."""
    with pytest.raises(UsageError, match="U_8a3f"):
        shard_of(user)


@pytest.mark.parametrize(
    ("parents", "down"),
    [((), ()), (("a", "a"), ()), (tuple(map(str, range(65))), ()), (("a", "b"), ("a", "b"))],
    ids=["none", "twice", "too many", "all down"],
)
def test_a_list_that_cannot_serve_is_refused(parents: tuple[str, ...], down: tuple[str, ...]) -> None:
    """No user is sent to nobody."""
    with pytest.raises(UsageError):
        parent_of_shard(1, parents, down)
