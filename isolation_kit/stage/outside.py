"""What a process leaves outside of its own heap: environment, arguments, files, descriptors, descendants.

Reads `/proc` where there is one; elsewhere those looks are left out, and `UNLOOKED` says so.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "UNLOOKED",
    "Folder",
    "arguments",
    "below",
    "descendants",
    "descriptors",
    "files",
    "folders",
    "memory",
    "shared",
]

_LINUX = sys.platform == "linux"
UNLOOKED = "" if _LINUX else "processes, descriptors, shared memory and process memory (no /proc here)"

_KIT_FOLDER = "isolation-kit-"  # the work folders of stages: the one of this case is looked at by itself
_SKIPPED = (_KIT_FOLDER, ".isolation", ".hypothesis", ".pytest_cache", ".git", "__pycache__")
_MOST_ENTRIES = 4000
_MOST_FILES = 200
_MOST_BYTES = 1 << 20
_MOST_MEMORY = 1 << 26
_PART = 1 << 22
_COARSE = 20_000_000  # nanoseconds by which a file's time may lag behind the clock
_WAITS = 50  # of a millisecond, for a process that has just been started
_SHM = "/dev/shm"  # noqa: S108  (looked at, nothing is put there)
_SEGMENTS = "/proc/sysvipc/shm"


class Folder(NamedTuple):
    """A folder at one moment: what it held then, and when that was."""

    path: str
    names: frozenset[str]
    changed: int
    when: int

    @classmethod
    def now(cls, path: str) -> Folder:
        """How it is now; one that cannot be read holds nothing."""
        names: list[str] = []
        with suppress(OSError):
            names = os.listdir(path)
        return cls(path, frozenset(names), _changed(path), time.time_ns() - _COARSE)


def _changed(path: str) -> int:
    with suppress(OSError):
        return os.stat(path).st_mtime_ns
    return 0


def folders() -> tuple[str, ...]:
    """Where a system may drop files without being told: temporary and current folder, shared memory."""
    here = (tempfile.gettempdir(), os.getcwd(), *((_SHM,) if _LINUX else ()))
    return tuple(dict.fromkeys(here))


def files(before: Folder, *, rewritten: bool) -> Iterator[tuple[str, bytes]]:
    """Path and beginning of each file that is new in a folder; new folders are gone into.

    Args:
        rewritten: also look for older files that have been written since: a look at each of them.
    """
    if not rewritten and before.changed and _changed(before.path) == before.changed:
        return
    with suppress(OSError), os.scandir(before.path) as entries:
        for entry, _ in zip(entries, range(_MOST_ENTRIES), strict=False):
            if entry.name.startswith(_SKIPPED):
                continue
            if entry.name not in before.names:
                yield from below(entry.path) if entry.is_dir(follow_symlinks=False) else _content(entry.path)
            elif rewritten and _written_since(entry, before.when):
                yield from _content(entry.path)


def _written_since(entry: os.DirEntry[str], when: int) -> bool:
    with suppress(OSError):
        told = entry.stat(follow_symlinks=False)
        return stat.S_ISREG(told.st_mode) and told.st_mtime_ns >= when
    return False


def below(folder: str) -> Iterator[tuple[str, bytes]]:
    """Path and beginning of each file in a folder and its folders, the first few hundred."""
    left = _MOST_FILES
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            if left <= 0:
                return
            left -= 1
            yield from _content(os.path.join(root, name))


def _content(path: str) -> Iterator[tuple[str, bytes]]:
    with suppress(OSError):
        if stat.S_ISREG(os.lstat(path).st_mode):  # reading from a pipe or a device could wait for ever
            with open(path, "rb") as file:
                yield path, file.read(_MOST_BYTES)


def descriptors() -> dict[int, str]:
    """The open descriptors of this process and the kind of thing that each leads to."""
    out = {}
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                target = os.readlink(f"/proc/self/fd/{name}")
                kind = target.split(":", 1)[0] if not target.startswith("/") else "file"
                out[int(name)] = "memfd" if target.startswith("/memfd:") else kind
    return out


def shared() -> frozenset[tuple[int, int]]:
    """Number and maker of every System V segment."""
    with suppress(OSError):
        rows = [line.split() for line in Path(_SEGMENTS).read_text().splitlines()[1:]]
        return frozenset((int(row[1]), int(row[4])) for row in rows)
    return frozenset()


def descendants() -> frozenset[int]:
    """Every process below this one, also those that have ended and were not waited for."""
    found: set[int] = set()
    new = [os.getpid()]
    while new:
        new = [child for pid in new for child in _children(pid) if child not in found]
        found.update(new)
    return frozenset(found)


def _children(pid: int) -> list[int]:
    out: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                out += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return out


def arguments(pid: int) -> tuple[bytes, bytes]:
    """Arguments and first environment of a process, as any process of the same user can read them."""
    for _ in range(_WAITS):
        data = _read(f"/proc/{pid}/cmdline")
        # Empty for a moment after it was started, and for ever once it has ended.
        if data or b") Z " in _read(f"/proc/{pid}/stat") or not os.path.exists(f"/proc/{pid}"):
            break
        time.sleep(0.001)
    return data, _read(f"/proc/{pid}/environ")


def _read(path: str) -> bytes:
    with suppress(OSError), open(path, "rb") as file:
        return file.read(_MOST_BYTES)
    return b""


def memory(pid: int) -> Iterator[bytes]:
    """The writable memory of another process in parts; nothing where the kernel forbids to read it.

    A process that was forked from this one and runs the same program is left out: it began as a copy of all
    that the kit itself holds.
    """
    if arguments(pid)[0] == arguments(os.getpid())[0]:
        return
    left = _MOST_MEMORY
    with suppress(OSError, ValueError):
        maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as held:
            for line in maps:
                place, rights = line.split()[:2]
                if not rights.startswith("rw"):
                    continue
                start, end = (int(number, 16) for number in place.split("-"))
                while start < end and left > 0:
                    size = min(_PART, end - start)
                    with suppress(OSError):
                        held.seek(start)
                        yield held.read(size)
                    # An overlap, for a token may lie across two parts.
                    start += size if size < _PART else size - 64
                    left -= size
