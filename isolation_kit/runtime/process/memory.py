"""How much memory a child holds, with all that it forked. What the kernel does not show is not counted.

Counted are anonymous and shared memory in core, what was swapped out, and System V segments that nobody has
attached. Not counted: clean pages of files, and what the kernel itself holds for a process (buffers of pipes
and sockets, page tables).
"""

from __future__ import annotations

from isolation_kit.runtime.process.linux import children_of, libc, read

__all__ = ["held", "is_over", "remove_segments", "tree_of"]

_KIB = 1024
_OWN = ("RssAnon:", "VmSwap:")
_SHARED = ("RssShmem:",)
_SHARE = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
_SEGMENTS = "/proc/sysvipc/shm"
_IPC_RMID = 0
_FEW = 8  # some milliseconds each, and meanwhile the zygote does nothing else


def tree_of(pid: int) -> list[int]:
    """A process and all its descendants."""
    found, new = [pid], [pid]
    while new:
        new = [child for parent in new for child in children_of(parent)]
        found += new
    return found


def held(pid: int) -> int:
    """Bytes that one process holds and shares with no file; 0 if it is gone."""
    return _sum(f"/proc/{pid}/status", _OWN + _SHARED) or 0


def is_over(pids: list[int], most: int, inherited: int) -> bool:
    """True if processes of one tree hold more than `most` bytes together.

    Memory that several of them share is counted once where the kernel tells the shares: only root may
    read them, and as it takes long, they are read only of few processes whose simple sum is too high. Else
    it is counted in each of them: rather too much than a way round the limit.

    Args:
        inherited: bytes not to count in each of them, being shared with the process that forked them.
    """
    loose = sum(size for segment, size in _loose_segments(pids))
    simple = loose + sum(max(0, held(pid) - inherited) for pid in pids)
    if simple <= most:
        return False
    if not 1 < len(pids) <= _FEW:
        return True
    shares = [_sum(f"/proc/{pid}/smaps_rollup", _SHARE) for pid in pids]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return True
    return loose + sum(known) - inherited > most


def remove_segments(pids: set[int]) -> None:
    """Remove the System V segments that these processes made: the next child could read them."""
    for segment, _ in _loose_segments(pids):
        libc().shmctl(segment, _IPC_RMID, None)


def _loose_segments(pids: list[int] | set[int]) -> list[tuple[int, int]]:
    """Number and size of the segments that one of `pids` made and nobody has attached."""
    try:
        lines = read(_SEGMENTS).splitlines()[1:]
    except OSError:  # a kernel without them
        return []
    rows = [line.split() for line in lines]
    return [(int(row[1]), int(row[14])) for row in rows if int(row[4]) in pids and int(row[6]) == 0]


def _sum(path: str, names: tuple[str, ...]) -> int | None:
    """Bytes of the named lines of a file of `/proc`; 0 if the process is gone, None if it may not be read."""
    try:
        text = read(path)
    except PermissionError:
        return None
    except OSError:
        return 0
    # Not line by line: the zygote does this fifty times a second for each child.
    places = [(name, text.find(f"\n{name}")) for name in names]
    return sum(int(text[at + len(name) + 1 : text.index("kB", at)]) * _KIB for name, at in places if at >= 0)
