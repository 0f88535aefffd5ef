"""The few things that only the kernel can do for isolation: who dies with whom, and who may look at whom."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from functools import cache
from pathlib import Path

from isolation_kit.errors import KitError

__all__ = [
    "adopt_orphans",
    "children_of",
    "die_with_parent",
    "libc",
    "limit",
    "mapped",
    "read",
    "unreadable",
]

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_RLIMIT_MSGQUEUE = 12
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MIB = 1024 * 1024
_READ = 4096


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that forked it is gone."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own, whatever session it has fled to."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def unreadable() -> None:
    """Write no core, and let no process of the same user read this memory; forked children inherit both."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _prctl(_PR_SET_DUMPABLE, 0)


def mapped() -> int:
    """Bytes of this process's address space."""
    return int(read("/proc/self/statm").split()[0]) * _PAGE


def limit(taken: int, memory_mib: int, file_bytes: int) -> None:
    """Set what this process may still take.

    Args:
        taken: bytes of address space that do not count, as `mapped` tells them.
        memory_mib: MiB of address space beyond them: an allocation above it fails at once.
        file_bytes: the longest file that it may write.
    """
    most = taken + memory_mib * _MIB
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(_RLIMIT_MSGQUEUE, (0, 0))  # a queue would outlive it, and the next child could read it


def children_of(pid: int) -> list[int]:
    """The processes whose parent is `pid`, also those that have ended and wait to be reaped."""
    if not _lists_children():
        return _children_by_scan(pid)
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        return [
            int(child) for thread in threads for child in read(f"/proc/{pid}/task/{thread}/children").split()
        ]
    except OSError:
        return []


@cache
def _lists_children() -> bool:
    return Path("/proc/thread-self/children").exists()


def _children_by_scan(pid: int) -> list[int]:
    """Slower, for kernels without CONFIG_PROC_CHILDREN."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                # The name of a command may hold blanks and brackets; the fields follow its last bracket.
                parent = int(read(f"/proc/{name}/stat").rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found.append(int(name))
    return found


def read(path: str) -> str:
    """A small file, without a file object: its buffers would be new memory in every child."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, _READ):
            parts.append(part)
    finally:
        os.close(descriptor)
    return b"".join(parts).decode("utf-8", "replace")


@cache
def libc() -> ctypes.CDLL:
    """The C library."""
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise KitError(
            f"prctl({option}) failed with error {ctypes.get_errno()}; the level `process` needs Linux "
            "5.4 or later: use the level `inline` here"
        )
