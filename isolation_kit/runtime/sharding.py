"""Which parent serves a user: crc32 of the id, 64 shards, one parent a shard (article 000, section 6.3).

Pure functions: every router computes the same answer from the user's id and the list of parents, in any
process, without asking anyone. An id is its bytes: normalise look-alike spellings before, where users are
created, not here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from zlib import crc32

from isolation_kit.errors import UsageError
from isolation_kit.runtime.text import encodable

__all__ = ["SHARDS", "parent_of", "parent_of_shard", "shard_of"]

SHARDS = 64


def shard_of(user_id: str) -> int:
    """The shard of a user, 0 to 63.

    Raises:
        UsageError: for an empty id or one that is no UTF-8; it is refused, for a repaired id can be another
            user's.
    """
    if not user_id or not encodable(user_id):
        raise UsageError(
            "the user id is empty or holds a lone surrogate; an id is non-empty UTF-8 text, for example "
            "'U_8a3f'; ask the caller for the right one"
        )
    return crc32(user_id.encode()) % SHARDS


def parent_of(user_id: str, parents: Sequence[str], down: Collection[str] = ()) -> str:
    """The parent that serves a user.

    Args:
        parents: 1 to 64 names, the same list in the same order at every router. Keep it while parents die and
            come back (name these in `down`): a list of another length assigns most shards anew.

    Raises:
        UsageError: for a list of another size or with a name twice, or if all parents are down.
    """
    return parent_of_shard(shard_of(user_id), parents, down)


def parent_of_shard(shard: int, parents: Sequence[str], down: Collection[str] = ()) -> str:
    """The parent that serves a shard: its home, or while that is down the survivor with the highest weight.

    So a death moves the dead parent's shards and no other, and they spread over all survivors, in whatever
    order parents died.
    """
    if not 1 <= len(parents) <= SHARDS or len(set(parents)) != len(parents):
        raise UsageError(
            f"{len(parents)} parents were given, {len(set(parents))} of them different; allowed are 1 to "
            f"{SHARDS} different names, for example ('parent-0', 'parent-1')"
        )
    home = parents[shard % len(parents)]
    if home not in down:
        return home
    alive = [parent for parent in parents if parent not in down]
    if not alive:
        raise UsageError(f"all {len(parents)} parents are down; start one, or take one out of `down`")
    return max(alive, key=lambda parent: _weight(parent, shard))


def _weight(parent: str, shard: int) -> bytes:
    """Rendezvous hashing: each pair has a weight of its own, whoever else is alive."""
    return blake2b(parent.encode(), digest_size=8, salt=shard.to_bytes(16, "big")).digest()
