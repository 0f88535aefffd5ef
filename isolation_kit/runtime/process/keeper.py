"""The keeper: a second process above the zygote, so that the death of either leaves nothing behind.

It forks the zygote and waits. When the zygote dies, by whatever hand, all that was below it becomes the
keeper's and is killed; when the keeper dies, the zygote sees it and does the same. Both hold the zygote's end
of the parent's socket, so the parent hears of an end only when nothing is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import NoReturn

from isolation_kit.runtime.process.linux import children_of

__all__ = ["keep", "kill_strays"]


def keep(zygote: int) -> NoReturn:
    """Wait for the zygote's end, kill what it left, and end too."""
    while os.wait()[0] != zygote:
        pass
    kill_strays(set())
    os._exit(0)


def kill_strays(own: set[int]) -> None:
    """Kill and reap every child of this process but `own`, and what those leave, until nothing is left."""
    passed = set(own)
    while strays := [pid for pid in children_of(os.getpid()) if pid not in passed]:
        for pid in strays:
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:  # it became another user by a setuid program
                passed.add(pid)
            else:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
